/** The SQL of signals: events that were sent to one run. */
import type { Actor } from "../lib/actor.ts";
import { leastIdOf, type EventId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { parseStored, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database, Query } from "../storage/database.ts";

export type Signal = { id: EventId; name: string; once: string | null; at: Date; data: JsonObject };

type NewSignal = Pick<Signal, "id" | "name"> & {
  organizationId: OrganizationId;
  runId: RunId;
  data: string;
  at: Date;
  sentBy: Actor;
  once: string | undefined;
  bodyHash: string;
};

export async function insertSignal(
  query: Query,
  { organizationId, runId, id, name, data, at, sentBy, once, bodyHash }: NewSignal,
): Promise<void> {
  await query(
    `insert into signals (organization_id, run_id, id, name, data, at, sent_by_kind, sent_by_id, once, body_hash)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, decode($10, 'hex'))`,
    [organizationId, runId, id, name, data, at, sentBy.kind, sentBy.id, once ?? null, bodyHash],
  );
}

/** The hash of the body that was sent to the run with this idempotency key. */
export async function readSentHash(
  query: Query,
  organizationId: OrganizationId,
  runId: RunId,
  once: string,
): Promise<string | undefined> {
  const [row] = await query(
    `select encode(body_hash, 'hex') as body_hash from signals where organization_id = $1 and run_id = $2 and once = $3`,
    [organizationId, runId, once],
  );
  return row?.["body_hash"];
}

/** Counts those that no step is known to have taken, up to the maximum. */
export async function countWaiting(query: Query, organizationId: OrganizationId, runId: RunId): Promise<number> {
  const [row] = await query(
    `select count(*)::int as count from (
       select from signals where organization_id = $1 and run_id = $2 and not is_taken limit $3) as waiting`,
    [organizationId, runId, LIMITS.signalsWaiting],
  );
  return row!["count"];
}

/** Those that no step is known to have taken, oldest first. */
export async function readWaiting(
  database: Database,
  organizationId: OrganizationId,
  runIds: readonly RunId[],
): Promise<Pick<Signal, "id" | "name">[]> {
  const rows = await database.hot(
    "signals_waiting",
    `select id, name from signals where organization_id = $1 and run_id = any($2::uuid[]) and not is_taken order by id`,
    [organizationId, runIds],
    organizationId,
  );
  return rows.map((row) => ({ id: row["id"], name: row["name"] }));
}

export async function setTaken(
  database: Database,
  organizationId: OrganizationId,
  runId: RunId,
  ids: readonly EventId[],
): Promise<void> {
  await database.query(
    "update signals set is_taken = true where organization_id = $1 and run_id = $2 and id = any($3::uuid[]) and not is_taken",
    [organizationId, runId, ids],
    organizationId,
  );
}

export async function readSignals(
  database: Database,
  organizationId: OrganizationId,
  runIds: readonly RunId[],
  ids: readonly EventId[],
): Promise<Signal[]> {
  const rows = await database.query(
    `select id, name, once, at, data::text as data from signals
      where organization_id = $1 and run_id = any($2::uuid[]) and id = any($3::uuid[])`,
    [organizationId, runIds, ids],
    organizationId,
  );
  return rows.map((row) => ({
    id: row["id"],
    name: row["name"],
    once: row["once"],
    at: row["at"],
    data: parseStored(row["data"]) as JsonObject,
  }));
}

/** Deletes the oldest of all organizations. Returns how many. */
export async function deleteSignals(database: Database, before: number, most: number): Promise<number> {
  const rows = await database.query(
    `delete from signals where organization_id is not null and id in (
       select id from signals where organization_id is not null and id < $1 order by id limit $2) returning 1`,
    [leastIdOf(before), most],
  );
  return rows.length;
}
