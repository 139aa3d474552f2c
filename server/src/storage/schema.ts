/** The tables as Kysely sees them; the migrations are the truth. `json` columns are text on the way in, values on the way out. */
import type { ColumnType, Generated } from "kysely";
import type {
  AgentId,
  ApiKeyId,
  ApprovalId,
  InstanceId,
  OrganizationId,
  ProjectId,
  RunId,
  SessionId,
  UserId,
} from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";

/** Read as a Date, written as a Date. Set by the program's clock, never by `now()`. */
type Time = Date;
/** `JSON.stringify` it yourself on the way in: node-postgres would make an array of a JSON list. */
type JsonColumn = ColumnType<Json, string, string>;
type JsonOrNull = ColumnType<Json | null, string | null, string | null>;

export type Plan = "free" | "starter" | "pro" | "enterprise";
export type Role = "owner" | "admin" | "editor" | "runner" | "viewer";
export type AgentStatus = "draft" | "active" | "paused" | "archived";
export type RunStatus = "pending" | "running" | "paused" | "completed" | "failed" | "cancelled";
export type StepStatus = "pending" | "running" | "paused" | "completed" | "failed" | "skipped" | "cancelled";
export type ApprovalStatus = "open" | "approved" | "rejected" | "expired" | "withdrawn";
export type StarterKind = "user" | "key" | "trigger" | "run";

export interface Tables {
  settings: { name: string; value: JsonColumn };
  organizations: { id: OrganizationId; name: string; plan: Plan; requests_per_minute: number | null; created_at: Time };
  users: {
    id: UserId;
    email: string;
    name: string;
    password_hash: string;
    last_organization_id: OrganizationId | null;
    created_at: Time;
  };
  known_addresses: { user_id: UserId; mark: Buffer; seen_at: Time };
  members: { organization_id: OrganizationId; user_id: UserId; role: Role; created_at: Time };
  sessions: {
    organization_id: OrganizationId;
    id: SessionId;
    user_id: UserId;
    client: "api" | "ui";
    generation: number;
    secret_hash: Buffer;
    created_at: Time;
    refreshed_at: Time;
    expires_at: Time;
    revoked_at: Time | null;
  };
  api_keys: {
    organization_id: OrganizationId;
    id: ApiKeyId;
    user_id: UserId;
    name: string;
    hint: string;
    secret_hash: Buffer;
    scopes: string[];
    created_at: Time;
    expires_at: Time | null;
    revoked_at: Time | null;
    last_used_at: Time | null;
  };
  projects: { organization_id: OrganizationId; id: ProjectId; handle: string; name: string; created_at: Time };
  agents: {
    organization_id: OrganizationId;
    id: AgentId;
    project_id: ProjectId;
    handle: string;
    name: string;
    description: string | null;
    status: AgentStatus;
    published_version: string | null;
    /** Of the agent's runs that may have begun and not ended. */
    concurrency_limit: number | null;
    /** The definition that is being worked on. */
    draft: string | null;
    /** What the draft says its version is; null when it says none that could be published. */
    draft_version: string | null;
    created_at: Time;
    updated_at: Time;
  };
  agent_versions: {
    organization_id: OrganizationId;
    agent_id: AgentId;
    version: string;
    source: string;
    created_by: UserId | null;
    created_at: Time;
  };
  idempotency_keys: {
    organization_id: OrganizationId;
    agent_id: AgentId;
    key: string;
    body_hash: Buffer;
    run_id: RunId;
    created_at: Time;
  };
  runs: {
    id: RunId;
    organization_id: OrganizationId;
    project_id: ProjectId;
    agent_id: AgentId;
    version: string;
    status: RunStatus;
    started_by_kind: StarterKind;
    started_by_id: string;
    input: JsonColumn;
    output: JsonOrNull;
    error: JsonOrNull;
    state: JsonOrNull;
    created_at: Time;
    started_at: Time | null;
    finished_at: Time | null;
    cancelled_at: Time | null;
    revision: number;
    current_step: number | null;
    progress: number;
    epoch: number;
    owner: InstanceId | null;
    wake_at: Time | null;
    wake_seq: number;
    blamed: Generated<number>;
    run_at: Time | null;
    parent_run_id: RunId | null;
    parent_awaits: boolean | null;
    retry_of: RunId | null;
    /** The agent has a limit of concurrent runs. */
    limited: Generated<boolean>;
    held_bytes: Generated<number>;
  };
  steps: {
    run_id: RunId;
    number: number;
    organization_id: OrganizationId;
    key: string;
    name: string;
    kind: string;
    status: StepStatus;
    round: string;
    attempt: number;
    state: JsonOrNull;
    input: JsonOrNull;
    output: JsonOrNull;
    error: JsonOrNull;
    started_at: Time | null;
    finished_at: Time | null;
    revision: number;
  };
  attempts: {
    run_id: RunId;
    number: number;
    attempt: number;
    organization_id: OrganizationId;
    status: StepStatus;
    error: JsonOrNull;
    started_at: Time;
    finished_at: Time;
  };
  approvals: {
    organization_id: OrganizationId;
    id: ApprovalId;
    project_id: ProjectId;
    agent_id: AgentId;
    run_id: RunId;
    step_number: number;
    status: ApprovalStatus;
    question: string;
    context: JsonOrNull;
    assignee: string | null;
    form: JsonOrNull;
    expires_at: Time | null;
    created_at: Time;
    decided_at: Time | null;
    decided_by_kind: "user" | "key" | null;
    decided_by_id: string | null;
    comment: string | null;
    answer: JsonOrNull;
  };
  instances: { id: InstanceId; started_at: Time; heartbeat_at: Time };
  executor: {
    singleton: boolean;
    instance_id: InstanceId;
    backend_pid: number;
    heartbeat_at: Time;
    stopped_cleanly: boolean;
    unclean_stops: number;
    /** Up to then the relatives of every ended run were told; null: never yet. */
    mended_at: Time | null;
    /** The run that is advanced alone, to see whether the process outlives it. */
    suspect: RunId | null;
  };
}
