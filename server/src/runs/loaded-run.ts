/** A run and its steps while they are in memory: their rows, with what the interpreter must find again. Times are ms. */
import type { ErrorFields, WorkflowError } from "../definition/workflow-error.ts";
import type { ApprovalId, RunId } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import { JsonText } from "../lib/json-text.ts";
import type { StepStatus } from "../storage/schema.ts";
import type { StepWrite } from "./rows.ts";
import type { Run, RunError, WholeRun } from "./run.ts";

/** The run's own row while it is in memory. Times are ms. */
export type Head = Omit<WholeRun, "createdAt" | "startedAt" | "finishedAt" | "cancelledAt" | "runAt"> & {
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  runAt: number | null;
  /** The agent has a limit of concurrent runs. */
  limited: boolean;
  /** `$context`, and what else the run must find again as it was. */
  state: RunState;
  epoch: number;
  wakeSeq: number;
};
export type RunState = {
  context?: Json;
  /** After the workflow's `input.from`. */
  input?: Json;
  /** The end of the workflow's timeout, ms. */
  deadline?: number;
  /** How many runs up this one was started by a person or a trigger. */
  depth?: number;
};

/** A step's row in memory. `round` says in which try of each enclosing `try` it was reached. Times are ms. */
export type JournalStep = {
  number: number;
  key: string;
  name: string;
  kind: string;
  status: StepStatus;
  round: string;
  attempt: number;
  /** What the task must find again: a wait's end, a loop's items, the try it is in, the directive it chose. */
  state: StepState;
  input: Json | undefined;
  output: Json | undefined;
  error: ErrorFields | null;
  startedAt: number;
  finishedAt: number | null;
  revision: number;
  /** What its row weighs in the database, and takes in memory, about. */
  bytes: number;
  heldBytes: number;
  /** What it has got or made that its row does not count yet takes in memory, about. */
  carriedBytes: number;
  /** What a call has brought and no row has: it is written down before the run is unloaded. */
  unsaved: Json | undefined;
};
export type StepState = {
  /** The directive that was followed, when it is not the task's own. */
  then?: string;
  /** A timeout's end, ms. */
  deadline?: number;
  /** The effect with this step's input may have begun. */
  sent?: boolean;
  /** What it has brought, as JSON text: there was no memory to go on with it. */
  answer?: string;
  /** A wait's or a retry delay's end, ms. */
  until?: number;
  approvalId?: ApprovalId;
  /** The run that this step has started, and whether it waits for it and has not seen its end. */
  childId?: RunId;
  awaits?: boolean;
  items?: Json[];
  /** The try that runs, from 1; when it began; the first one's beginning. */
  try?: number;
  tryStartedAt?: number;
  firstTryAt?: number;
  /** The try from which the retry policy counts, where that is not the first: in a run that tries another again. */
  firstTry?: number;
  /** The error that is being caught by `catch.do`. */
  caught?: ErrorFields;
  /** `$context` as this step has exported it: what a run that keeps the step begins with. */
  context?: Json;
  /** The task's input after `input.from`, where `input` shows a call's arguments instead. */
  taskInput?: Json;
};

/** What one commit wrote: copies, because the run goes on while others read them. */
export type Change = { head: Head; steps: readonly StepWrite[]; approvals: readonly ApprovalId[] };

/** The run as the edges see it. */
export function runOf(head: Head): Run {
  const date = (time: number | null): Date | null => (time === null ? null : new Date(time));
  const { state: _state, epoch: _epoch, wakeSeq: _wakeSeq, limited: _limited, ...run } = head;
  return {
    ...run,
    input: JsonText.ofValue(run.input),
    output: run.output === null ? null : JsonText.ofValue(run.output),
    error: run.error && JsonText.ofValue(run.error),
    createdAt: new Date(run.createdAt),
    startedAt: date(run.startedAt),
    finishedAt: date(run.finishedAt),
    runAt: date(run.runAt),
    cancelledAt: null,
  };
}

export const asRunError = (error: WorkflowError, step: number | null): RunError => ({ ...error.fields, step });
