/** The edges' reads of runs, within what the caller reaches: nothing else exists for it. */
import type { ApprovalId, RunId, StepId } from "../../lib/ids.ts";
import { pageOf, type Page } from "../../lib/page.ts";
import { reached, reaches, type Within } from "../../lib/reach.ts";
import type { Row } from "../../storage/database.ts";
import { groupsByMonth, partitionOf } from "../../storage/partitions.ts";
import type { StepStatus } from "../../storage/schema.ts";
import {
  APPROVAL_COLUMNS,
  approvalFromRow,
  RUN_COLUMNS,
  runFromRow,
  STEP_COLUMNS,
  stepFromRow,
  WHOLE_RUN_COLUMNS,
  wholeRunFromRow,
} from "../../execution/journal/read-rows.ts";
import type { RunState } from "../../execution/journal/loaded-run.ts";
import type { Approval, Attempt, Run, Step, WholeRun } from "../../execution/run/run.ts";
import type { Runs } from "../handle/runs.ts";
import { isStepOpen } from "../../execution/run/states.ts";
import { payloadColumn, payloadFromRow } from "../../storage/payloads.ts";

export async function readRun(runs: Pick<Runs, "database">, within: Within, id: RunId): Promise<Run | undefined> {
  const { organizationId } = within;
  const month = partitionOf(runs.database, id);
  const [row] = await runs.database.hot(
    `run_${month}`,
    `select ${RUN_COLUMNS} from runs_${month} where id = $1 and organization_id = $2`,
    [id, organizationId],
    organizationId,
  );
  return reached(within, row && runFromRow(row));
}

/** The ids that exist. */
export async function knownRuns(
  runs: Pick<Runs, "database">,
  within: Within,
  ids: readonly RunId[],
): Promise<Set<RunId>> {
  const { organizationId } = within;
  const months = Map.groupBy(ids, (id) => partitionOf(runs.database, id));
  const rows = Array.from(months, ([month, some]) =>
    runs.database.hot(
      `known_runs_${month}`,
      `select id, project_id, agent_id from runs_${month} where organization_id = $1 and id = any ($2::uuid[])`,
      [organizationId, some],
      organizationId,
    ),
  );
  const found = (await Promise.all(rows)).flat();
  const known = found.filter((row) => reaches(within, { projectId: row["project_id"], agentId: row["agent_id"] }));
  return new Set(known.map((row) => row["id"] as RunId));
}

/** With its payloads and the interpreter's state. */
export async function readWholeRun(
  runs: Pick<Runs, "database">,
  within: Within,
  id: RunId,
): Promise<{ run: WholeRun; state: RunState; heldBytes: number } | undefined> {
  const { organizationId } = within;
  const month = partitionOf(runs.database, id);
  const [row] = await runs.database.hot(
    `whole_run_${month}`,
    `select ${WHOLE_RUN_COLUMNS}, state, held_bytes from runs_${month} where id = $1 and organization_id = $2`,
    [id, organizationId],
    organizationId,
  );
  const run = reached(within, row && wholeRunFromRow(row));
  return run && { run, state: (row!["state"] as RunState | null) ?? {}, heldBytes: row!["held_bytes"] };
}

export async function readStep(
  runs: Pick<Runs, "database">,
  within: Within,
  { runId, number }: StepId,
): Promise<Step | undefined> {
  const { organizationId } = within;
  // A step does not say which agent it belongs to; its run does.
  if (within.reach && !(await readRun(runs, within, runId))) return undefined;
  const month = partitionOf(runs.database, runId);
  const [row] = await runs.database.hot(
    `step_${month}`,
    `select ${STEP_COLUMNS} from steps_${month} where run_id = $1 and organization_id = $2 and number = $3`,
    [runId, organizationId, number],
    organizationId,
  );
  return row && stepFromRow(row);
}

/** `parentNumber` 0: the steps that no step encloses. */
export type StepFilter = { parentNumber?: number; status?: readonly StepStatus[] };
/** `after` is a number. */
export type StepPage = { first: number; after?: number };

/** In order of number. */
export async function listSteps(
  runs: Pick<Runs, "database">,
  { id, organizationId }: Pick<Run, "id" | "organizationId">,
  page: StepPage,
  filter: StepFilter = {},
): Promise<Page<Step>> {
  return (await listStepsOfRuns(runs, organizationId, [id], page, filter)).get(id)!;
}

/** One with 10,000 steps, of which none is wanted, is read in 4 ms: others get the connection in between. */
const RUNS_AT_ONCE = 50;

