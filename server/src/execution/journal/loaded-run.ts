/** A run and its steps in memory: their rows, with the state that the interpreter must find again. Times are ms. */
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { ApprovalId, Id, RunId } from "../../lib/ids.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import type { StepStatus } from "../../storage/schema.ts";
import type { LimitName } from "../../definition/tasks/assistant.ts";
import type { Tool } from "../../llm/call-model.ts";
import type { StepRow } from "./columns.ts";
import type { HttpResponse, Run, RunError, WholeRun } from "../run/run.ts";

/** The run's own row while it is in memory. Times are ms. */
export type Head = Omit<WholeRun, "createdAt" | "startedAt" | "finishedAt" | "cancelledAt" | "runAt"> & {
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  runAt: number | null;
  /** The agent has a limit on concurrent runs. */
  limited: boolean;
  /** `$context`, and other state that the run must find again unchanged. */
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
  /** How many runs are between this one and the person or trigger that started the first. */
  depth?: number;
};

/** A step's row in memory. `round` says in which try of each enclosing `try` it was reached. Times are ms. */
export type JournalStep = {
  number: number;
  parentNumber: number | null;
  key: string;
  name: string;
  kind: string;
  status: StepStatus;
  round: string;
  attempt: number;
  /** The task's own state, to be found again: a wait's end, a loop's items, the try it is in, the directive it chose. */
  state: StepState;
  input: Json | undefined;
  output: Json | undefined;
  error: RunError | null;
  /** An HTTP endpoint's answer to this attempt. */
  response: HttpResponse | null;
  startedAt: number;
  finishedAt: number | null;
  revision: number;
  /** About what its row weighs in the database, and takes in memory. */
  bytes: number;
  heldBytes: number;
  /** About how much memory it has received or made that its row does not count yet. */
  carriedBytes: number;
  /** A call's answer that no row has: it is written before the run is unloaded. */
  unsaved: Json | undefined;
  /** The output as JSON, made when measured and kept until the next commit. */
  outputText: string | undefined;
};
/** `filter`: its place among the task's. */
export type TakenEvent = { id: string; filter: number; value?: Json; output?: Json; isDone?: true };
export type Listening = {
  /** Ends the wait. */
  id: Id<"event">;
  /** The values of each filter that were known when the step began to listen. */
  values: JsonObject[];
  /** All that was published before has been looked at. */
  hasLookedBack?: true;
  /** Until then, ms, something may appear that was written before the step listened. */
  looksUntil: number;
  taken: TakenEvent[];
  /** Those that end it (`until`). */
  ended: TakenEvent[];
  /** The values that the first events gave for correlations that say not what to expect. */
  expected?: JsonObject;
  /** The size of the values and outputs in `taken`, as JSON. */
  bytes: number;
  isOver?: true;
  /** Kept by a retried run, which is not known to listen yet. */
  isKept?: true;
};

/** `count`: of answers. */
export type UnusedAnswers = { count: number; tokens: number; cost: number; currency: string | null };

/** An agent by the handles of its project and its own. */
export type ChildAgent = { namespace: string; name: string };

export type StepState = {
  /** The directive followed, if not the task's own. */
  then?: string;
  /** A timeout's end, ms. */
  deadline?: number;
  /** The effect with this step's input may have begun. Set to undefined afterwards: an object that lost a field is slow to use and to write. */
  sent?: boolean | undefined;
  /** Not before this time, ms: it was put off before anything was done. */
  postponedUntil?: number | undefined;
  /** A model's answer that does not fit, and why: it is asked once more. */
  unfit?: { text: string; problem: string } | undefined;
  /** The effect's result, as JSON text: there was no memory to continue with it. */
  answer?: string;
  /** A wait's or a retry delay's end, ms. */
  until?: number;
  /** A `listen`: what it asks for, and what it has taken. */
  listening?: Listening;
  /** The events that a step which has listened took: no later one takes them again. */
  taken?: string[];
  approvalId?: ApprovalId;
  /** When those who are asked are reminded, ms. Undefined afterwards. */
  remindAt?: number | undefined;
  /** Who is asked as well, and when, ms. Undefined afterwards. */
  escalate?: { at: number; assignees: string[] } | undefined;
  /** The run that this step started, and whether it still waits for that run's end. */
  childId?: RunId;
  /** The agent to start, if expressions name it. */
  child?: ChildAgent;
  awaits?: boolean;
  items?: Json[];
  /** The current try, from 1; when the first one began. */
  try?: number;
  firstTryAt?: number;
  /** The lines that a script has written with `console.log`. */
  log?: string;
  /** When the current attempt began, if not together with the step. */
  tryStartedAt?: number;
  /** The try from which the retry policy counts, if not the first: in a run that retries another. */
  firstTry?: number;
  /** The error that was caught, and when: it ended the last try. `catch.do` is handling it, or has. */
  caught?: RunError;
  caughtAt?: number;
  /** For a `try` that runs its only task, a call, in its own step: JSON pointer to the call. */
  call?: string;
  /** `$context` as this step exported it: a run that keeps the step begins with it. */
  context?: Json;
  /** An assistant's: the agents that are its tools, and the limit that ended its loop, after so many questions to the model. */
  assistant?: { forms?: Record<string, Tool>; ended?: { after: number; limit: string } };
  /** An assistant's: a hash of what it asks, and when a try first asked it, ms. Another try finds it again. */
  conversation?: { hash: string; since: number };
  /** For an assistant's own step: the limit that ended it. */
  reached?: LimitName;
  /** For an assistant's question for more: how many questions to the model came before. */
  after?: number;
  /** For an assistant's own step: the answer of the model that led to it. Before the first one, a hash of what is asked. */
  follows?: string;
  /** Answers of a model that were of no use: those of earlier tries, and that of this one. */
  unusedBefore?: UnusedAnswers;
  unused?: UnusedAnswers;
  /** A list of a server's tools, of which some are not as they were pinned: another try lists them again. */
  hasChangedTools?: true;
  /** The task's input after `input.from`, if `input` shows a call's arguments instead. */
  taskInput?: Json;
};

/** The rows of one commit: copies, because the run continues while others read them. */
export type Change = { head: Head; steps: readonly StepRow[]; approvals: readonly ApprovalId[] };

/** The run as the edges see it. */
export function runOf(head: Head): Run {
  const date = (time: number | null): Date | null => (time === null ? null : new Date(time));
  // Field by field: taking some out of a copy is a call into the runtime for each.
  return {
    id: head.id,
    organizationId: head.organizationId,
    projectId: head.projectId,
    agentId: head.agentId,
    version: head.version,
    status: head.status,
    startedBy: head.startedBy,
    parent: head.parent,
    retryOf: head.retryOf,
    runAt: date(head.runAt),
    input: JsonText.ofValue(head.input),
    output: head.output === null ? null : JsonText.ofValue(head.output),
    error: head.error && JsonText.ofValue(head.error),
    createdAt: new Date(head.createdAt),
    startedAt: date(head.startedAt),
    finishedAt: date(head.finishedAt),
    cancelledAt: null,
    revision: head.revision,
    currentStep: head.currentStep,
    progress: head.progress,
  };
}

export const asRunError = ({ fields, stepNumber }: WorkflowError): RunError => ({ ...fields, stepNumber });

/** As it was thrown. */
export function asThrown({ stepNumber, ...fields }: RunError): WorkflowError {
  return new WorkflowError(fields, { stepNumber });
}

/** The step is in the pause before its next try: that attempt has not begun. */
export const isBetweenTries = ({ try: number, until }: StepState): boolean =>
  number !== undefined && until !== undefined;
