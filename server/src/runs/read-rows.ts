/** Rows as PostgreSQL gives them, as the types of `run.ts` and of the journal. */
import type { ErrorFields } from "../definition/workflow-error.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import type { Row } from "../storage/database.ts";
import type { Head, JournalStep, RunState, StepState } from "./loaded-run.ts";
import type { StepWrite } from "./rows.ts";
import type { Approval, Run, RunError, Step } from "./run.ts";

/** What a list of runs reads; the payloads too, so that a list answers them. */
export const RUN_COLUMNS = `id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
  output, error, created_at, started_at, finished_at, cancelled_at, revision, current_step, progress, run_at,
  parent_run_id, parent_awaits, retry_of`;

export const runFromRow = (row: Row): Run => ({
  id: row["id"],
  organizationId: row["organization_id"],
  projectId: row["project_id"],
  agentId: row["agent_id"],
  version: row["version"],
  status: row["status"],
  startedBy: { kind: row["started_by_kind"], id: row["started_by_id"] },
  input: row["input"] as JsonObject,
  output: row["output"] as Json,
  error: row["error"] as RunError | null,
  createdAt: row["created_at"],
  startedAt: row["started_at"],
  finishedAt: row["finished_at"],
  cancelledAt: row["cancelled_at"],
  revision: row["revision"],
  currentStep: row["current_step"],
  progress: row["progress"],
  runAt: row["run_at"],
  parent: row["parent_run_id"] && { runId: row["parent_run_id"], awaits: row["parent_awaits"] },
  retryOf: row["retry_of"],
});

const ms = (date: Date | null): number | null => date && date.getTime();

export function headFromRow(row: Row): Head {
  const { cancelledAt: _cancelledAt, ...run } = runFromRow(row);
  return {
    ...run,
    createdAt: run.createdAt.getTime(),
    startedAt: ms(run.startedAt),
    finishedAt: ms(run.finishedAt),
    runAt: ms(run.runAt),
    limited: row["limited"],
    state: (row["state"] as RunState | null) ?? {},
    epoch: row["epoch"],
    wakeSeq: row["wake_seq"],
  };
}

export const stepFromRow = (row: Row): Step => ({
  runId: row["run_id"],
  organizationId: row["organization_id"],
  number: row["number"],
  key: row["key"],
  name: row["name"],
  kind: row["kind"],
  status: row["status"],
  attempt: row["attempt"],
  startedAt: row["started_at"],
  finishedAt: row["finished_at"],
  input: row["input"] as Json,
  output: row["output"] as Json,
  error: row["error"] as ErrorFields | null,
  revision: row["revision"],
  childId: (row["state"] as StepState | null)?.childId ?? null,
});

/** The same from a row on its way to the database. */
export function stepFromWrite(write: StepWrite): Step {
  const json = (text: string | null): Json => (text === null ? null : (JSON.parse(text) as Json));
  const date = (time: number | null): Date | null => (time === null ? null : new Date(time));
  return stepFromRow({
    ...write,
    state: json(write.state),
    input: json(write.input),
    output: json(write.output),
    error: json(write.error),
    started_at: date(write.started_at),
    finished_at: date(write.finished_at),
  });
}

export const journalStepFromRow = (row: Row): JournalStep => ({
  number: row["number"],
  key: row["key"],
  name: row["name"],
  kind: row["kind"],
  status: row["status"],
  round: row["round"],
  attempt: row["attempt"],
  state: (row["state"] as StepState | null) ?? {},
  input: (row["input"] as Json | null) ?? undefined,
  output: (row["output"] as Json | null) ?? undefined,
  error: row["error"] as ErrorFields | null,
  startedAt: (row["started_at"] as Date).getTime(),
  finishedAt: ms(row["finished_at"]),
  revision: row["revision"],
  bytes: row["bytes"],
  heldBytes: 0,
});

export const approvalFromRow = (row: Row): Approval => ({
  id: row["id"],
  organizationId: row["organization_id"],
  projectId: row["project_id"],
  agentId: row["agent_id"],
  runId: row["run_id"],
  stepNumber: row["step_number"],
  status: row["status"],
  question: row["question"],
  context: row["context"] as Json,
  assignee: row["assignee"],
  form: row["form"] as JsonObject | null,
  expiresAt: row["expires_at"],
  createdAt: row["created_at"],
  decidedAt: row["decided_at"],
  decidedBy: row["decided_by_kind"] && { kind: row["decided_by_kind"], id: row["decided_by_id"] },
  comment: row["comment"],
  answer: row["answer"] as Json,
});
