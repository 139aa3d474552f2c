/** The names of single steps, for lists of runs. */
import { STEP_NAME_COLUMNS } from "../../execution/journal/read-rows.ts";
import type { OrganizationId, StepId } from "../../lib/ids.ts";
import { groupsByMonth } from "../../storage/partitions.ts";
import type { Runs } from "../handle/runs.ts";

const RUNS_AT_ONCE = 200;

/** Names as the definition has them, in the order of `steps`; for a `try` around one call, the call's. Null: there is no such step. */
export async function readStepNames(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  steps: readonly StepId[],
): Promise<(string | null)[]> {
  const names = new Map<string, string>();
  const byRun = Map.groupBy(steps, ({ runId }) => runId);
  for (const [month, ids] of groupsByMonth(database, [...byRun.keys()], RUNS_AT_ONCE)) {
    const asked = ids.flatMap((id) => byRun.get(id)!);
    const rows = await database.hot(
      `step_names_${month}`,
      `select run_id, number, ${STEP_NAME_COLUMNS} from unnest($2::uuid[], $3::integer[]) as wanted (run_id, number)
         join steps_${month} using (run_id, number) where organization_id = $1`,
      [organizationId, asked.map(({ runId }) => runId), asked.map(({ number }) => number)],
      organizationId,
    );
    for (const { run_id: id, number, name, call } of rows) names.set(`${id} ${number}`, nameOfCall(call) ?? name);
  }
  return steps.map(({ runId, number }) => names.get(`${runId} ${number}`) ?? null);
}

/** `call`: its JSON pointer. */
export const nameOfCall = (call: string | null): string | null => call && call.slice(call.lastIndexOf("/") + 1);
