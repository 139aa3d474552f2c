/** Runs, steps, attempts and approvals as every edge sees them. Times are Dates, ids are UUIDs. */
import type { ErrorFields } from "../../definition/workflow-error.ts";
import type { Actor, ActorKind } from "../../lib/actor.ts";
import type { AgentId, ApprovalId, IdRange, OrganizationId, ProjectId, RunId, UserId } from "../../lib/ids.ts";
import type { Reach } from "../../lib/reach.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import type { Payload } from "../../lib/json/json-text.ts";
import type { ApprovalStatus, RunStatus, StepStatus } from "../../storage/schema.ts";

/** An endpoint's answer to an attempt; `body` is cut, and null if it is not text. */
export type HttpResponse = { status: number; body: string | null };

/** The error a run failed with, and the number of the step that raised it. */
export type RunError = ErrorFields & { stepNumber: number | null };

export type Run = {
  id: RunId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  agentId: AgentId;
  version: string;
  status: RunStatus;
  startedBy: { kind: ActorKind; id: string };
  /** The run that started this one, and whether it waits for it. */
  parent: { runId: RunId; awaits: boolean } | null;
  /** The run that it retries. */
  retryOf: RunId | null;
  /** The requested start time, if any. */
  runAt: Date | null;
  input: Payload;
  output: Payload | null;
  /** A `RunError`. */
  error: Payload | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  cancelledAt: Date | null;
  /** Counts the committed changes of the run and its steps. */
  revision: number;
  currentStep: number | null;
  /** 0 to 100; never falls; 100 only when completed. */
  progress: number;
};

/** A run with its payloads, for runs that continue from it. */
export type WholeRun = Omit<Run, "input" | "output" | "error"> & {
  input: JsonObject;
  output: Json;
  error: RunError | null;
};

export type Step = {
  runId: RunId;
  organizationId: OrganizationId;
  /** From 1, in the order of being reached. */
  number: number;
  /** The step that encloses it; null: none. */
  parentNumber: number | null;
  /** The task's path of enclosing scopes, each `name#visit`: unique within the run. */
  key: string;
  name: string;
  kind: string;
  status: StepStatus;
  attempt: number;
  startedAt: Date | null;
  finishedAt: Date | null;
  input: Payload | null;
  output: Payload | null;
  /** A `RunError`. */
  error: Payload | null;
  /** An `HttpResponse`: what an endpoint answered to the newest attempt. */
  response: Payload | null;
  /** A text: what a script has written with `console.log`. */
  log: Payload | null;
  /** For a `try`: the error that its `catch` caught, a `RunError`, and when. The last attempt failed with it. */
  caught: Payload | null;
  caughtAt: Date | null;
  /** For a `try` whose only task, a call, runs in its step: JSON pointer to the call. */
  call: string | null;
  /** Its newest attempt, `attempt`: when it began, if not together with the step; or that it has not begun yet. */
  attemptStartedAt: Date | null;
  isBetweenTries: boolean;
  revision: number;
  /** The run that it starts; it may not exist yet, or never will if starting it failed. */
  childId: RunId | null;
  /** The approval that it asks for. */
  approvalId: ApprovalId | null;
};

export type Attempt = {
  step: Pick<Step, "runId" | "number">;
  number: number;
  status: StepStatus;
  /** A `RunError`, and the row and column in which it is. */
  error: Payload | null;
  errorIn: "attempt" | "step" | "caught";
  /** An `HttpResponse`, and the row in which it is. */
  response: Payload | null;
  responseIn: "attempt" | "step";
  startedAt: Date | null;
  finishedAt: Date | null;
};

/** The decision of one of those who are asked. */
export type GivenDecision = {
  by: Actor;
  decision: "approve" | "reject";
  comment: string | null;
  at: Date;
  /** By an owner or an admin, in place of those who are named. */
  isOverride: boolean;
};

/** Somebody passed it on; the service itself: it was escalated. */
export type Reassignment = {
  by: Actor;
  at: Date;
  /** The assignees before; empty: anyone. */
  from: readonly string[];
  to: readonly string[];
  comment: string | null;
  /** By an owner or an admin whom nobody had asked. */
  isOverride: boolean;
};

export type Approval = {
  id: ApprovalId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  agentId: AgentId;
  runId: RunId;
  stepNumber: number;
  status: ApprovalStatus;
  question: string;
  context: Payload | null;
  /** As the author wrote it: one of `assignees`, or a note that binds nobody. */
  assignee: string | null;
  /** E-mails in lower case and roles as `role:editor`; null: anyone with the scope. */
  assignees: readonly string[] | null;
  /** Users who may not decide: those who started what is asked about. */
  excluded: readonly UserId[] | null;
  /** How many have to approve. */
  quorum: number;
  /** In their order. */
  decisions: readonly GivenDecision[];
  /** By when a decision is wanted: its reminder, its escalation or its expiry, whichever comes first. */
  dueAt: Date | null;
  escalatedAt: Date | null;
  remindedAt: Date | null;
  /** In their order. */
  reassignments: readonly Reassignment[];
  /** Whether those who may decide are mailed. */
  notifies: boolean;
  /** A JSON schema, or a tool call (tool-call.ts). */
  form: Payload | null;
  expiresAt: Date | null;
  createdAt: Date;
  decidedAt: Date | null;
  decidedBy: Actor | null;
  comment: string | null;
  answer: Payload | null;
};

/** An approval with its payloads. */
export type WholeApproval = Omit<Approval, "context" | "form" | "answer"> & {
  context: Json;
  form: JsonObject | null;
  answer: Json;
};

/** The maximum of GraphQL's Int: a wait of more than 24 days is shown as this. */
const LONGEST_SHOWN_MS = 2 ** 31 - 1;

/** In ms: null before the start, the time so far while it runs. */
export function stepDuration(step: Pick<Step, "startedAt" | "finishedAt">, nowMs: number): number | null {
  if (!step.startedAt) return null;
  const ms = (step.finishedAt?.getTime() ?? nowMs) - step.startedAt.getTime();
  return Math.min(LONGEST_SHOWN_MS, Math.max(0, ms));
}

/** Which runs a list or a bulk operation covers: those that match every given field. Of a list, any value; of an empty one, none. */
export type RunFilter = {
  projectId?: readonly ProjectId[];
  agentId?: readonly AgentId[];
  /** Children of this run. */
  parentId?: RunId;
  /** Besides all others. */
  among?: Reach;
  status?: readonly RunStatus[];
  starterKind?: readonly ActorKind[];
  /** Ids of users, keys and runs alike. */
  starterId?: readonly string[];
  /** Inclusive. */
  createdFrom?: Date;
  /** Exclusive. */
  createdBefore?: Date;
  idPrefix?: IdRange;
};
