/** Chains of events: how many led to one, and how many came of the first. Agents that start each other by events end here. */
import type { EventId, OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import type { Event } from "./event.ts";

/** The chain that a run belongs to. `depth`: how many events, one after another; `rootId`: the first of them. */
export type Origin = { depth: number; rootId: EventId | null };

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

/** Why an event starts nothing, whatever it matches. */
export function whyNone({ depth, rootNumber }: Pick<Event, "depth" | "rootNumber">): string | undefined {
  if (depth >= LIMITS.eventDepth)
    return `${LIMITS.eventDepth} events led to this one, each through a run that the previous one started: it starts no run, because this looks like a loop`;
  if ((rootNumber ?? 0) > LIMITS.eventsOfRoot)
    return `${LIMITS.eventsOfRoot} events have already followed from the same event: this one starts no run, because this looks like a flood`;
  return undefined;
}
