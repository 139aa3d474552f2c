/** The SQL that says what led to an event, and how many came of its first. */
import type { EventId, OrganizationId, RunId } from "../../lib/ids.ts";
import type { Database } from "../../storage/database.ts";

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
