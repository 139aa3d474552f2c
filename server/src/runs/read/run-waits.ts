/** The things that open runs wait for. */
import type { ApprovalId, OrganizationId, RunId } from "../../lib/ids.ts";
import { kindsThatWaitFor } from "../../definition/tasks/kinds.ts";
import { isOneOf, TRIED } from "../../execution/journal/read-rows.ts";
import { groupsByMonth } from "../../storage/partitions.ts";
import type { Runs } from "../handle/runs.ts";

/** Neither a time nor an approval: the step waits for the run that it started. */
export type RunWait = { stepNumber: number; until: Date | null; approvalId: ApprovalId | null };

/** The run, and how many at most. */
export type WaitsKey = { runId: RunId; most: number };

/** Each may have 10,000 steps, which are read in 4 ms: others get the connection in between. */
const RUNS_AT_ONCE = 10;

/**
 * Running steps of these kinds wait if their state says until when, or that they await a child. Others' states are not
 * read: those of loops have their items in them.
 */
const MAY_WAIT = isOneOf([...kindsThatWaitFor("time"), ...kindsThatWaitFor("child"), ...TRIED]);

/** In the order of `wanted`: the first `most` of each run, by step. */
export async function listWaits(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  wanted: readonly WaitsKey[],
): Promise<RunWait[][]> {
  const most = Math.max(...wanted.map((one) => one.most));
  const waits = new Map<RunId, RunWait[]>(wanted.map(({ runId }) => [runId, []]));
  for (const [month, ids] of groupsByMonth(database, [...waits.keys()], RUNS_AT_ONCE)) {
    const rows = await database.hot(
      `waits_${month}`,
      `select wanted.id, number, state ->> 'until' as until, state ->> 'approvalId' as approval_id
         from unnest($2::uuid[]) as wanted (id) cross join lateral (
           select number, state from steps_${month}
            where run_id = wanted.id and organization_id = $1 and status in ('running', 'paused') and case
              when status = 'paused' then true
              when ${MAY_WAIT} then coalesce(state ->> 'until', state ->> 'awaits') is not null end
            order by number limit $3) as waiting
        order by wanted.id, number`,
      [organizationId, ids, most],
      organizationId,
    );
    for (const row of rows) waits.get(row["id"])!.push(waitFromRow(row));
  }
  return wanted.map((one) => waits.get(one.runId)!.slice(0, one.most));
}

const waitFromRow = (row: Record<string, any>): RunWait => ({
  stepNumber: row["number"],
  until: row["until"] === null ? null : new Date(Number(row["until"])),
  approvalId: row["approval_id"],
});
