/** The SQL that reads events: a page of them, those of some ids, and their data. */
import type { EventId, OrganizationId } from "../lib/ids.ts";
import type { PageRequest } from "../lib/page.ts";
import type { Within } from "../lib/reach.ts";
import type { Database } from "../storage/database.ts";
import { COLUMNS, eventOf } from "./event-store.ts";
import type { Event } from "./event.ts";

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
