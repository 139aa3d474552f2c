/** Turns PostgreSQL's rows into the types of `run.ts` and of the journal. */
import { KINDS, kindsThatWaitFor, type KindName } from "../../definition/tasks/kinds.ts";
import type { ActorKind } from "../../lib/actor.ts";
import { parseStored, type Json, type JsonObject } from "../../lib/json/json.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import type { Row } from "../../storage/database.ts";
import { isBetweenTries, type Head, type JournalStep, type RunState, type StepState } from "./loaded-run.ts";
import {
  APPROVAL_PAYLOADS,
  APPROVAL_SHOWN,
  RUN_PAYLOADS,
  RUN_SHOWN,
  STEP_PAYLOADS,
  STEP_SHOWN,
  type StepRow,
} from "./columns.ts";
import type {
  Approval,
  GivenDecision,
  HttpResponse,
  Reassignment,
  Run,
  RunError,
  Step,
  WholeApproval,
  WholeRun,
} from "../run/run.ts";
import { payloadColumn, payloadFromRow } from "../../storage/payloads.ts";

type Columns = Record<string, unknown>;

const listOf = (...columns: Columns[]): string => columns.flatMap((each) => Object.keys(each)).join(", ");

/** With its payloads, as a list reads them. */
const withPayloads = (shown: Columns, payloads: Columns): string =>
  [listOf(shown), ...Object.keys(payloads).map((name) => payloadColumn(name))].join(", ");

/** The columns of a list of runs. */
export const RUN_COLUMNS = withPayloads(RUN_SHOWN, RUN_PAYLOADS);
export const WHOLE_RUN_COLUMNS = listOf(RUN_SHOWN, RUN_PAYLOADS);

const baseFromRow = (row: Row): Omit<Run, "cancelledAt" | "input" | "output" | "error"> => ({
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
  revision: row["revision"],
  currentStep: row["current_step"],
  progress: row["progress"],
  runAt: row["run_at"],
  parent: row["parent_run_id"] && { runId: row["parent_run_id"], awaits: row["parent_awaits"] },
  retryOf: row["retry_of"],
});

export const runFromRow = (row: Row): Run => ({
  ...baseFromRow(row),
  cancelledAt: row["cancelled_at"],
  input: payloadFromRow(row, "input")!,
  output: payloadFromRow(row, "output"),
  error: payloadFromRow(row, "error"),
});

export const wholeRunFromRow = (row: Row): WholeRun => ({
  ...baseFromRow(row),
  cancelledAt: row["cancelled_at"],
  input: row["input"] as JsonObject,
  output: row["output"] as Json,
  error: row["error"] as RunError | null,
});

const ms = (date: Date | null): number | null => date && date.getTime();

export const headFromRow = (row: Row): Head => ({
  ...baseFromRow(row),
  createdAt: (row["created_at"] as Date).getTime(),
  startedAt: ms(row["started_at"]),
  finishedAt: ms(row["finished_at"]),
  runAt: ms(row["run_at"]),
  input: row["input"] as JsonObject,
  output: row["output"] as Json,
  error: row["error"] as RunError | null,
  limited: row["limited"],
  state: (row["state"] as RunState | null) ?? {},
  epoch: row["epoch"],
  wakeSeq: row["wake_seq"],
});

/** The kinds of an assistant's own steps: a question to the model, and a tool call, which may start a run. */
const OWN_CALL = "tool";
const OWN_EFFECTS = ["model", OWN_CALL];

/** Kinds of steps that are tried again, or attempted again after a crash: `try`, and the effects that run in its step. */
export const TRIED = new Set<string>([
  "try",
  ...OWN_EFFECTS,
  ...Object.keys(KINDS).filter((kind) => KINDS[kind as KindName].isEffect),
]);
const ASKS: ReadonlySet<string> = new Set(kindsThatWaitFor("person"));
const WRITES_LOG: ReadonlySet<string> = new Set<KindName>(["script"]);
const STARTS_CHILD: ReadonlySet<string> = new Set([...kindsThatWaitFor("child"), OWN_CALL]);

/** A condition of SQL. */
export const isOneOf = (kinds: Iterable<string>): string =>
  `kind in (${[...kinds].map((kind) => `'${kind}'`).join(", ")})`;
const ofKinds = (kinds: Iterable<string>, value: string): string => `case when ${isOneOf(kinds)} then ${value} end`;
const ofTried = (value: string): string => ofKinds(TRIED, value);

/** The call that a `try` around one call runs in its step. */
const CALL = `${ofTried("state ->> 'call'")} as call`;
export const STEP_NAME_COLUMNS = `name, ${CALL}`;

/** The run that a step started. */
export const CHILD_COLUMN = `${ofKinds(STARTS_CHILD, "state ->> 'childId'")} as child_id`;

/** The columns of a list of steps. */
export const STEP_COLUMNS = `${withPayloads(STEP_SHOWN, STEP_PAYLOADS)},
  ${CHILD_COLUMN},
  ${ofKinds(ASKS, "state ->> 'approvalId'")} as approval_id,
  ${payloadColumn("log", ofKinds(WRITES_LOG, "state -> 'log'"))},
  ${payloadColumn("caught", ofTried("state -> 'caught'"))},
  ${ofTried("(state ->> 'caughtAt')::double precision")} as caught_at,
  ${CALL},
  ${ofTried("(state ->> 'tryStartedAt')::double precision")} as attempt_started_at,
  ${ofTried("state ->> 'try' is not null and state ->> 'until' is not null")} as is_between_tries`;

