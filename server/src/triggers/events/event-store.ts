/** The SQL of events. */
import { payloadColumn, payloadFromRow } from "../../execution/journal/read-rows.ts";
import type { ActorKind } from "../../lib/actor.ts";
import {
  leastIdOf,
  type AgentId,
  type EventId,
  type OrganizationId,
  type ProjectId,
  type RunId,
  type TriggerId,
} from "../../lib/ids.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { PageRequest } from "../../lib/page.ts";
import type { Within } from "../../lib/reach.ts";
import { Batch } from "../../storage/batch.ts";
import type { Database, Row } from "../../storage/database.ts";
import { hex, int4, json, ms, nullable, RowSet, text, uuid, type RowOf } from "../../storage/unnest.ts";
import type { Event } from "./event.ts";

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
};
const EVENT = {
  ...SHOWN,
  /** SHA-256 of the two lists; null without them. */
  reach: nullable(hex()),
  /** No two events of an organization have the same. */
  once: hex(),
  body_hash: hex(),
  data: json(),
  /** Triggers are still to be fired: from then on by whoever finds it. */
  fire_at: nullable(ms()),
};
/** `known_at`: when the newest change was of the triggers by which it was matched. */
const GIVEN = { ...EVENT, known_at: ms() };
export type EventRow = RowOf<typeof GIVEN>;

const EVENTS = new RowSet<RowOf<typeof EVENT>>("e", EVENT);
const GIVENS = new RowSet<EventRow>("e", GIVEN);
const COLUMNS = [...Object.keys(SHOWN), payloadColumn("data")].join(", ");
const LISTS = new Set<string>(["project_ids", "agent_ids"]);
const writtenOf = (name: (typeof EVENTS.names)[number]): string => {
  if (name === "fire_at")
    return `coalesce(${EVENTS.column(name)}, case when b.id is not null then ${EVENTS.column("at")} end)`;
  return LISTS.has(name) ? `e.${name}::uuid[]` : EVENTS.column(name);
};
const WRITTEN = EVENTS.names.map(writtenOf).join(", ");

const INSERT = `
  with e as materialized (select * from ${GIVENS.from(1)}),
  b as materialized (
    select e.id from e where exists (
      select from triggers t where t.organization_id = e.organization_id and t.type = 'event' and t.deleted_at is null
         and t.status = 'active' and t.configuration ->> 'source' = e.source and t.configuration ->> 'event' = e.event
         and t.updated_at > to_timestamp(e.known_at / 1000.0))),
  i as (
    insert into events as known (${EVENTS.list})
    select distinct on (e.organization_id, e.once) ${WRITTEN} from e left join b using (id)
     order by e.organization_id, e.once, e.id
    on conflict (organization_id, once) do update set once = excluded.once where known.id = excluded.id
    returning id)
  select id, id in (select id from b) as is_behind from i`;

/**
 * `isNew`: writing the same row again changes nothing. `isBehind`: there are triggers on it that were made or changed where this process
 * has not heard of it yet; the event says in its row that it is to be fired.
 */
export type EventWritten = { isNew: boolean; isBehind: boolean };

