/** Rows as PostgreSQL gives them, as the types of `run.ts` and of the journal. */
import type { ErrorFields } from "../definition/workflow-error.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { JsonText } from "../lib/json-text.ts";
import type { Row } from "../storage/database.ts";
import type { Head, JournalStep, RunState, StepState } from "./loaded-run.ts";
import type { StepWrite } from "./rows.ts";
import type { Approval, Payload, Run, RunError, Step, WholeApproval, WholeRun } from "./run.ts";

/** A payload of at most so many bytes comes with its row; what is larger is read when it is asked for. */
const SMALL_BYTES = 1_000;

/** Its size, which PostgreSQL has without reading a large value, and a small one itself. */
export const payloadColumn = (column: string): string =>
  `octet_length(${column}::text) as ${column}_bytes, case when octet_length(${column}::text) <= ${SMALL_BYTES} then ${column}::text end as ${column}_text`;

export function payloadFromRow(row: Row, column: string): Payload | null {
  const text = row[`${column}_text`] as string | null;
  if (text !== null) return JsonText.ofText(text);
  const bytes = row[`${column}_bytes`] as number | null;
  return bytes === null ? null : { bytes };
}

const BASE_COLUMNS = `id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, created_at, started_at, finished_at, cancelled_at, revision, current_step, progress, run_at,
  parent_run_id, parent_awaits, retry_of`;

/** What a list of runs reads. */
export const RUN_COLUMNS = `${BASE_COLUMNS}, ${payloadColumn("input")}, ${payloadColumn("output")}, ${payloadColumn("error")}`;
export const WHOLE_RUN_COLUMNS = `${BASE_COLUMNS}, input, output, error`;

const baseFromRow = (row: Row): Omit<Run, "input" | "output" | "error"> => ({
  id: row["id"],
  organizationId: row["organization_id"],
  projectId: row["project_id"],
  agentId: row["agent_id"],
  version: row["version"],
  status: row["status"],
  startedBy: { kind: row["started_by_kind"], id: row["started_by_id"] },
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

export const runFromRow = (row: Row): Run => ({
  ...baseFromRow(row),
  input: payloadFromRow(row, "input")!,
  output: payloadFromRow(row, "output"),
  error: payloadFromRow(row, "error"),
});

export const wholeRunFromRow = (row: Row): WholeRun => ({
  ...baseFromRow(row),
  input: row["input"] as JsonObject,
  output: row["output"] as Json,
  error: row["error"] as RunError | null,
});

const ms = (date: Date | null): number | null => date && date.getTime();

export function headFromRow(row: Row): Head {
  const { cancelledAt: _cancelledAt, ...run } = wholeRunFromRow(row);
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

/** What a list of steps reads. */
export const STEP_COLUMNS = `run_id, organization_id, number, key, name, kind, status, attempt, started_at, finished_at, revision,
  case when kind = 'run' then state ->> 'childId' end as child_id,
  ${payloadColumn("input")}, ${payloadColumn("output")}, ${payloadColumn("error")}`;

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
  input: payloadFromRow(row, "input"),
  output: payloadFromRow(row, "output"),
  error: payloadFromRow(row, "error"),
  revision: row["revision"],
  childId: row["child_id"],
});

/** The same from a row on its way to the database. */
export function stepFromWrite(write: StepWrite): Step {
  const { run_id: runId, organization_id: organizationId, number, key, name, kind, status, attempt, revision } = write;
  const json = (text: string | null): JsonText | null => (text === null ? null : JsonText.ofText(text));
  const date = (time: number | null): Date | null => (time === null ? null : new Date(time));
  const childId = kind === "run" && write.state ? ((JSON.parse(write.state) as StepState).childId ?? null) : null;
  return {
    runId,
    organizationId,
    number,
    key,
    name,
    kind,
    status,
    attempt,
    revision,
    childId,
    input: json(write.input),
    output: json(write.output),
    error: json(write.error),
    startedAt: date(write.started_at),
    finishedAt: date(write.finished_at),
  };
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
  carriedBytes: 0,
  unsaved: undefined,
});

const BASE_APPROVAL_COLUMNS = `id, organization_id, project_id, agent_id, run_id, step_number, status, question, assignee,
  expires_at, created_at, decided_at, decided_by_kind, decided_by_id, comment`;
export const APPROVAL_COLUMNS = `${BASE_APPROVAL_COLUMNS}, ${payloadColumn("context")}, ${payloadColumn("form")}, ${payloadColumn("answer")}`;
export const WHOLE_APPROVAL_COLUMNS = `${BASE_APPROVAL_COLUMNS}, context, form, answer`;

const baseApprovalFromRow = (row: Row): Omit<Approval, "context" | "form" | "answer"> => ({
  id: row["id"],
  organizationId: row["organization_id"],
  projectId: row["project_id"],
  agentId: row["agent_id"],
  runId: row["run_id"],
  stepNumber: row["step_number"],
  status: row["status"],
  question: row["question"],
  assignee: row["assignee"],
  expiresAt: row["expires_at"],
  createdAt: row["created_at"],
  decidedAt: row["decided_at"],
  decidedBy: row["decided_by_kind"] && { kind: row["decided_by_kind"], id: row["decided_by_id"] },
  comment: row["comment"],
});

export const approvalFromRow = (row: Row): Approval => ({
  ...baseApprovalFromRow(row),
  context: payloadFromRow(row, "context"),
  form: payloadFromRow(row, "form"),
  answer: payloadFromRow(row, "answer"),
});

export const wholeApprovalFromRow = (row: Row): WholeApproval => ({
  ...baseApprovalFromRow(row),
  context: row["context"] as Json,
  form: row["form"] as JsonObject | null,
  answer: row["answer"] as Json,
});
