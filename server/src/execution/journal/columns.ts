/**
 * Every column of the journal's own parts, once: its name, its type, and what reads and writes it. Fields of rows for the database
 * have the columns' names; times are ms, payloads JSON text. A new column is one more line here, and the compiler then
 * asks for its value where rows are made (make-rows.ts).
 */
import type { ActorKind } from "../../lib/actor.ts";
import type {
  AgentId,
  ApprovalId,
  EventId,
  InstanceId,
  ModelConnectionId,
  OrganizationId,
  ProjectId,
  RunId,
} from "../../lib/ids.ts";
import type { ApprovalStatus, RunStatus, StepStatus } from "../../storage/schema.ts";
import { bool, hex, int4, json, ms, nullable, text, uuid, type RowOf } from "../../storage/unnest.ts";

/** Columns of a run that all its readers get. */
export const RUN_SHOWN = {
  id: uuid<RunId>(),
  organization_id: uuid<OrganizationId>(),
  project_id: uuid<ProjectId>(),
  agent_id: uuid<AgentId>(),
  version: text(),
  status: text<RunStatus>(),
  started_by_kind: text<ActorKind>(),
  started_by_id: uuid<string>(),
  created_at: ms(),
  started_at: nullable(ms()),
  finished_at: nullable(ms()),
  cancelled_at: nullable(ms()),
  revision: int4(),
  current_step: nullable(int4()),
  progress: int4(),
  run_at: nullable(ms()),
  parent_run_id: nullable(uuid<RunId>()),
  parent_awaits: nullable(bool()),
  retry_of: nullable(uuid<RunId>()),
};

export const RUN_PAYLOADS = { input: json(), output: nullable(json()), error: nullable(json()) };

/** Further columns of a run, for the process that advances it. */
export const RUN_ADVANCED = {
  state: nullable(json()),
  epoch: int4(),
  wake_seq: int4(),
  limited: bool(),
  /** About what the run takes in memory, with the rows of all its steps. */
  held_bytes: int4(),
};

const { cancelled_at: _written, ...SHOWN_AT_START } = RUN_SHOWN;

/** A run's first row. */
export const START = {
  ...SHOWN_AT_START,
  ...RUN_PAYLOADS,
  ...RUN_ADVANCED,
  owner: nullable(uuid<InstanceId>()),
  wake_at: nullable(ms()),
  /** Waits until the run that its trigger started before has ended; it is `limited` too. */
  queued: bool(),
};

export const UPDATE = {
  id: RUN_SHOWN.id,
  /** The fence: written only while the run has this epoch. */
  epoch: RUN_ADVANCED.epoch,
  from_status: text<RunStatus>(),
  status: RUN_SHOWN.status,
  output: RUN_PAYLOADS.output,
  error: RUN_PAYLOADS.error,
  /** Null leaves it as it is. */
  state: RUN_ADVANCED.state,
  now: ms(),
  started_at: RUN_SHOWN.started_at,
  finished_at: RUN_SHOWN.finished_at,
  revision: RUN_SHOWN.revision,
  current_step: RUN_SHOWN.current_step,
  progress: RUN_SHOWN.progress,
  /** A step was reached or ended; another attempt of the same step is no progress. */
  moved: bool(),
  /** Releases the claim; due at `wake_at`, or at once if somebody woke the run since `wake_seq` was read. */
  release: bool(),
  wake_at: START.wake_at,
  wake_seq: RUN_ADVANCED.wake_seq,
  /** Written only if nobody woke the run since: it closes an approval that may just have been decided. */
  exact: bool(),
  held_bytes: RUN_ADVANCED.held_bytes,
};

/** Columns of a step that all its readers get. */
export const STEP_SHOWN = {
  run_id: uuid<RunId>(),
  number: int4(),
  organization_id: uuid<OrganizationId>(),
  parent_number: nullable(int4()),
  key: text(),
  name: text(),
  kind: text(),
  status: text<StepStatus>(),
  attempt: int4(),
  started_at: nullable(ms()),
  finished_at: nullable(ms()),
  revision: int4(),
};

export const STEP_PAYLOADS = {
  input: nullable(json()),
  output: nullable(json()),
  error: nullable(json()),
  /** An HTTP endpoint's answer to the newest attempt. */
  response: nullable(json()),
};

