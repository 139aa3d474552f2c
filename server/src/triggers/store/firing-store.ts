/** The SQL of firings. Those that start a run are written with it (firing-parts.ts). */
import type { Origin } from "../../events/event-roots.ts";
import type { Event } from "../../events/event.ts";
import {
  leastIdOf,
  type EventId,
  type FiringId,
  type OrganizationId,
  type RunId,
  type TriggerId,
} from "../../lib/ids.ts";
import { parseStored, type JsonObject } from "../../lib/json/json.ts";
import type { PageRequest } from "../../lib/page.ts";
import { reaches, type Within } from "../../lib/reach.ts";
import type { Database, Query, Row } from "../../storage/database.ts";
import type { FiringOutcome } from "../../storage/schema.ts";
import { RowSet } from "../../storage/unnest.ts";
import { FIRING, type FiringRow } from "./firing-parts.ts";
import type { Firing } from "./trigger.ts";
import { payloadColumn, payloadFromRow } from "../../storage/payloads.ts";
import type { Payload } from "../../lib/json/json-text.ts";

const FIRINGS = new RowSet<FiringRow>("f", "firing_row", FIRING);

const { payload: _large, request: _too, body_hash: _unread, ...SHOWN } = FIRING;
/** The payload of a firing on an event is the event's data, and that of a duplicate the first one's. */
const PAYLOAD = `coalesce(payload, (select e.data from events e
  where e.organization_id = firings.organization_id and e.id = firings.event_id),
  (select f.payload from firings f where firings.outcome = 'duplicate'
    and f.organization_id = firings.organization_id and f.run_id = firings.run_id and f.outcome = 'started'))`;
const COLUMNS = [
  ...Object.keys(SHOWN),
  payloadColumn("payload", PAYLOAD),
  "octet_length(request::text) as request_bytes",
].join(", ");

const firingOf = (row: Row): Firing => ({
  id: row.id,
  organizationId: row.organization_id,
  projectId: row.project_id,
  agentId: row.agent_id,
  triggerId: row.trigger_id,
  at: row.at,
  dueAt: row.due_at,
  outcome: row.outcome,
  runId: row.run_id,
  policy: row.policy,
  code: row.code,
  message: row.message,
  fields: row.fields ?? [],
  skipped: row.skipped,
  delivery: row.delivery,
  payload: payloadFromRow(row, "payload"),
  requestBytes: row.request_bytes ?? 0,
  firedBy: row.fired_by_kind === null ? null : { kind: row.fired_by_kind, id: row.fired_by_id },
  replayOf: row.replay_of,
  eventId: row.event_id,
});

const INSERT = `insert into firings (${FIRINGS.list}) select ${FIRINGS.selected} from ${FIRINGS.from(1)}
  on conflict (trigger_id, once) do nothing returning ${COLUMNS}`;

/** One that starts no run. Undefined: what happens only once has happened. */
export async function insertFiring(database: Database, firing: FiringRow): Promise<Firing | undefined> {
  const values = [FIRINGS.value([firing])];
  const [row] = await database.hot("insert_firing", INSERT, values, firing.organization_id);
  return row && firingOf(row);
}

/** The same within a transaction. */
export async function insertFiringIn(query: Query, firing: FiringRow): Promise<Firing | undefined> {
  const [row] = await query(INSERT, [FIRINGS.value([firing])]);
  return row && firingOf(row);
}

/** As it was written with its run; `eventData`: of the event that it fired on. */
export const firingOfRow = (row: FiringRow, eventData?: Payload): Firing => {
  const firing = firingOf({
    ...row,
    at: new Date(row.at),
    due_at: row.due_at === null ? null : new Date(row.due_at),
    fields: row.fields === null ? null : (parseStored(row.fields) as JsonObject),
    payload_text: row.payload,
    payload_bytes: null,
    request_bytes: row.request === null ? null : Buffer.byteLength(row.request),
  });
  return eventData ? { ...firing, payload: eventData } : firing;
};

export type FirstFiring = { id: FiringId; at: Date; runId: RunId | null; bodyHash: string | null };

/** The one with the same `once`. */
export async function readFirst(
  database: Database,
  {
    organization_id: organizationId,
    trigger_id: triggerId,
    once,
  }: Pick<FiringRow, "organization_id" | "trigger_id" | "once">,
): Promise<FirstFiring | undefined> {
  const [row] = await database.hot(
    "first_firing",
    `select id, at, run_id, encode(body_hash, 'hex') as body_hash from firings
      where organization_id = $1 and trigger_id = $2 and once = $3`,
    [organizationId, triggerId, once],
    organizationId,
  );
  return row && { id: row["id"], at: row["at"], runId: row["run_id"], bodyHash: row["body_hash"] };
}

/** Another may happen in its place. */
export const freeOnce = (database: Database, organizationId: OrganizationId, id: FiringId): Promise<unknown> =>
  database.query(
    "update firings set once = id::text where organization_id = $1 and id = $2",
    [organizationId, id],
    organizationId,
  );

/** Newest first, one more than asked for. */
export async function pageOfFiringRows(
  database: Database,
  organizationId: OrganizationId,
  triggerId: TriggerId,
  { first, after }: PageRequest,
  outcome: readonly FiringOutcome[] | undefined,
): Promise<Firing[]> {
  const rows = await database.query(
    `select ${COLUMNS} from firings
      where organization_id = $1 and trigger_id = $2 and ($3::uuid is null or id < $3)
        and ($4::text[] is null or outcome = any($4))
      order by id desc limit $5`,
    [organizationId, triggerId, after ?? null, outcome ?? null, first + 1],
    organizationId,
  );
  return rows.map(firingOf);
}

