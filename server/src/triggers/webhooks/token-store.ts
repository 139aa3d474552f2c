/** The SQL of webhooks' tokens. */
import type { OrganizationId, TriggerId } from "../../lib/ids.ts";
import type { Owner } from "../../secrets/seal.ts";
import type { Database, Query } from "../../storage/database.ts";
import { hashToken } from "./token.ts";
import type { Trigger } from "../store/trigger.ts";

export type TokenPlace = {
  organizationId: OrganizationId;
  triggerId: TriggerId;
  /** For a token that was replaced. */
  expiresAt: Date | null;
};

const HASH_BYTES = 32;

export async function insertToken(
  query: Query,
  { organizationId, id, agentId }: Pick<Trigger, "organizationId" | "id" | "agentId">,
  { hash, sealed, now }: { hash: string; sealed: string; now: number },
): Promise<void> {
  await query(
    `insert into webhook_tokens (organization_id, trigger_id, agent_id, hash, sealed, created_at)
     values ($1, $2, $3, decode($4, 'hex'), $5, $6)`,
    [organizationId, id, agentId, hash, sealed, new Date(now)],
  );
}

/** The one before this is good until then; one that was replaced earlier is gone. */
export async function replaceTokens(
  query: Query,
  { organizationId, id }: Pick<Trigger, "organizationId" | "id">,
  present: string,
  { until, now }: { until: number; now: number },
): Promise<void> {
  const hash = hashToken(present);
  await query(
    `delete from webhook_tokens
      where organization_id = $1 and trigger_id = $2 and hash <> decode($3, 'hex') and (expires_at is not null or $4)`,
    [organizationId, id, hash, until <= now],
  );
  await query(
    `update webhook_tokens set expires_at = $4
      where organization_id = $1 and trigger_id = $2 and hash <> decode($3, 'hex')`,
    [organizationId, id, hash, new Date(until)],
  );
}

/** Deletes expired tokens of all organizations. Returns how many there were. */
export async function deleteReplacedTokens(database: Database, now: number, most: number): Promise<number> {
  const rows = await database.query(
    `delete from webhook_tokens where organization_id is not null and hash in (
       select hash from webhook_tokens where organization_id is not null and expires_at <= $1 limit $2) returning 1`,
    [new Date(now), most],
  );
  return rows.length;
}

export const deleteTokens = (query: Query, { organizationId, id }: Pick<Trigger, "organizationId" | "id">) =>
  query("delete from webhook_tokens where organization_id = $1 and trigger_id = $2", [organizationId, id]);

/**
 * Those that are good at the agent they are called at, of any organization: a token says whose it is. `asked`: a token's hash and the
 * agent's id behind it, and found by these. What is wrong leaves no row, so that an answer takes as long whatever it is.
 */
export async function findTokens(database: Database, asked: Buffer[], now: number): Promise<Map<string, TokenPlace>> {
  const rows = await database.query(
    `select w.hash || uuid_send(w.agent_id) as asked, w.organization_id, w.trigger_id, w.expires_at
       from unnest($1::bytea[], $2::uuid[]) as a (hash, agent_id)
       join webhook_tokens w on w.hash = a.hash and w.agent_id = a.agent_id and (w.expires_at is null or w.expires_at > $3)`,
    [
      asked.map((one) => one.subarray(0, HASH_BYTES)),
      asked.map((one) => one.toString("hex", HASH_BYTES)),
      new Date(now),
    ],
  );
  return new Map(
    rows.map((row) => [
      row.asked.toString("latin1"),
      { organizationId: row.organization_id, triggerId: row.trigger_id, expiresAt: row.expires_at },
    ]),
  );
}

/** `formerUntil`: until when the one before it is good, too; null if there was none. The time may be over. */
export type PresentToken = { sealed: string; formerUntil: Date | null };

/** The present token of each trigger. */
export async function readTokens(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly TriggerId[],
): Promise<Map<TriggerId, PresentToken>> {
  const rows = await database.query(
    `select trigger_id, sealed, (
        select max(former.expires_at) from webhook_tokens former
         where former.organization_id = $1 and former.trigger_id = present.trigger_id) as former_until
       from webhook_tokens present
      where organization_id = $1 and trigger_id = any($2::uuid[]) and expires_at is null`,
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row.trigger_id, { sealed: row.sealed, formerUntil: row.former_until }]));
}

export type SealedToken = Owner & { triggerId: TriggerId; hash: Buffer; sealed: string };

/** The tokens of all organizations, in the order of their keys, locked until the transaction ends. */
export async function lockSealedTokens(
  query: Query,
  after: SealedToken | undefined,
  first: number,
): Promise<SealedToken[]> {
  const rows = await query(
    `select w.organization_id, w.trigger_id, w.hash, w.sealed, t.project_id
       from webhook_tokens w join triggers t on t.organization_id = w.organization_id and t.id = w.trigger_id
      where $1::uuid is null or (w.organization_id, w.trigger_id, w.hash) > ($1, $2::uuid, $3::bytea)
      order by w.organization_id, w.trigger_id, w.hash limit $4 for update of w`,
    [after?.organizationId ?? null, after?.triggerId ?? null, after?.hash ?? null, first],
  );
  return rows.map((row) => ({
    organizationId: row["organization_id"],
    projectId: row["project_id"],
    triggerId: row["trigger_id"],
    name: row["trigger_id"],
    hash: row["hash"],
    sealed: row["sealed"],
  }));
}

export async function updateSealedTokens(query: Query, rows: readonly SealedToken[]): Promise<void> {
  await query(
    `update webhook_tokens w set sealed = n.sealed
       from unnest($1::uuid[], $2::bytea[], $3::text[]) as n (organization_id, hash, sealed)
      where w.organization_id = n.organization_id and w.hash = n.hash`,
    [rows.map(({ organizationId }) => organizationId), rows.map(({ hash }) => hash), rows.map(({ sealed }) => sealed)],
  );
}