export const STEP = { ...STEP_SHOWN, round: text(), state: nullable(json()), ...STEP_PAYLOADS };

export const ATTEMPT = {
  run_id: uuid<RunId>(),
  number: int4(),
  attempt: int4(),
  organization_id: uuid<OrganizationId>(),
  status: text<StepStatus>(),
  error: nullable(json()),
  response: nullable(json()),
  started_at: ms(),
  finished_at: ms(),
};

/** Columns of an approval: the question, which everybody reads. */
const APPROVAL_ASKED = {
  organization_id: uuid<OrganizationId>(),
  id: uuid<ApprovalId>(),
  project_id: uuid<ProjectId>(),
  agent_id: uuid<AgentId>(),
  run_id: uuid<RunId>(),
  step_number: int4(),
  status: text<ApprovalStatus>(),
  question: text(),
  assignee: nullable(text()),
  expires_at: nullable(ms()),
  created_at: ms(),
};

export const APPROVAL_SHOWN = {
  ...APPROVAL_ASKED,
  decided_at: nullable(ms()),
  decided_by_kind: nullable(text<ActorKind>()),
  decided_by_id: nullable(uuid<string>()),
  comment: nullable(text()),
  /** Who may decide (run/assignment.ts); null: anyone with the scope. */
  assignees: nullable(json()),
  /** Users who may not. */
  excluded: nullable(json()),
  /** How many have to approve. */
  quorum: int4(),
  /** The decisions of people and keys so far, in their order. */
  decisions: nullable(json()),
  due_at: nullable(ms()),
  escalated_at: nullable(ms()),
  /** Those who passed it on, in their order. */
  reassignments: nullable(json()),
  reminded_at: nullable(ms()),
  /** Whether those who may decide are mailed. */
  notify: bool(),
};

export const APPROVAL_PAYLOADS = { context: nullable(json()), form: nullable(json()), answer: nullable(json()) };

/** A new one, or one that a retried run keeps. */
export const APPROVAL = { ...APPROVAL_SHOWN, ...APPROVAL_PAYLOADS };

export const APPROVAL_CHANGE = {
  run_id: uuid<RunId>(),
  organization_id: uuid<OrganizationId>(),
  id: uuid<ApprovalId>(),
  status: text<ApprovalStatus>(),
  decided_at: ms(),
};

/** A filter of a step that listens to events. */
export const LISTENER = {
  organization_id: uuid<OrganizationId>(),
  run_id: uuid<RunId>(),
  step_number: int4(),
  place: int4(),
  project_id: uuid<ProjectId>(),
  agent_id: uuid<AgentId>(),
  key: hex(),
};

/** The step listens no longer. */
export const UNLISTENED = { organization_id: uuid<OrganizationId>(), run_id: uuid<RunId>(), step_number: int4() };

/** The step has looked at this event. */
export const UNHEARD = { ...UNLISTENED, event_id: uuid<EventId>() };

/** A call of a model that was answered. */
export const MODEL_CALL = {
  run_id: uuid<RunId>(),
  organization_id: uuid<OrganizationId>(),
  id: uuid<string>(),
  step_number: int4(),
  agent_id: uuid<AgentId>(),
  project_id: uuid<ProjectId>(),
  /** Null: the server's own. */
  connection_id: nullable(uuid<ModelConnectionId>()),
  connection: text(),
  model: text(),
  called_at: ms(),
  input_tokens: int4(),
  output_tokens: int4(),
  cached_input_tokens: int4(),
  /** A decimal number. */
  cost: nullable(text()),
  currency: nullable(text()),
};

export type StartRow = RowOf<typeof START>;
export type UpdateRow = RowOf<typeof UPDATE>;
export type StepRow = RowOf<typeof STEP>;
export type AttemptRow = RowOf<typeof ATTEMPT>;
export type ApprovalRow = RowOf<typeof APPROVAL>;
export type ApprovalChange = RowOf<typeof APPROVAL_CHANGE>;
export type ListenerRow = RowOf<typeof LISTENER>;
export type UnlistenedRow = RowOf<typeof UNLISTENED>;
export type UnheardRow = RowOf<typeof UNHEARD>;
export type ModelCallRow = RowOf<typeof MODEL_CALL>;
