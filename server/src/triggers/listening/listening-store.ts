/** The SQL of runs that listen to events. */
import type { ListenedEvent } from "../../execution/events/event-door.ts";
import type { Event } from "../../events/event.ts";
import { COLUMNS, eventOf } from "../../events/event-store.ts";
import { readPath, writtenPath, type KeyPath } from "../../lib/events/event-key.ts";
import {
  leastIdOf,
  type AgentId,
  type EventId,
  type OrganizationId,
  type ProjectId,
  type RunId,
} from "../../lib/ids.ts";
import { parseStored, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { PATHS_SQL, tellSql } from "../../runs/tell-listeners.ts";
import { Batch } from "../../storage/batch.ts";
import type { Database } from "../../storage/database.ts";
import { partitionOf } from "../../storage/partitions.ts";

/**
 * From now on, such events say in their rows that they are to be heard. Returns since when all of them do, ms; undefined: there would be
 * more than may be listened to, of the organization or of one type.
 */
export async function noteListened(
  database: Database,
  organizationId: OrganizationId,
  events: readonly ListenedEvent[],
  now: number,
): Promise<number | undefined> {
  const [row] = await database.query(
    `with given as materialized (
       select distinct event, path from unnest($2::text[], $3::text[]) as given (event, path)),
     noted as (
       insert into listened as known (organization_id, event, path, since, used_at)
       select $1::uuid, event, path, $4::timestamptz, $4::timestamptz from given
        where exists (select from listened l where l.organization_id = $1 and l.event = given.event and l.path = given.path)
           or (select count(*) from (select from listened where organization_id = $1 limit $5) as counted) < $5
          and (select count(*) from (
                select from listened l where l.organization_id = $1 and l.event = given.event limit $6) as places) < $6
        order by event, path
       on conflict (organization_id, event, path) do update set used_at = excluded.used_at returning known.since)
     select max(since) as since, count(*) = (select count(*) from given) as is_whole from noted`,
    [
      organizationId,
      events.map(({ type }) => type),
      events.map(({ path }) => writtenPath(path)),
      new Date(now),
      LIMITS.eventsListened,
      LIMITS.placesListened,
    ],
    organizationId,
  );
  return row!["is_whole"] ? row!["since"].getTime() : undefined;
}

/** The places in the data of such an event at which runs that listen have a value; undefined: they have none. */
export async function readPaths(
  database: Database,
  organizationId: OrganizationId,
  event: string,
): Promise<(KeyPath | undefined)[]> {
  const rows = await database.hot("read_listened_paths", PATHS_SQL, [organizationId, event], organizationId);
  return rows.map((row) => readPath(row["path"]));
}

export async function isListened(database: Database, organizationId: OrganizationId, event: string): Promise<boolean> {
  return (await readPaths(database, organizationId, event)).length > 0;
}

export type Found = { runId: RunId; projectId: ProjectId; agentId: AgentId };

/** Runs with one of these keys, by their ids. */
export async function findListeners(
  database: Database,
  organizationId: OrganizationId,
  { keys, after, most }: { keys: readonly string[]; after: string; most: number },
): Promise<Found[]> {
  const rows = await database.hot(
    "find_listeners",
    `select distinct on (run_id) run_id, project_id, agent_id from (
       select found.* from (select decode(key, 'hex') as key from unnest($2::text[]) as key) wanted cross join lateral (
         select run_id, project_id, agent_id from listeners l
          where l.organization_id = $1 and l.key = wanted.key and l.run_id > $3 order by l.run_id limit $4) found) as any_of
      order by run_id limit $4`,
    [organizationId, keys, after, most],
    organizationId,
  );
  return rows.map((row) => ({ runId: row["run_id"], projectId: row["project_id"], agentId: row["agent_id"] }));
}

/** Tells the steps of these runs that have one of the keys of the event. Returns the runs that are due. */
export async function tellListeners(
  database: Database,
  { organizationId, id }: Event,
  keys: readonly string[],
  runIds: readonly RunId[],
): Promise<RunId[]> {
  const told: RunId[] = [];
  for (const [month, ids] of Map.groupBy(runIds, (runId) => partitionOf(database, runId))) {
    const rows = await database.hot(
      `tell_listeners_${month}`,
      tellSql(month),
      [organizationId, ids, id, keys, LIMITS.eventsHeard + 1],
      organizationId,
    );
    for (const row of rows) told.push(row["id"]);
  }
  return told;
}

/** The ids of events of these types and sources that were published since, the newest ones, oldest first. */
export async function readPublished(
  database: Database,
  organizationId: OrganizationId,
  events: readonly ListenedEvent[],
  since: number,
): Promise<EventId[]> {
  const least = leastIdOf(since);
  const most = LIMITS.eventsLookedBack;
  const ids = new Set<EventId>();
  const kinds = new Map(events.map(({ type, source }) => [JSON.stringify([type, source]), { type, source }]));
  for (const { type, source } of kinds.values()) {
    const rows = await database.query(
      source === undefined
        ? `select id from events where organization_id = $1 and event between $2 and $2 and id >= $3
            order by event desc, id desc limit $4`
        : `select id from events where organization_id = $1 and source between $5 and $5 and event between $2 and $2
            and id >= $3 order by source desc, event desc, id desc limit $4`,
      source === undefined ? [organizationId, type, least, most] : [organizationId, type, least, most, source],
      organizationId,
    );
    for (const row of rows) ids.add(row["id"]);
  }
  return [...ids].toSorted();
}

/** The event on which the run was started: it is none that comes while the run lasts. */
export async function readFiringEvent(
  database: Database,
  organizationId: OrganizationId,
  runId: RunId,
): Promise<EventId | undefined> {
  const [row] = await database.query(
    "select event_id from firings where organization_id = $1 and run_id = $2 and outcome = 'started' limit 1",
    [organizationId, runId],
    organizationId,
  );
  return row?.["event_id"] ?? undefined;
}

export async function readWholeEvents(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly EventId[],
): Promise<{ event: Event; data: JsonObject }[]> {
  const rows = await database.query(
    `select ${COLUMNS}, data::text as whole from events where organization_id = $1 and id = any($2::uuid[]) order by id`,
    [organizationId, ids],
    organizationId,
  );
  return rows.map((row) => ({ event: eventOf(row), data: parseStored(row["whole"]) as JsonObject }));
}

type Asked = { organizationId: OrganizationId; runId: RunId };
export type Heard = { step: number; id: EventId };

/** The events that steps of a run have been told of; many branches and runs share a statement. */
export const createHeardReader = (database: Database): Batch<Asked, Heard[]> =>
  new Batch<Asked, Heard[]>({
    id: ({ runId }) => runId,
    organizationId: ({ organizationId }) => organizationId,
    bytes: () => 0,
    async write(asked) {
      const rows = await database.hot(
        "read_heard_events",
        `select h.run_id, h.step_number, h.event_id from unnest($1::uuid[], $2::uuid[]) as asked (organization_id, run_id)
          join heard_events h on h.organization_id = asked.organization_id and h.run_id = asked.run_id
          group by 1, 2, 3`,
        [asked.map(({ organizationId }) => organizationId), asked.map(({ runId }) => runId)],
      );
      const ofRun = Map.groupBy(rows, (row) => row["run_id"] as RunId);
      return asked.map(({ runId }) =>
        (ofRun.get(runId) ?? []).map((row) => ({ step: row["step_number"], id: row["event_id"] })),
      );
    },
  });

/** Those that nobody listens to any longer, of all organizations. */
export const forgetListened = (database: Database, before: number, most: number): Promise<number> =>
  database
    .query(
      `delete from listened d where d.organization_id is not null and (d.organization_id, d.event, d.path) in (
         select organization_id, event, path from listened where used_at < $1 limit $2)
         returning 1`,
      [new Date(before), most],
    )
    .then((rows) => rows.length);

/** Those that were told to a step while it ended: neither statement saw the other's rows. Of all organizations. Returns how many. */
export async function deleteUnheard(database: Database, most: number): Promise<number> {
  const rows = await database.query(
    `delete from heard_events d where d.organization_id is not null
        and (d.organization_id, d.run_id, d.step_number, d.event_id) in (
         select h.organization_id, h.run_id, h.step_number, h.event_id from heard_events h
          where h.organization_id is not null and not exists (
            select from listeners l where l.organization_id = h.organization_id and l.run_id = h.run_id
               and l.step_number = h.step_number) limit $1)
         returning 1`,
    [most],
  );
  return rows.length;
}