const dateOf = (time: number | null | undefined): Date | null =>
  time === null || time === undefined ? null : new Date(time);

export const stepFromRow = (row: Row): Step => ({
  runId: row["run_id"],
  organizationId: row["organization_id"],
  number: row["number"],
  parentNumber: row["parent_number"],
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
  response: payloadFromRow(row, "response"),
  log: payloadFromRow(row, "log"),
  caught: payloadFromRow(row, "caught"),
  caughtAt: dateOf(row["caught_at"]),
  call: row["call"],
  attemptStartedAt: dateOf(row["attempt_started_at"]),
  isBetweenTries: row["is_between_tries"] ?? false,
  revision: row["revision"],
  childId: row["child_id"],
  approvalId: row["approval_id"],
});

/** The same from a row on its way to the database. */
export function stepFromWrite(write: StepRow): Step {
  const { run_id: runId, organization_id: organizationId, number, key, name, kind, status, attempt, revision } = write;
  const json = (text: string | null): JsonText | null => (text === null ? null : JsonText.ofText(text));
  // Others' states may be large: those of loops have their items in them.
  const isShown =
    write.state !== null && (STARTS_CHILD.has(kind) || ASKS.has(kind) || TRIED.has(kind) || WRITES_LOG.has(kind));
  const state = isShown ? (parseStored(write.state!) as unknown as StepState) : {};
  return {
    runId,
    organizationId,
    number,
    parentNumber: write.parent_number,
    key,
    name,
    kind,
    status,
    attempt,
    revision,
    childId: (STARTS_CHILD.has(kind) && state.childId) || null,
    approvalId: (ASKS.has(kind) && state.approvalId) || null,
    input: json(write.input),
    output: json(write.output),
    error: json(write.error),
    response: json(write.response),
    log: WRITES_LOG.has(kind) && state.log !== undefined ? JsonText.ofValue(state.log) : null,
    caught: state.caught ? JsonText.ofValue(state.caught) : null,
    caughtAt: dateOf(state.caughtAt),
    call: state.call ?? null,
    attemptStartedAt: dateOf(state.tryStartedAt),
    isBetweenTries: isBetweenTries(state),
    startedAt: dateOf(write.started_at),
    finishedAt: dateOf(write.finished_at),
  };
}

export const journalStepFromRow = (row: Row): JournalStep => ({
  number: row["number"],
  parentNumber: row["parent_number"],
  key: row["key"],
  name: row["name"],
  kind: row["kind"],
  status: row["status"],
  round: row["round"],
  attempt: row["attempt"],
  state: (row["state"] as StepState | null) ?? {},
  input: (row["input"] as Json | null) ?? undefined,
  // Null is an output, too: undefined means that it is in the row alone.
  output: row["status"] === "completed" ? (row["output"] as Json) : ((row["output"] as Json | null) ?? undefined),
  error: row["error"] as RunError | null,
  response: row["response"] as HttpResponse | null,
  startedAt: (row["started_at"] as Date).getTime(),
  finishedAt: ms(row["finished_at"]),
  revision: row["revision"],
  bytes: row["bytes"],
  heldBytes: 0,
  carriedBytes: 0,
  unsaved: undefined,
  outputText: undefined,
});

export const APPROVAL_COLUMNS = withPayloads(APPROVAL_SHOWN, APPROVAL_PAYLOADS);
export const WHOLE_APPROVAL_COLUMNS = listOf(APPROVAL_SHOWN, APPROVAL_PAYLOADS);

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
  assignees: row["assignees"],
  excluded: row["excluded"],
  quorum: row["quorum"],
  decisions: decisionsFromRow(row),
  dueAt: row["due_at"],
  escalatedAt: row["escalated_at"],
  remindedAt: row["reminded_at"],
  reassignments: reassignmentsFromRow(row),
  notifies: row["notify"],
});

/** A decision as the column has it. */
export type KeptDecision = Omit<GivenDecision, "by" | "at"> & { kind: ActorKind; id: string | null; at: string };

/** A reassignment as the column has it. */
export type KeptReassignment = Omit<Reassignment, "by" | "at"> & { kind: ActorKind; id: string | null; at: string };

function reassignmentsFromRow(row: Row): Reassignment[] {
  const kept = (row["reassignments"] as KeptReassignment[] | null) ?? [];
  return kept.map(({ kind, id, at, ...rest }) => ({ ...rest, by: { kind, id }, at: new Date(at) }));
}

/** A decision from before there was the column is in the approval's own columns. */
function decisionsFromRow(row: Row): GivenDecision[] {
  const kept = row["decisions"] as KeptDecision[] | null;
  if (kept)
    return kept.map(({ kind, id, decision, comment, at, isOverride }) => ({
      by: { kind, id },
      decision,
      comment,
      at: new Date(at),
      isOverride,
    }));
  if (!row["decided_by_kind"]) return [];
  const decision = row["status"] === "approved" ? "approve" : "reject";
  const by = { kind: row["decided_by_kind"], id: row["decided_by_id"] };
  return [{ by, decision, comment: row["comment"], at: row["decided_at"], isOverride: false }];
}

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
