/** What the edges read of runs. Everything names its organization; what is another's does not exist. */
import type { AgentId, ApprovalId, OrganizationId, ProjectId, RunId } from "../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Row } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import type { ApprovalStatus } from "../storage/schema.ts";
import {
  APPROVAL_COLUMNS,
  approvalFromRow,
  payloadColumn,
  payloadFromRow,
  RUN_COLUMNS,
  runFromRow,
  STEP_COLUMNS,
  stepFromRow,
  WHOLE_APPROVAL_COLUMNS,
  WHOLE_RUN_COLUMNS,
  wholeApprovalFromRow,
  wholeRunFromRow,
} from "./read-rows.ts";
import type { RunState } from "./loaded-run.ts";
import type { Approval, Attempt, Run, Step, WholeApproval, WholeRun } from "./run.ts";
import type { Runs } from "./runs.ts";
import { isStepOpen } from "./states.ts";

export async function readRun(
  runs: Pick<Runs, "database">,
  organizationId: OrganizationId,
  id: RunId,
): Promise<Run | undefined> {
  const month = partitionOf(runs.database, id);
  const [row] = await runs.database.hot(
    `run_${month}`,
    `select ${RUN_COLUMNS} from runs_${month} where id = $1 and organization_id = $2`,
    [id, organizationId],
    organizationId,
  );
  return row && runFromRow(row);
}

/** With its payloads and what the interpreter keeps of it. */
export async function readWholeRun(
  runs: Pick<Runs, "database">,
  organizationId: OrganizationId,
  id: RunId,
): Promise<{ run: WholeRun; state: RunState; heldBytes: number } | undefined> {
  const month = partitionOf(runs.database, id);
  const [row] = await runs.database.hot(
    `whole_run_${month}`,
    `select ${WHOLE_RUN_COLUMNS}, state, held_bytes from runs_${month} where id = $1 and organization_id = $2`,
    [id, organizationId],
    organizationId,
  );
  return (
    row && { run: wholeRunFromRow(row), state: (row["state"] as RunState | null) ?? {}, heldBytes: row["held_bytes"] }
  );
}

/** In order of their number; `after` is a number. */
export async function listSteps(
  runs: Pick<Runs, "database">,
  { id, organizationId }: Pick<Run, "id" | "organizationId">,
  page: { first: number; after?: number },
): Promise<Page<Step>> {
  const month = partitionOf(runs.database, id);
  const rows = await runs.database.hot(
    `steps_${month}`,
    `select ${STEP_COLUMNS} from steps_${month}
      where run_id = $1 and organization_id = $2 and number > $3 order by number limit $4`,
    [id, organizationId, page.after ?? 0, page.first + 1],
    organizationId,
  );
  return pageOf(rows.map(stepFromRow), page.first);
}

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

/** The attempts of a step behind number `after`, the present one last. */
export async function listAttempts(
  runs: Runs,
  step: Step,
  { first, after = 0 }: { first: number; after?: number },
): Promise<Attempt[]> {
  const rows = step.attempt - 1 <= after ? [] : await readAttempts(runs, step, { first, after });
  const earlier = rows.map((row) => attemptFromRow(row, step));
  if (step.status === "skipped" || earlier.length === first || step.attempt <= after) return earlier;
  const before = earlier.at(-1) ?? (step.attempt > 1 ? await readLast(runs, step) : undefined);
  const startedAt = before?.finishedAt ?? step.startedAt;
  const finishedAt = isStepOpen(step.status) ? null : step.finishedAt;
  return [...earlier, { step, number: step.attempt, status: step.status, error: step.error, startedAt, finishedAt }];
}

async function readLast(runs: Runs, step: Step): Promise<Attempt | undefined> {
  const [row] = await readAttempts(runs, step, { first: 1, after: step.attempt - 2 });
  return row && attemptFromRow(row, step);
}

function readAttempts(runs: Runs, step: Step, { first, after }: { first: number; after: number }): Promise<Row[]> {
  const month = partitionOf(runs.database, step.runId);
  return runs.database.hot(
    `attempts_${month}`,
    `select attempt, status, started_at, finished_at, ${payloadColumn("error")} from attempts_${month}
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
  startedAt: row["started_at"],
  finishedAt: row["finished_at"],
});

export async function readApproval(
  runs: Runs,
  organizationId: OrganizationId,
  id: ApprovalId,
): Promise<Approval | undefined> {
  const [row] = await runs.database.query(
    `select ${APPROVAL_COLUMNS} from approvals where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && approvalFromRow(row);
}

/** With its payloads. */
export async function readWholeApproval(
  runs: Runs,
  organizationId: OrganizationId,
  id: ApprovalId,
): Promise<WholeApproval | undefined> {
  const [row] = await runs.database.query(
    `select ${WHOLE_APPROVAL_COLUMNS} from approvals where organization_id = $1 and id = $2`,
    [organizationId, id],
    organizationId,
  );
  return row && wholeApprovalFromRow(row);
}

export type ApprovalFilter = { status?: ApprovalStatus; projectId?: ProjectId; agentId?: AgentId; runId?: RunId };

/** The inbox. */
export async function listApprovals(
  runs: Runs,
  organizationId: OrganizationId,
  filter: ApprovalFilter,
  page: PageRequest,
): Promise<Page<Approval>> {
  const { first, after } = checkPage(page);
  const values: unknown[] = [organizationId];
  const also = (condition: string, value: unknown): string => {
    if (value === undefined) return "";
    values.push(value);
    return ` and ${condition} $${values.length}`;
  };
  const conditions =
    also("status =", filter.status) +
    also("project_id =", filter.projectId) +
    also("agent_id =", filter.agentId) +
    also("run_id =", filter.runId) +
    also("id <", after);
  const rows = await runs.database.query(
    `select ${APPROVAL_COLUMNS} from approvals where organization_id = $1${conditions} order by id desc limit ${first + 1}`,
    values,
    organizationId,
  );
  return pageOf(rows.map(approvalFromRow), first);
}
