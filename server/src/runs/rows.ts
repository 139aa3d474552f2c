/** Rows of the hot path on their way to the database, named as the columns are. Times are ms, payloads JSON text. */
import type { AgentId, ApprovalId, InstanceId, OrganizationId, ProjectId, RunId } from "../lib/ids.ts";
import type { ApprovalStatus, RunStatus, StarterKind, StepStatus } from "../storage/schema.ts";

export type StartRow = {
  id: RunId;
  organization_id: OrganizationId;
  project_id: ProjectId;
  agent_id: AgentId;
  version: string;
  status: RunStatus;
  started_by_kind: StarterKind;
  started_by_id: string;
  input: string;
  output: string | null;
  error: string | null;
  state: string | null;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
  revision: number;
  current_step: number | null;
  progress: number;
  epoch: number;
  owner: InstanceId | null;
  wake_at: number | null;
  wake_seq: number;
  run_at: number | null;
  parent_run_id: RunId | null;
  parent_awaits: boolean | null;
  retry_of: RunId | null;
  limited: boolean;
  /** About what the run takes in memory, with the rows of all its steps. */
  held_bytes: number;
  /** The idempotency key and the SHA-256 (hex) of the body that it stands for. */
  key: string | null;
  body_hash: string | null;
};

export type UpdateRow = {
  id: RunId;
  /** The fence: written only while the run has this epoch. */
  epoch: number;
  from_status: RunStatus;
  status: RunStatus;
  output: string | null;
  error: string | null;
  /** Null leaves it as it is. */
  state: string | null;
  now: number;
  started_at: number | null;
  finished_at: number | null;
  revision: number;
  current_step: number | null;
  progress: number;
  /** A step was reached or ended; another attempt of the same one is no move. */
  moved: boolean;
  /** Gives the claim back, due at `wake_at`; at once when somebody woke the run since `wake_seq` was read. */
  release: boolean;
  wake_at: number | null;
  wake_seq: number;
  /** Written only if nobody woke the run since: it closes an approval that may just have been decided. */
  exact: boolean;
  held_bytes: number;
};

export type StepWrite = {
  run_id: RunId;
  number: number;
  organization_id: OrganizationId;
  key: string;
  name: string;
  kind: string;
  status: StepStatus;
  round: string;
  attempt: number;
  state: string | null;
  input: string | null;
  output: string | null;
  error: string | null;
  started_at: number | null;
  finished_at: number | null;
  revision: number;
};

export type AttemptRow = {
  run_id: RunId;
  number: number;
  attempt: number;
  organization_id: OrganizationId;
  status: StepStatus;
  error: string | null;
  started_at: number;
  finished_at: number;
};

export type ApprovalRow = {
  organization_id: OrganizationId;
  id: ApprovalId;
  project_id: ProjectId;
  agent_id: AgentId;
  run_id: RunId;
  step_number: number;
  status: ApprovalStatus;
  question: string;
  context: string | null;
  assignee: string | null;
  form: string | null;
  expires_at: number | null;
  created_at: number;
};

export type ApprovalChange = {
  run_id: RunId;
  organization_id: OrganizationId;
  id: ApprovalId;
  status: ApprovalStatus;
  decided_at: number;
};