/** The newest of each trigger or event, so many at most; of others there are none in the answer. */
export async function newestFiringsOfEach<Id extends TriggerId | EventId>(
  database: Database,
  { organizationId, reach }: Within,
  column: "trigger_id" | "event_id",
  ids: readonly Id[],
  most: number,
): Promise<Map<Id, Firing[]>> {
  const rows = await database.query(
    `select newest.* from unnest($2::uuid[]) as owner (id) cross join lateral (
       select ${COLUMNS} from firings
        where organization_id = $1 and ${column} = owner.id
          and ($3::uuid[] is null or project_id = any($3) or agent_id = any($4))
        order by id desc limit $5) as newest
      order by newest.id desc`,
    [organizationId, ids, reach?.projectIds ?? null, reach?.agentIds ?? null, most],
    organizationId,
  );
  return Map.groupBy(
    rows.map(firingOf),
    (firing) => (column === "trigger_id" ? firing.triggerId : firing.eventId) as Id,
  );
}

/** The firings of an event; newest first, one more than asked for. */
export async function pageOfEventFirings(
  database: Database,
  { organizationId, reach }: Within,
  eventId: EventId,
  { first, after }: PageRequest,
): Promise<Firing[]> {
  const rows = await database.query(
    `select ${COLUMNS} from firings
      where organization_id = $1 and event_id = $2 and ($3::uuid is null or id < $3)
        and ($4::uuid[] is null or project_id = any($4) or agent_id = any($5))
      order by id desc limit $6`,
    [organizationId, eventId, after ?? null, reach?.projectIds ?? null, reach?.agentIds ?? null, first + 1],
    organizationId,
  );
  return rows.map(firingOf);
}

export async function readFiringRows(
  database: Database,
  within: Within,
  ids: readonly FiringId[],
): Promise<Map<FiringId, Firing>> {
  const rows = await database.query(
    `select ${COLUMNS} from firings where organization_id = $1 and id = any($2::uuid[])`,
    [within.organizationId, ids],
    within.organizationId,
  );
  const found = rows.map(firingOf).filter((firing) => reaches(within, firing));
  return new Map(found.map((firing) => [firing.id, firing]));
}

/** The firing that started each run. */
export async function firingsOfRuns(
  database: Database,
  within: Within,
  ids: readonly RunId[],
): Promise<Map<RunId, Firing>> {
  const rows = await database.query(
    `select ${COLUMNS} from firings where organization_id = $1 and run_id = any($2::uuid[]) and outcome = 'started'`,
    [within.organizationId, ids],
    within.organizationId,
  );
  const found = rows.map(firingOf).filter((firing) => reaches(within, firing));
  return new Map(found.map((firing) => [firing.runId!, firing]));
}

/** The payloads of firings that the caller has been shown, as JSON texts. */
export async function readFiringPayloads(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly FiringId[],
): Promise<Map<FiringId, string>> {
  const rows = await database.query(
    `select id, (${PAYLOAD})::text as payload from firings where organization_id = $1 and id = any($2::uuid[])`,
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.flatMap((row) => (row.payload === null ? [] : [[row.id, row.payload]])));
}

/** The calls' parts besides their bodies that the mapping saw: `{headers, query}` as JSON texts. */
export async function readFiringRequests(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly FiringId[],
): Promise<Map<FiringId, string>> {
  const rows = await database.query(
    `select id, request::text as request from firings
      where organization_id = $1 and id = any($2::uuid[]) and request is not null`,
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row.id, row.request]));
}

/** Deletes from all organizations; an id has its time. Returns how many there were. */
export async function deleteFirings(database: Database, before: number, most: number): Promise<number> {
  const rows = await database.query(
    `delete from firings where organization_id is not null
        and id in (select id from firings where organization_id is not null and id < $1 and not is_queued order by id limit $2) returning 1`,
    [leastIdOf(before), most],
  );
  return rows.length;
}

/** A run's parents are nested less deeply than this. */
const MAX_PARENTS = 20;

/** One more than led to the event that the run, or the run that it is a part of, was started on. */
export async function originOfRun(database: Database, organizationId: OrganizationId, id: RunId): Promise<Origin> {
  const [row] = await database.query(
    `with recursive up (id, level) as (
       select $2::uuid, 1
       union all
       select r.parent_run_id, level + 1 from up join runs r on r.id = up.id
        where r.organization_id = $1 and r.parent_run_id is not null and level < $3)
     select e.depth, coalesce(e.root_id, e.id) as root_id from up
       join firings f on f.run_id = up.id and f.outcome = 'started' and f.organization_id = $1
       join events e on e.id = f.event_id and e.organization_id = $1
      order by e.depth desc limit 1`,
    [organizationId, id, MAX_PARENTS],
    organizationId,
  );
  return row ? { depth: row["depth"] + 1, rootId: row["root_id"] } : { depth: 0, rootId: null };
}

/** Which triggers have fired on an event. */
export async function firedOn(
  database: Database,
  { organizationId, id }: Pick<Event, "organizationId" | "id">,
): Promise<Set<TriggerId>> {
  const rows = await database.query(
    "select trigger_id from firings where organization_id = $1 and event_id = $2",
    [organizationId, id],
    organizationId,
  );
  return new Set(rows.map((row) => row["trigger_id"] as TriggerId));
}
