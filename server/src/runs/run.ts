/** What a run, its steps, attempts and approvals are, as every edge sees them. Times are Dates, ids are UUIDs. */
import type { ErrorFields } from "../definition/workflow-error.ts";
import type { AgentId, ApprovalId, OrganizationId, ProjectId, RunId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import type { JsonText } from "../lib/json-text.ts";
import type { ApprovalStatus, RunStatus, StarterKind, StepStatus } from "../storage/schema.ts";

/** The error a run failed with, and the number of the step that raised it. */
export type RunError = ErrorFields & { step: number | null };

/** JSON of any size: here, or so many bytes in the database, to be read by `read-payloads.ts` when somebody asks. */
export type Payload = JsonText | { bytes: number };

export type Run = {
  id: RunId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  agentId: AgentId;
  version: string;
  status: RunStatus;
  startedBy: { kind: StarterKind; id: string };
  /** The run that started it, and whether that one waits for it. */
  parent: { runId: RunId; awaits: boolean } | null;
  /** The run that it tries again. */
  retryOf: RunId | null;
  /** When it is to begin, where that was asked for. */
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

/** A run with its payloads, as those need it who go on from it. */
export type WholeRun = Omit<Run, "input" | "output" | "error"> & {
  input: JsonObject;
  output: Json;
  error: RunError | null;
};

export type Step = {
  runId: RunId;
  organizationId: OrganizationId;
  /** From 1, in the order reached. */
  number: number;
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
  /** `ErrorFields`. */
  error: Payload | null;
  revision: number;
  /** The run that it starts; not there yet, or never, when starting it failed. */
  childId: RunId | null;
};

export type Attempt = {
  step: Pick<Step, "runId" | "number">;
  number: number;
  status: StepStatus;
  /** `ErrorFields`. */
  error: Payload | null;
  startedAt: Date | null;
  finishedAt: Date | null;
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
  assignee: string | null;
  /** A JSON schema. */
  form: Payload | null;
  expiresAt: Date | null;
  createdAt: Date;
  decidedAt: Date | null;
  decidedBy: { kind: "user" | "key"; id: string } | null;
  comment: string | null;
  answer: Payload | null;
};

/** An approval with its payloads. */
export type WholeApproval = Omit<Approval, "context" | "form" | "answer"> & {
  context: Json;
  form: JsonObject | null;
  answer: Json;
};

/** GraphQL's Int has no more: a wait of more than 24 days is shown as that. */
const LONGEST_SHOWN_MS = 2 ** 31 - 1;

/** In ms: null before the start, so far while it runs. */
export function stepDuration(step: Pick<Step, "startedAt" | "finishedAt">, nowMs: number): number | null {
  if (!step.startedAt) return null;
  const ms = (step.finishedAt?.getTime() ?? nowMs) - step.startedAt.getTime();
  return Math.min(LONGEST_SHOWN_MS, Math.max(0, ms));
}

/** Which runs a list or a bulk operation means: those that fit all that is given. */
export type RunFilter = {
  projectId?: ProjectId;
  agentId?: AgentId;
  /** Children of this run. */
  parentId?: RunId;
  status?: RunStatus[];
  startedBy?: { kind?: StarterKind; id?: string };
  /** Inclusive. */
  createdAfter?: Date;
  /** Exclusive. */
  createdBefore?: Date;
};
