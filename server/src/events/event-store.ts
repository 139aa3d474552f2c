/** The SQL of events: their rows, and what writes and deletes them. */
import type { ActorKind } from "../lib/actor.ts";
import { leastIdOf, type AgentId, type EventId, type OrganizationId, type ProjectId } from "../lib/ids.ts";
import { Batch } from "../storage/batch.ts";
import type { Database, Row } from "../storage/database.ts";
import { hex, int4, json, ms, nullable, RowSet, text, uuid, type RowOf } from "../storage/unnest.ts";
import { EVENT_LEASE_MS } from "./event-lease.ts";
import type { Event } from "./event.ts";
import { payloadColumn, payloadFromRow } from "../storage/payloads.ts";

const SHOWN = {
  id: uuid<EventId>(),
  organization_id: uuid<OrganizationId>(),
  /** A list of ids as PostgreSQL writes it; null, as with `agent_ids`: the whole organization. */
  project_ids: nullable(text()),
  agent_ids: nullable(text()),
  source: text(),
  event: text(),
  source_id: text(),
  time: ms(),
  at: ms(),
  depth: int4(),
  root_id: nullable(uuid<EventId>()),
  root_number: nullable(int4()),
  published_by_kind: text<ActorKind>(),
  published_by_id: nullable(uuid<string>()),
  subject: nullable(text()),
};
const EVENT = {
  ...SHOWN,
  /** SHA-256 of the two lists; null without them. */
  reach: nullable(hex()),
  /** No two events of an organization have the same. */
  once: hex(),
  body_hash: hex(),
  data: json(),
  /** Triggers are still to be fired: from then on by any process that finds it. */
  fire_at: nullable(ms()),
};
/** `known_at`: when the newest change was of the triggers by which it was matched. */
const GIVEN = { ...EVENT, known_at: ms() };
export type EventRow = RowOf<typeof GIVEN>;

export const GIVENS = new RowSet<EventRow>("e", "event_with_subject_row", GIVEN);
/** An event in a list. */
export const COLUMNS = [...Object.keys(SHOWN), payloadColumn("data")].join(", ");
const LISTS = new Set(["project_ids", "agent_ids"]);
const writtenOf = (name: string): string => {
  if (name === "fire_at")
    return `coalesce(e.fire_at, case when b.id is not null then e.at when h.id is not null then e.at + interval '${EVENT_LEASE_MS} ms' end)`;
  return LISTS.has(name) ? `e.${name}::uuid[]` : `e.${name}`;
};
const NAMES = Object.keys(EVENT);

const INSERT = `
  with e as materialized (select * from ${GIVENS.from(1)}),
  b as materialized (
    select e.id from e where exists (
      select from triggers t where t.organization_id = e.organization_id and t.type = 'event' and t.deleted_at is null
         and t.status = 'active' and t.configuration ->> 'source' = e.source and t.configuration ->> 'event' = e.event
         and t.updated_at > e.known_at)),
  h as materialized (
    select e.id from e where exists (
      select from listened l where l.organization_id = e.organization_id and l.event = e.event)),
  i as (
    insert into events as known (${NAMES.join(", ")})
    select distinct on (e.organization_id, e.once) ${NAMES.map(writtenOf).join(", ")} from e left join b using (id) left join h using (id)
     order by e.organization_id, e.once, e.id
    on conflict (organization_id, once) do update set once = excluded.once where known.id = excluded.id
    returning id)
  select id, id in (select id from b) as is_behind, id in (select id from h) as is_heard from i`;

/**
 * `isNew`: writing the same row again changes nothing. `isBehind`: there are triggers on it that were made or changed where this process
 * has not heard of it yet; the event says in its row that it is to be fired. `isHeard`: runs listen to such events, or did of late; its
 * row says so, too.
 */
export type EventWritten = { isNew: boolean; isBehind: boolean; isHeard: boolean };

/** Many become one statement. */
export const createEventWriter = (database: Database): Batch<EventRow, EventWritten> =>
  new Batch<EventRow, EventWritten>({
    id: ({ once }) => once,
    organizationId: (row) => row.organization_id,
    bytes: ({ data }) => data.length,
    write: async (rows) => {
      const written = await database.hot("insert_events_with_subject", INSERT, [GIVENS.value(rows)]);
      const found = new Map(written.map((row) => [row["id"], row]));
      return rows.map(({ id }) => ({
        isNew: found.has(id),
        isBehind: found.get(id)?.["is_behind"] === true,
        isHeard: found.get(id)?.["is_heard"] === true,
      }));
    },
  });

const reachOf = (row: Row): Event["reach"] =>
  row["project_ids"] === null
    ? undefined
    : { projectIds: listOf(row["project_ids"]), agentIds: listOf(row["agent_ids"]) };

/** node-postgres reads no lists of ids. */
const listOf = <Id extends ProjectId | AgentId>(list: string | Id[]): Id[] =>
  typeof list === "string" ? (list.slice(1, -1).split(",").filter(Boolean) as Id[]) : list;

export const writtenList = (ids: readonly string[]): string => `{${ids.join(",")}}`;

export const eventOf = (row: Row): Event => ({
  id: row["id"],
  organizationId: row["organization_id"],
  reach: reachOf(row),
  source: row["source"],
  event: row["event"],
  sourceId: row["source_id"],
  time: row["time"],
  at: row["at"],
  data: payloadFromRow(row, "data")!,
  depth: row["depth"],
  rootId: row["root_id"],
  rootNumber: row["root_number"],
  publishedBy: { kind: row["published_by_kind"], id: row["published_by_id"] },
  subject: row["subject"],
});

/** As it was written. */
export const eventOfRow = (row: EventRow): Event =>
  eventOf({ ...row, time: new Date(row.time), at: new Date(row.at), data_text: row.data, data_bytes: null });

/** The one that is there with the same `once`. */
export async function readFirstEvent(
  database: Database,
  { organization_id: organizationId, once }: Pick<EventRow, "organization_id" | "once">,
): Promise<{ event: Event; bodyHash: string } | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS}, encode(body_hash, 'hex') as body_hash from events
      where organization_id = $1 and once = decode($2, 'hex')`,
    [organizationId, once],
    organizationId,
  );
  return row && { event: eventOf(row), bodyHash: row["body_hash"] };
}

/** Another may be published in its place. It stays as long as firings show its data. */
export const freeEventId = (database: Database, { organizationId, id }: Event): Promise<unknown> =>
  database.query(
    "update events set once = sha256(convert_to(id::text, 'UTF8')) where organization_id = $1 and id = $2",
    [organizationId, id],
    organizationId,
  );

/**
 * Deletes from all organizations, the oldest after this one; an id has its time. Those of which a firing is kept stay, as it has its data there.
 * Returns the deleted ones, in order.
 */
export async function deleteEvents(
  database: Database,
  { before, after, most }: { before: number; after: EventId; most: number },
): Promise<EventId[]> {
  const rows = await database.query(
    `delete from events where organization_id is not null
        and id in (select e.id from events e where e.organization_id is not null and e.id < $1 and e.id > $3
          and not exists (select from firings f where f.organization_id = e.organization_id and f.event_id = e.id)
          order by e.id limit $2) returning id`,
    [leastIdOf(before), most, after],
  );
  return rows.map((row) => row["id"] as EventId).toSorted();
}
