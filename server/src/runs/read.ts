/** What the edges read of runs. Everything names its organization; what is another's does not exist. */
import type { AgentId, ApprovalId, OrganizationId, ProjectId, RunId } from "../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Row } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import type { ApprovalStatus } from "../storage/schema.ts";
import { approvalFromRow, RUN_COLUMNS, runFromRow, stepFromRow } from "./read-rows.ts";
import type { RunState } from "./loaded-run.ts";
import type { Approval, Attempt, Run, Step } from "./run.ts";
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
  );
  return row && runFromRow(row);
}

/** With what the interpreter keeps of it. */
export async function readRunState(
  runs: Pick<Runs, "database">,
  organizationId: OrganizationId,
  id: RunId,
): Promise<{ run: Run; state: RunState; heldBytes: number } | undefined> {
  const [row] = await runs.database.query(
    `select ${RUN_COLUMNS}, state, held_bytes from runs_${partitionOf(runs.database, id)} where id = $1 and organization_id = $2`,
    [id, organizationId],
  );
  return row && { run: runFromRow(row), state: (row["state"] as RunState | null) ?? {}, heldBytes: row["held_bytes"] };
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
    `select * from steps_${month} where run_id = $1 and organization_id = $2 and number > $3 order by number limit $4`,
    [id, organizationId, page.after ?? 0, page.first + 1],
  );
  return pageOf(rows.map(stepFromRow), page.first);
}

/** The first `most` steps that changed after a revision of the run, in that order. */
export async function listStepsAfter(
  runs: Runs,
  { id, organizationId }: Pick<Run, "id" | "organizationId">,
  revision: number,
  most: number,
): Promise<Step[]> {
  const month = partitionOf(runs.database, id);
  const rows = await runs.database.hot(
    `steps_after_${month}`,
    `select * from steps_${month} where run_id = $1 and organization_id = $2 and revision > $3 order by revision limit $4`,
    [id, organizationId, revision, most],
  );
  return rows.map(stepFromRow);
}

/** Every attempt of a step, the present one last. */
export async function listAttempts(runs: Runs, step: Step): Promise<Attempt[]> {
  const rows = step.attempt === 1 ? [] : await readAttempts(runs, step);
  const earlier = rows.map((row) => attemptFromRow(row));
  if (step.status === "skipped") return earlier;
  const startedAt = earlier.length === 0 ? step.startedAt : (earlier.at(-1)!.finishedAt ?? step.startedAt);
  const finishedAt = isStepOpen(step.status) ? null : step.finishedAt;
  return [...earlier, { number: step.attempt, status: step.status, error: step.error, startedAt, finishedAt }];
}

function readAttempts(runs: Runs, step: Step): Promise<Row[]> {
  const month = partitionOf(runs.database, step.runId);
  return runs.database.hot(
    `attempts_${month}`,
    `select * from attempts_${month} where run_id = $1 and number = $2 and organization_id = $3 order by attempt`,
    [step.runId, step.number, step.organizationId],
  );
}

const attemptFromRow = (row: Row): Attempt => ({
  number: row["attempt"],
  status: row["status"],
  error: row["error"],
  startedAt: row["started_at"],
  finishedAt: row["finished_at"],
});

export async function readApproval(
  runs: Runs,
  organizationId: OrganizationId,
  id: ApprovalId,
): Promise<Approval | undefined> {
  const [row] = await runs.database.query("select * from approvals where organization_id = $1 and id = $2", [
    organizationId,
    id,
  ]);
  return row && approvalFromRow(row);
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
  let query = runs.database.kysely
    .selectFrom("approvals")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .orderBy("id", "desc")
    .limit(first + 1);
  if (filter.status) query = query.where("status", "=", filter.status);
  if (filter.projectId) query = query.where("project_id", "=", filter.projectId);
  if (filter.agentId) query = query.where("agent_id", "=", filter.agentId);
  if (filter.runId) query = query.where("run_id", "=", filter.runId);
  if (after) query = query.where("id", "<", after as ApprovalId);
  const rows = await query.execute();
  return pageOf(
    rows.map((row) => approvalFromRow(row as unknown as Row)),
    first,
  );
}
