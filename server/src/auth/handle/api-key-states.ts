/** The present state of API keys, as session-states.ts has that of sessions. */
import type { Clock } from "../../lib/clock.ts";
import { createFreshCache } from "../../lib/fresh-cache.ts";
import type { ApiKeyId, OrganizationId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Loop } from "../../lib/loops/loop.ts";
import type { Notices } from "../../realtime/notices.ts";
import type { Reach } from "../../lib/reach.ts";
import type { Database, Row } from "../../storage/database.ts";
import type { Caller } from "../caller.ts";
import { scopesOf } from "../scopes.ts";
import { KEYS_REMEMBERED, KnownKeys } from "./known-keys.ts";
import { createKeyUses } from "./api-key-uses.ts";
import { STATE_TTL_MS } from "./session-states.ts";

export type KeyStates = {
  /** The same as `bySecret`, if it is known without asking the database. */
  recall(secret: string): Caller | undefined;
  /** The same as `byId`, if it is known without asking the database. */
  recallById(organizationId: OrganizationId, keyId: ApiKeyId): Caller | undefined;
  /** The caller behind a key's text, which came from this address; undefined when it is unknown, revoked or expired. */
  bySecret(secret: string, address: string): Promise<Caller | undefined>;
  byId(organizationId: OrganizationId, keyId: ApiKeyId): Promise<Caller | undefined>;
  forget(organizationId: OrganizationId, keyId: ApiKeyId): void;
  /** After a change in this process: forgotten here and in others. */
  invalidate(organizationId: OrganizationId, keyId: ApiKeyId): void;
  noteUse(organizationId: OrganizationId, keyId: ApiKeyId): void;
  loop: Loop;
} & AsyncDisposable;

export function createKeyStates(
  database: Database,
  clock: Clock,
  log: Log,
  notices: Pick<Notices, "send" | "on">,
): KeyStates {
  const known = new KnownKeys(database);
  const states = createFreshCache<string, Caller>({
    clock,
    ttlMs: STATE_TTL_MS,
    most: KEYS_REMEMBERED,
    load: (key) => readCaller(database, ...(key.split(" ") as [OrganizationId, ApiKeyId])),
  });
  const uses = createKeyUses(database, clock, log);

  const unexpired = (caller: Caller | undefined): Caller | undefined =>
    caller && !isExpired(caller, clock.now()) ? caller : undefined;

  const byId = async (organizationId: OrganizationId, keyId: ApiKeyId): Promise<Caller | undefined> =>
    unexpired(await states.get(`${organizationId} ${keyId}`));

  const recallById = (organizationId: OrganizationId, keyId: ApiKeyId): Caller | undefined =>
    unexpired(states.peek(`${organizationId} ${keyId}`));

  const forget = (organizationId: OrganizationId, keyId: ApiKeyId): void => states.forget(`${organizationId} ${keyId}`);

  notices.on("apiKey", forget);
  return {
    byId,
    recall: (secret) => {
      const key = known.recall(secret);
      return key && recallById(key.organizationId, key.keyId);
    },
    recallById,
    bySecret: async (secret, address) => {
      const key = await known.find(secret, address);
      return key && byId(key.organizationId, key.keyId);
    },
    forget,
    invalidate(organizationId, keyId) {
      forget(organizationId, keyId);
      notices.send({ kind: "apiKey", organizationId, id: keyId });
    },
    noteUse: uses.note,
    loop: uses.loop,
    [Symbol.asyncDispose]: uses[Symbol.asyncDispose],
  };
}

const isExpired = ({ credential }: Caller, now: number): boolean =>
  credential.expiresAt !== undefined && credential.expiresAt <= now;

async function readCaller(
  database: Database,
  organizationId: OrganizationId,
  keyId: ApiKeyId,
): Promise<Caller | undefined> {
  // Joined with the user for the name only: a key outlives its maker's membership.
  const [row] = await database.query(
    `select k.scopes, k.expires_at, k.user_id, u.name, k.project_ids, k.agent_ids,
        case when k.agent_ids is not null then array(
          select distinct project_id from agents where organization_id = $1 and id = any (k.agent_ids)) end as shown_project_ids
       from api_keys k join users u on u.id = k.user_id
      where k.organization_id = $1 and k.id = $2 and k.revoked_at is null`,
    [organizationId, keyId],
    organizationId,
  );
  if (!row) return undefined;
  return {
    organizationId,
    user: { id: row.user_id, name: row.name },
    credential: { kind: "key", keyId, ...(row.expires_at === null ? {} : { expiresAt: row.expires_at.getTime() }) },
    scopes: scopesOf(row.scopes),
    reach: reachOf(row),
  };
}

/** Undefined if both are null: an empty list would reach nothing. */
function reachOf({ project_ids: projectIds, agent_ids: agentIds, shown_project_ids: shown }: Row): Reach | undefined {
  if (projectIds === null && agentIds === null) return undefined;
  return { projectIds: projectIds ?? [], agentIds: agentIds ?? [], shownProjectIds: shown ?? [] };
}
