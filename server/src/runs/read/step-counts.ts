/** How many steps runs have, and in which states the steps inside a step are: for loops and branches that are folded. */
import type { OrganizationId, RunId, StepId } from "../../lib/ids.ts";
import { STEP_STATUSES } from "../../execution/run/states.ts";
import type { Row } from "../../storage/database.ts";
import { groupsByMonth } from "../../storage/partitions.ts";
import type { StepStatus } from "../../storage/schema.ts";
import type { Runs } from "../handle/runs.ts";

export type StepCount = { status: StepStatus; count: number };

const RUNS_AT_ONCE = 200;
/** Each may have 10,000 steps, which are read in 4 ms: others get the connection in between. */
const LARGE_RUNS_AT_ONCE = 10;

/** One column for each: with the status in `group by`, sorting by a text takes three quarters of the time. */
const COUNT_EACH = STEP_STATUSES.map(
  (status) => `count(*) filter (where status = '${status}')::integer as ${status}`,
).join(", ");

const countsFromRow = (row: Row): StepCount[] =>
  STEP_STATUSES.map((status) => ({ status, count: row[status] as number })).filter(({ count }) => count > 0);

export async function countSteps(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  runIds: readonly RunId[],
): Promise<Map<RunId, number>> {
  const counts = new Map<RunId, number>(runIds.map((id) => [id, 0]));
  for (const [month, ids] of groupsByMonth(database, runIds, RUNS_AT_ONCE)) {
    // Numbers count from 1; only a run that retries another may have left some free.
    const rows = await database.hot(
      `step_counts_${month}`,
      `select wanted.id, last.number from unnest($2::uuid[]) as wanted (id) cross join lateral (
         select number from steps_${month} where run_id = wanted.id and organization_id = $1
          order by number desc limit 1) as last`,
      [organizationId, ids],
      organizationId,
    );
    for (const row of rows) counts.set(row["id"], row["number"]);
  }
  return counts;
}

/** In the order of `steps`, each by status; a status that no step has is left out. */
export async function countChildren(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  steps: readonly StepId[],
): Promise<StepCount[][]> {
  const counts = new Map<string, StepCount[]>();
  const numbers = [...new Set(steps.map(({ number }) => number))];
  const runIds = [...new Set(steps.map(({ runId }) => runId))];
  for (const [month, ids] of groupsByMonth(database, runIds, LARGE_RUNS_AT_ONCE)) {
    // Reads the steps of a run once, whatever the number of parents, from the first one on: those inside come after it.
    const rows = await database.hot(
      `child_counts_${month}`,
      `select run_id, parent_number, ${COUNT_EACH} from steps_${month}
        where organization_id = $1 and run_id = any ($2::uuid[]) and number > $4 and parent_number = any ($3::integer[])
        group by run_id, parent_number`,
      [organizationId, ids, numbers, Math.min(...numbers)],
      organizationId,
    );
    for (const row of rows) counts.set(`${row["run_id"]} ${row["parent_number"]}`, countsFromRow(row));
  }
  return steps.map(({ runId, number }) => counts.get(`${runId} ${number}`) ?? []);
}
