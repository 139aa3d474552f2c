/** How much waits for somebody: open runs and open approvals, for the numbers beside a menu. */
import type { ProjectId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Within } from "../../lib/reach.ts";
import { isFinal, RUN_STATUSES } from "../../execution/run/states.ts";
import { Batch } from "../../storage/batch.ts";
import type { Database, Row } from "../../storage/database.ts";

/** Each at most `LIMITS.counted`: so many, or more. */
export type Badges = { openRuns: number; openApprovals: number };

type Wanted = { within: Within; projectId: ProjectId | undefined };
/** Counts what is committed at the time of the call, or later. */
export type BadgeCounts = { add(wanted: Wanted): Promise<Badges> };

/**
 * A number that many subscribers ask for at once is counted once. One count at a time: where thousands of runs of a large
 * organization are open, each of its projects takes 100 ms, and another organization waits for one of them, not for all.
 */
export function createBadgeCounts(database: Database): BadgeCounts {
  /** Asked for, and not begun. */
  const waiting = new Map<string, Promise<Badges>>();
  const counts = new Batch<Wanted, Badges>({
    id: keyOf,
    organizationId: ({ within }) => within.organizationId,
    bytes: () => 0,
    inFlight: 1,
    rows: 1,
    async write([wanted]) {
      waiting.delete(keyOf(wanted!));
      return [await count(database, wanted!)];
    },
  });
  return {
    add(wanted) {
      const key = keyOf(wanted);
      const known = waiting.get(key);
      if (known) return known;
      const counted = counts.add(wanted);
      waiting.set(key, counted);
      return counted;
    },
  };
}

const keyOf = ({ within: { organizationId, reach }, projectId }: Wanted): string =>
  JSON.stringify([organizationId, projectId, reach]);

/**
 * The open runs of a project, or of what a key reaches, are looked for among the organization's: PostgreSQL has an index of
 * states, not of a project's states.
 */
async function count(database: Database, { within: { organizationId, reach }, projectId }: Wanted): Promise<Badges> {
  const values: unknown[] = [organizationId];
  const place = projectId && `$${values.push(projectId)}`;
  const ofProject = place ? ` and project_id = ${place}` : "";
  const inReach = reach
    ? ` and (project_id = any ($${values.push(reach.projectIds)}::uuid[]) or agent_id = any ($${values.push(reach.agentIds)}::uuid[]))`
    : "";
  // Literals, and an order that only one index has: planned-lists.ts says why.
  const open = RUN_STATUSES.filter((status) => !isFinal(status)).map(
    (
      status,
    ) => `(select 1 from runs where organization_id between $1 and $1 and status = '${status}'${ofProject}${inReach}
      order by organization_id, id desc limit ${LIMITS.counted})`,
  );
  const approvals = place
    ? `organization_id = $1 and project_id between ${place} and ${place} and status = 'open'${inReach} order by project_id, id`
    : `organization_id = $1${inReach} and status between 'open' and 'open' order by status, id`;
  const [row] = await database.hot(
    `badges${projectId ? "_of_project" : ""}${reach ? "_in_reach" : ""}`,
    `select
       (select count(*)::integer from (${open.join(" union all ")} limit ${LIMITS.counted}) as open_ones) as runs,
       (select count(*)::integer from (select 1 from approvals where ${approvals} limit ${LIMITS.counted}) as open_ones) as approvals`,
    values,
    organizationId,
  );
  const { runs, approvals: asked } = row as Row;
  return { openRuns: runs, openApprovals: asked };
}
