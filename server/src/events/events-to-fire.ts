/** The SQL of events that triggers are still to be fired on. */
import type { EventId, OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { Database } from "../storage/database.ts";
import { COLUMNS, eventOf } from "./event-store.ts";
import type { Event } from "./event.ts";

/** An event with what firing on it needs. */
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

/** Makes those due that no process fires any longer. */
export const releaseEvents = (database: Database, now: number): Promise<unknown> =>
  database.query("update events set fire_at = $1 where organization_id is not null and fire_at > $1", [new Date(now)]);

type Taking = { now: number; until: number; each: number; most: number; full: OrganizationId[]; known: EventId[] };

/**
 * Takes at most `most` whose time has come, `each` of an organization that is not `full`, so that no other process does until `until`: the
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