/** The same of several runs. */
export async function listStepsOfRuns(
  { database }: Pick<Runs, "database">,
  organizationId: Run["organizationId"],
  runIds: readonly RunId[],
  page: StepPage,
  { parentNumber, status }: StepFilter = {},
): Promise<Map<RunId, Page<Step>>> {
  const found = new Map<RunId, Step[]>(runIds.map((id) => [id, []]));
  // Steps come after the one that encloses them.
  const after = Math.max(page.after ?? 0, parentNumber ?? 0);
  for (const [month, ids] of groupsByMonth(database, [...found.keys()], RUNS_AT_ONCE)) {
    const values: unknown[] = [ids, organizationId, after, page.first + 1];
    const inside = parentNumber === undefined ? "" : ` and coalesce(parent_number, 0) = $${values.push(parentNumber)}`;
    const among = status ? ` and status = any ($${values.push(status)}::text[])` : "";
    const rows = await database.hot(
      `steps_${month}${inside && "_inside"}${among && "_among"}`,
      `select steps.* from unnest($1::uuid[]) as wanted (id) cross join lateral (
         select ${STEP_COLUMNS} from steps_${month}
          where run_id = wanted.id and organization_id = $2${inside}${among} and number > $3 order by number limit $4
       ) as steps`,
      values,
      organizationId,
    );
    for (const row of rows) found.get(row["run_id"])!.push(stepFromRow(row));
  }
  // Sorting a sorted list costs nothing.
  const inOrder = (steps: Step[]): Step[] => steps.toSorted((one, other) => one.number - other.number);
  return new Map(Array.from(found, ([id, steps]) => [id, pageOf(inOrder(steps), page.first)]));
}

/** The same of steps that were read before. */
export const isAmong = (step: Step, { parentNumber, status }: StepFilter): boolean =>
  (parentNumber === undefined || (step.parentNumber ?? 0) === parentNumber) && (status?.includes(step.status) ?? true);

/** The first `most` steps that changed after a revision of the run, in that order. */
export async function listStepsAfter(
  runs: Pick<Runs, "database">,
  { id, organizationId }: Pick<Run, "id" | "organizationId">,
  revision: number,
  most: number,
): Promise<Step[]> {
  const month = partitionOf(runs.database, id);
  const rows = await runs.database.hot(
    `steps_after_${month}`,
    `select ${STEP_COLUMNS} from steps_${month}
      where run_id = $1 and organization_id = $2 and revision > $3 order by revision limit $4`,
    [id, organizationId, revision, most],
    organizationId,
  );
  return rows.map(stepFromRow);
}

/** A pause before another try is no attempt, nor is a try that skips it. */
export const countAttempts = ({ status, attempt, isBetweenTries }: Step): number =>
  status === "skipped" || isBetweenTries ? attempt - 1 : attempt;

type AttemptPage = { first: number; after?: number };

/** How many `listAttempts` returns. */
export const countListed = (step: Step, { first, after = 0 }: AttemptPage): number =>
  Math.min(first, Math.max(0, countAttempts(step) - after));

/** A step's attempts after number `after`, the current one last. */
export async function listAttempts(runs: Runs, step: Step, { first, after = 0 }: AttemptPage): Promise<Attempt[]> {
  const rows = step.attempt - 1 <= after ? [] : await readAttempts(runs, step, { first, after });
  const earlier = rows.map((row) => attemptFromRow(row, step));
  const isListed = countAttempts(step) === step.attempt && step.attempt > after;
  return isListed && earlier.length < first ? [...earlier, newestOf(step)] : earlier;
}

/** A caught error ended the attempt, whatever the step has done since. */
function newestOf(step: Step): Attempt {
  const { attempt: number, caught, caughtAt, response } = step;
  const startedAt = step.attemptStartedAt ?? step.startedAt;
  const finishedAt = isStepOpen(step.status) ? null : step.finishedAt;
  const newest = { step, number, startedAt, response, responseIn: "step" } as const;
  if (caught)
    return { ...newest, status: "failed", error: caught, errorIn: "caught", finishedAt: caughtAt ?? finishedAt };
  return { ...newest, status: step.status, error: step.error, errorIn: "step", finishedAt };
}

function readAttempts(runs: Runs, step: Step, { first, after }: { first: number; after: number }): Promise<Row[]> {
  const month = partitionOf(runs.database, step.runId);
  return runs.database.hot(
    `attempts_${month}`,
    `select attempt, status, started_at, finished_at, ${payloadColumn("error")}, ${payloadColumn("response")} from attempts_${month}
      where run_id = $1 and number = $2 and organization_id = $3 and attempt > $4 order by attempt limit $5`,
    [step.runId, step.number, step.organizationId, after, first],
    step.organizationId,
  );
}

const attemptFromRow = (row: Row, step: Step): Attempt => ({
  step,
  number: row["attempt"],
  status: row["status"],
  error: payloadFromRow(row, "error"),
  errorIn: "attempt",
  response: payloadFromRow(row, "response"),
  responseIn: "attempt",
  startedAt: row["started_at"],
  finishedAt: row["finished_at"],
});

export async function readApproval(runs: Runs, within: Within, id: ApprovalId): Promise<Approval | undefined> {
  const { organizationId } = within;
  const [row] = await runs.database.query(
    `select ${APPROVAL_COLUMNS} from approvals where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return reached(within, row && approvalFromRow(row));
}

/** For a loader. */
export async function readApprovals(
  runs: Runs,
  within: Within,
  ids: readonly ApprovalId[],
): Promise<Map<ApprovalId, Approval>> {
  const { organizationId } = within;
  const rows = await runs.database.hot(
    "approvals_by_id",
    `select ${APPROVAL_COLUMNS} from approvals where organization_id = $1 and id = any ($2::uuid[])`,
    [organizationId, ids],
    organizationId,
  );
  const approvals = rows.map(approvalFromRow).filter((approval) => reaches(within, approval));
  return new Map(approvals.map((approval) => [approval.id, approval]));
}