/** Many become one statement. */
export const createEventWriter = (database: Database): Batch<EventRow, EventWritten> =>
  new Batch<EventRow, EventWritten>({
    id: ({ once }) => once,
    organizationId: (row) => row.organization_id,
    bytes: ({ data }) => data.length,
    write: async (rows) => {
      const written = await database.hot("insert_events", INSERT, GIVENS.values(rows));
      const behind = new Map(written.map((row) => [row["id"], row["is_behind"]]));
      return rows.map(({ id }) => ({ isNew: behind.has(id), isBehind: behind.get(id) === true }));
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

const eventOf = (row: Row): Event => ({
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

/** A narrowed key sees what was published to no more than it reaches. */
const SEEN = `($2::uuid[] is null or (project_ids is not null and project_ids <@ $2 and not exists (
  select from unnest(agent_ids) as one (id) where one.id <> all($3::uuid[]) and not exists (
    select from agents a where a.organization_id = $1 and a.id = one.id and a.project_id = any($2)))))`;

/** Any of these. What is left out does not filter; an empty list matches nothing. */
export type EventFilter = { source?: readonly string[] | undefined; event?: readonly string[] | undefined };

/** Newest first, one more than asked for. */
export async function pageOfEventRows(
  database: Database,
  { organizationId, reach }: Within,
  { source, event }: EventFilter,
  { first, after }: PageRequest,
): Promise<Event[]> {
  const rows = await database.query(
    pageText(reach !== undefined, source !== undefined, event !== undefined),
    [
      organizationId,
      reach?.projectIds ?? null,
      reach?.agentIds ?? null,
      source ?? null,
      event ?? null,
      after ?? null,
      first + 1,
    ],
    organizationId,
  );
  return rows.map(eventOf);
}

/** PostgreSQL wants to know the type of each value, also of one that a text does not use. */
const UNUSED =
  "and ($2::uuid[] is null or $3::uuid[] is null or true) and ($4::text[] is null or $5::text[] is null or true)";

/** From one reach of those who published to the next: none is walked through for another. */
const SEEN_REACHES = `published as (
    (select reach, project_ids, agent_ids from events where organization_id = $1 and reach is not null order by reach, id desc limit 1)
    union all
    select next.* from published p cross join lateral (
      select reach, project_ids, agent_ids from events
       where organization_id = $1 and reach > p.reach order by reach, id desc limit 1) next),
  seen as materialized (select reach from published where ${SEEN}),`;

/**
 * A page of each reach, source and name that is wanted, and the newest of these: no event is walked through for another. With `=`
 * instead of `between` the planner may take the index of the whole organization, which is in the same order.
 */
function pageText(isNarrowed: boolean, hasSource: boolean, hasEvent: boolean): string {
  const wanted = [
    ...(isNarrowed ? [{ from: "seen", key: "reach", of: "seen.reach" }] : []),
    ...(hasSource ? [{ from: "unnest($4::text[]) as wanted_source", key: "source", of: "wanted_source" }] : []),
    ...(hasEvent ? [{ from: "unnest($5::text[]) as wanted_event", key: "event", of: "wanted_event" }] : []),
  ];
  const matches = wanted.map(({ key, of }) => `and e.${key} between ${of} and ${of}`).join(" ");
  const order = [...wanted.map(({ key }) => `e.${key}`), "id desc"].join(", ");
  const page = `lateral (select id from events e where organization_id = $1 ${matches} and ($6::uuid is null or id < $6)
       order by ${order} limit $7) one`;
  return `
  with recursive ${isNarrowed ? SEEN_REACHES : ""}
  page as materialized (
    select one.id from ${[...wanted.map(({ from }) => from), page].join(" cross join ")} order by one.id desc limit $7)
  select ${COLUMNS} from events where organization_id = $1 and id in (select id from page) ${UNUSED} order by id desc`;
}

export async function readEventRows(
  database: Database,
  { organizationId, reach }: Within,
  ids: readonly EventId[],
): Promise<Map<EventId, Event>> {
  const rows = await database.query(
    `select ${COLUMNS} from events where organization_id = $1 and ${SEEN} and id = any($4::uuid[])`,
    [organizationId, reach?.projectIds ?? null, reach?.agentIds ?? null, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row["id"], eventOf(row)]));
}

/** The data of events that the caller has been shown, as JSON texts. */
export async function readEventData(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly EventId[],
): Promise<Map<EventId, string>> {
  const rows = await database.query(
    "select id, data::text as data from events where organization_id = $1 and id = any($2::uuid[])",
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row["id"], row["data"]]));
}

/** What is needed to fire on it. */
export type ToFire = { event: Event; data: JsonObject; bodyHash: string };

/** How many of an organization are still to be fired; it counts no further than `most`. */
export async function countToFire(database: Database, organizationId: OrganizationId, most: number): Promise<number> {
  const [row] = await database.query(
    `select count(*)::int as count from (
       select from events where organization_id = $1 and fire_at is not null limit $2) as waiting`,
    [organizationId, most],
    organizationId,
  );
  return row!["count"];
}

/** Nobody fires them any longer: their time has come. */
export const releaseEvents = (database: Database, now: number): Promise<unknown> =>
  database.query("update events set fire_at = $1 where organization_id is not null and fire_at > $1", [new Date(now)]);

type Taking = { now: number; until: number; each: number; most: number; full: OrganizationId[]; known: EventId[] };

/**
 * Takes at most `most` whose time has come, `each` of an organization that is not `full`, so that nobody else does until `until`: the
 * first of each organization before the second of any. `known`: those that this process has.
 */
export async function takeEvents(
  database: Database,
  { now, until, each, most, full, known }: Taking,
): Promise<ToFire[]> {
  const rows = await database.query(
    `with recursive others as (
       (select organization_id from events where fire_at is not null order by organization_id limit 1)
       union all
       select (select organization_id from events where fire_at is not null and organization_id > o.organization_id
               order by organization_id limit 1)
         from others o where o.organization_id is not null),
     picked as materialized (
       select e.id from others o cross join lateral (
         select id, fire_at, row_number() over (order by fire_at) as turn from events
          where organization_id = o.organization_id and fire_at is not null and fire_at <= $1 and id <> all($4::uuid[])
          order by fire_at limit $3) e
        where o.organization_id <> all($6::uuid[]) order by e.turn, e.fire_at limit $5),
     taken as materialized (
       select id from events where organization_id is not null and id in (select id from picked) and fire_at <= $1
          for update skip locked)
     update events set fire_at = $2 where organization_id is not null and id in (select id from taken)
     returning ${COLUMNS}, data, encode(body_hash, 'hex') as body_hash`,
    [new Date(now), new Date(until), each, known, most, full],
  );
  return rows.map((row) => ({ event: eventOf(row), data: row["data"], bodyHash: row["body_hash"] }));
}

/** Null: nothing is left to be fired. */
export const setFireAt = (
  database: Database,
  { organizationId, id }: Pick<Event, "organizationId" | "id">,
  at: number | null,
): Promise<unknown> =>
  database.hot(
    "set_event_fire_at",
    "update events set fire_at = $3 where organization_id = $1 and id = $2",
    [organizationId, id, at === null ? null : new Date(at)],
    organizationId,
  );

/** Which triggers have fired on it. */
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

/**
 * Of all organizations, the oldest after this one; an id has its time. Those of which a firing is kept stay, as it has its data there.
 * Answers which there were, the last one at the end.
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

/** A run's parents are nested less deeply than this. */
const MOST_PARENTS = 20;

/** What led to what a run does. `depth`: how many events, one after another; `rootId`: the first of them. */
export type Origin = { depth: number; rootId: EventId | null };

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
    [organizationId, id, MOST_PARENTS],
    organizationId,
  );
  return row ? { depth: row["depth"] + 1, rootId: row["root_id"] } : { depth: 0, rootId: null };
}

/**
 * About how many that fire came of an event: its number tells of each how many came before, and those that were published at the same
 * time have the same one.
 */
export async function countOfRoot(
  database: Database,
  organizationId: OrganizationId,
  rootId: EventId,
  most: number,
): Promise<number> {
  const [row] = await database.query(
    `select newest.root_number - 1 + (select count(*)::int from (
         select from events where organization_id = $1 and root_id = $2 and root_number = newest.root_number limit $3) as same) as count
       from (select root_number from events where organization_id = $1 and root_id = $2 and root_number is not null
              order by root_number desc limit 1) as newest`,
    [organizationId, rootId, most],
    organizationId,
  );
  return row?.["count"] ?? 0;
}
