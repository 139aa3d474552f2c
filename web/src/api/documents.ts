/** Written by `npm run schema` from the .graphql files beside the pages. */
import type { TypedDocumentNode } from "@urql/core";
import type { Json } from "../lib/json.ts";

/** urql takes the text itself, and these types with it. */
const typed = <Data, Variables extends Record<string, unknown>>(text: string) =>
  text as unknown as TypedDocumentNode<Data, Variables>;

/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
/** The status of a run. `completed`, `failed` and `cancelled` are final. */
export type RunStatus =
  /** Accepted, and not started yet. */
  | 'pending'
  /** Executing, or waiting for a set time or another run. */
  | 'running'
  /** Waiting for a person's approval. */
  | 'paused'
  /** Finished successfully. */
  | 'completed'
  /** Finished with an error. */
  | 'failed'
  /** Cancelled by a caller or by its parent run. */
  | 'cancelled';

/** The status of a step or of an attempt. */
export type StepStatus =
  /** Waiting for its turn. */
  | 'pending'
  /** Executing, or waiting for a set time or another run. */
  | 'running'
  /** Waiting for a person's approval. */
  | 'paused'
  /** Finished successfully. */
  | 'completed'
  /** Finished with an error. */
  | 'failed'
  /** Not executed, because its `if` was false. */
  | 'skipped'
  /** Cancelled together with its run, or because another branch ended first. */
  | 'cancelled';

/** What an actor is. New values may be added: a client must accept values that it does not know. */
export type ActorKind =
  /** A user. */
  | 'user'
  /** An API key. */
  | 'key'
  /** A trigger. */
  | 'trigger'
  /** A run. */
  | 'run'
  /** Somebody with a link, such as one in an e-mail. */
  | 'link'
  /** Autograph itself. */
  | 'system';

/** What a member of an organization may do. New values may be added: a client must accept values that it does not know. */
export type Role =
  /** Everything, including other owners. */
  | 'owner'
  /** Everything except making or changing owners. */
  | 'admin'
  /** Agents, runs and approvals, but not members, keys and the plan. */
  | 'editor'
  /** Starts and cancels runs, and decides approvals. */
  | 'runner'
  /** Reads agents and runs. */
  | 'viewer';

/** Whether an agent can be run. */
export type AgentStatus =
  /** Never published, so it cannot be run. */
  | 'draft'
  /** Can be run. */
  | 'active'
  /** Refuses new runs for now. Open runs continue. */
  | 'paused'
  /** Refuses new runs, and `agents` does not list it. Open runs continue. */
  | 'archived';

/** The status of an approval. All but `open` are final. */
export type ApprovalStatus =
  /** Waiting for a decision. */
  | 'open'
  /** Approved by somebody. */
  | 'approved'
  /** Rejected by somebody. */
  | 'rejected'
  /** Not decided in time. */
  | 'expired'
  /** Withdrawn, because the run ended before a decision. */
  | 'withdrawn';

/** Whether a trigger starts runs. */
export type TriggerStatus =
  /** Starts runs. */
  | 'active'
  /** Starts runs only on `fireTrigger` and `replayFiring`. */
  | 'paused';

/** What happens to a firing while the run that the trigger started before is still open. New values may be added: a client must accept values that it does not know. */
export type TriggerOverlap =
  /** Another run starts. */
  | 'allow'
  /** No run starts. */
  | 'skip'
  /** Another run starts, and stays `pending` until the previous one has ended. */
  | 'queue'
  /** The previous run is cancelled first. */
  | 'cancelPrevious';

/** What happens to a schedule's instants at which no server was running. New values may be added: a client must accept values that it does not know. */
export type MissedInstants =
  /** The latest one fires, unless it is older than `catchUpMinutes`. */
  | 'latest'
  /** Each of the latest 1000 missed instants fires. */
  | 'all'
  /** An instant that is more than 60 seconds late does not fire. */
  | 'none';

/** Which bodies a webhook takes. New values may be added: a client must accept values that it does not know. */
export type WebhookAccept =
  /** JSON. */
  | 'json'
  /** JSON, and forms (`application/x-www-form-urlencoded`), which become an object of strings. */
  | 'form';

/** The outcome of a firing. */
export type FiringOutcome =
  /** A run was started. */
  | 'started'
  /** No run was started, because of the trigger's policy. */
  | 'skipped'
  /** No run was started: see `code` and `message`. */
  | 'refused'
  /** The same delivery had already started a run. */
  | 'duplicate';

/** What starts runs. New values may be added: a client must accept values that it does not know. */
export type TriggerType =
  /** A schedule in a time zone. */
  | 'cron'
  /** A request to the trigger's URL. */
  | 'webhook'
  /** An event of a source. */
  | 'event';

/** The order of a list, by creation. */
export type SortDirection =
  /** Oldest first. */
  | 'asc'
  /** Newest first. */
  | 'desc';

/** A decision on an approval. */
export type Decision =
  /** The run continues, with the answer. */
  | 'approve'
  /** The step fails with `approval-rejected`, or continues with `approved: false` if the definition says so. */
  | 'reject';

/** The kind of control that a form shows for a field. New values may be added: a client must accept values that it does not know. */
export type InputFieldType =
  /** A string. */
  | 'text'
  /** One of `choices`. */
  | 'choice'
  /** A date such as 2026-11-21. */
  | 'date'
  /** True or false. */
  | 'boolean'
  /** Any number. */
  | 'number'
  /** A whole number. */
  | 'integer'
  /** A list of strings. If the field has `choices`, a list of these. */
  | 'list';

/** Whether a problem prevents a definition from being published. */
export type ProblemSeverity =
  /** The definition cannot be published. */
  | 'error'
  /** The definition can be published, but probably does not do what was meant. */
  | 'warning';

/** What opened a session. New values may be added: a client must accept values that it does not know. */
export type SessionClient =
  /** A program, by `login`, `setup` or `acceptInvitation`. */
  | 'api'
  /** The web UI. */
  | 'ui';

/** Why the language model did not answer. New values may be added: a client must accept values that it does not know. */
export type LlmProblem =
  /** It did not answer in time. */
  | 'timeout'
  /** No connection, or one that was closed before the answer was complete. */
  | 'unreachable'
  /** It rejected the API key. */
  | 'unauthorized'
  /** The address or the model does not exist there. */
  | 'not_found'
  /** It refused the request because this server sends it too many. */
  | 'rate_limited'
  /** It answered with another error or a redirect. */
  | 'failed'
  /** Its answer did not have the requested form, or was too large. */
  | 'unusable'
  /** The organization has asked more often than it may. */
  | 'too_often'
  /** What the organization, the connection or the run may use of models is used up. */
  | 'over_budget'
  /** The agent's form is too large for the model. */
  | 'too_large';

/** The protocol in which a model is asked. New values may be added: a client must accept values that it does not know. */
export type ModelProvider =
  /** As OpenAI's API, which most servers of models speak. */
  | 'openai_compatible'
  /** OpenAI. */
  | 'openai'
  /** Anthropic. */
  | 'anthropic'
  /** Google Gemini. */
  | 'google'
  /** Mistral AI. */
  | 'mistral';

/** The plan of an organization. New values may be added: a client must accept values that it does not know. */
export type Plan =
  /** 10 requests a minute. */
  | 'free'
  /** 100 requests a minute. */
  | 'starter'
  /** 1,000 requests a minute. */
  | 'pro'
  /** As agreed, or unlimited. */
  | 'enterprise';

/** Input of `createProject`. */
export type CreateProjectInput = {
  /** The project's handle: 1 to 63 characters of a-z, 0-9 and -, beginning and ending with a letter or digit. */
  handle: string;
  /** The project's name, of at most 200 characters. */
  name: string;
};

/** Input of `setMemberRole`. */
export type SetMemberRoleInput = {
  /** The member's id. */
  memberId: string;
  /** The member's new role. */
  role: Role;
};

/** Input of `removeMember`. */
export type RemoveMemberInput = {
  /** The member's id. */
  memberId: string;
};

/** Input of `inviteMember`. */
export type InviteMemberInput = {
  /** Only the user with this e-mail address may accept. Default: anyone who has the link. */
  email?: string | null | undefined;
  /** The new member's role. The caller must have all of the role's scopes. */
  role: Role;
};

/** Input of `revokeInvitation`. */
export type RevokeInvitationInput = {
  /** The invitation's id. */
  invitationId: string;
};

/** Input of `requestPasswordReset`. */
export type RequestPasswordResetInput = {
  /** The e-mail address of the account. */
  email: string;
};

/** Input of `resetPassword`. */
export type ResetPasswordInput = {
  /** The part of the link after `#password-reset=`. */
  token: string;
  /** The new password, of 10 to 256 characters. */
  password: string;
};

/** Input of `revokeSession`. */
export type RevokeSessionInput = {
  /** The session's id. */
  sessionId: string;
};

/** Input of `changePassword`. */
export type ChangePasswordInput = {
  /** The user's current password. */
  currentPassword: string;
  /** The user's new password, of 10 to 256 characters. */
  newPassword: string;
};

/** Input of `createApiKey`. */
export type CreateApiKeyInput = {
  /** A name that says what uses the key, of at most 200 characters. */
  name: string;
  /** What the key may do, such as `runs:start`: at least one scope, and none that the caller lacks. `docs/api.md` lists the scopes. */
  scopes: Array<string>;
  /** Narrow the key to these projects and all their agents, including future ones. Default: not narrowed. At most 100 together with `agentIds`; not with the scope `admin`. */
  projectIds?: Array<string> | null | undefined;
  /** Narrow the key to these agents, in addition to those of `projectIds`. BAD_USER_INPUT for an agent of one of those projects. */
  agentIds?: Array<string> | null | undefined;
  /** When the key expires. Default: never. Keys that an expiring key creates must expire no later than it does. */
  expiresAt?: string | null | undefined;
};

/** Input of `revokeApiKey`. */
export type RevokeApiKeyInput = {
  /** The API key's id. */
  apiKeyId: string;
};

/** Input of `setSecret`. */
export type SetSecretInput = {
  /** The project whose agents may use the secret. */
  projectId: string;
  /** The secret's name: 1 to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or underscore. */
  name: string;
  /** The value: text of at most 8192 bytes. Send it as a variable. */
  value: string;
};

/** Input of `deleteSecret`. */
export type DeleteSecretInput = {
  /** The secret's id. */
  secretId: string;
};

/** A model's prices. */
export type ModelPricesInput = {
  /** Price of a million input tokens. */
  inputPerMillion: number;
  /** Price of a million output tokens. */
  outputPerMillion: number;
  /** Price of a million input tokens that the provider had in its cache. Default: `inputPerMillion`. */
  cachedInputPerMillion?: number | null | undefined;
  /** The prices' currency, a code of ISO 4217 such as `EUR`. */
  currency: string;
};

/** The limits of a model connection. What is left out is not limited. */
export type ModelLimitsInput = {
  /** Maximum of calls at a time, 1 to 1000. */
  concurrency?: number | null | undefined;
  /** Maximum of input and output tokens a day. */
  tokensPerDay?: number | null | undefined;
  /** Maximum of what calls cost a day, in the currency of the prices. */
  costPerDay?: number | null | undefined;
};

/** Input of `createModelConnection`. */
export type CreateModelConnectionInput = {
  /** The project whose agents may use the connection. */
  projectId: string;
  /** The connection's name: 1 to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or underscore. */
  name: string;
  /** The protocol in which the model is asked. */
  provider: ModelProvider;
  /** Where the model is asked, such as `https://models.example.com/v1`. A query, such as `?api-version=1`, goes with each request. Default: the provider's own address; `openai_compatible` has none. */
  baseUrl?: string | null | undefined;
  /** The model's name at the provider. */
  model: string;
  /** The API key, at most 1000 characters. Send it as a variable. */
  apiKey?: string | null | undefined;
  /** The header that the key is sent in, alone, such as `api-key`: for gateways that take it in no other. At most 100 characters. Default: as the provider's protocol has it. */
  apiKeyHeader?: string | null | undefined;
  /** Whether agents of the project that name no connection use this one. Default: false. */
  isDefault?: boolean | null | undefined;
  /** The model's prices. */
  prices?: ModelPricesInput | null | undefined;
  /** The connection's limits. */
  limits?: ModelLimitsInput | null | undefined;
};

/** Input of `updateModelConnection`. What is left out stays as it is. */
export type UpdateModelConnectionInput = {
  /** The connection's id. */
  modelConnectionId: string;
  /** The connection's name: 1 to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or underscore. */
  name?: string | null | undefined;
  /** The protocol in which the model is asked. */
  provider?: ModelProvider | null | undefined;
  /** Where the model is asked, such as `https://models.example.com/v1`. A query, such as `?api-version=1`, goes with each request. Null: the provider's own address. */
  baseUrl?: string | null | undefined;
  /** The model's name at the provider. */
  model?: string | null | undefined;
  /** The API key, at most 1000 characters. Send it as a variable. Null: none. Required when another server or header is named and there is a key. */
  apiKey?: string | null | undefined;
  /** The header that the key is sent in, alone, such as `api-key`: for gateways that take it in no other. At most 100 characters. Null: as the provider's protocol has it. */
  apiKeyHeader?: string | null | undefined;
  /** Whether agents of the project that name no connection use this one. */
  isDefault?: boolean | null | undefined;
  /** The model's prices. Null: none. */
  prices?: ModelPricesInput | null | undefined;
  /** The connection's limits. Null: none. */
  limits?: ModelLimitsInput | null | undefined;
};

/** Input of `deleteModelConnection`. */
export type DeleteModelConnectionInput = {
  /** The connection's id. */
  modelConnectionId: string;
};

/** Input of `testModelConnection`. */
export type TestModelConnectionInput = {
  /** The connection's id. */
  modelConnectionId: string;
};

/** Selects the agents that match every field given. A list selects the agents that match any of its values; an empty list selects none. */
export type AgentFilter = {
  /** In any of these projects. */
  projectId?: Array<string> | null | undefined;
  /** With any of these statuses. */
  status?: Array<AgentStatus> | null | undefined;
  /** With this text in the name or the handle, ignoring case. At most 200 characters. */
  text?: string | null | undefined;
};

/** Input of `saveAgentDraft`. */
export type SaveAgentDraftInput = {
  /** The project. Default: the agent's project, or the one whose handle is the definition's namespace. */
  projectId?: string | null | undefined;
  /** The agent, which the text must name. Default: the agent that the text names. */
  agentId?: string | null | undefined;
  /** YAML or JSON text. It may contain mistakes, but without `agentId` it must have `document.namespace` and `document.name`. */
  definition: string;
  /** The `revision` of the draft to replace, or 0 if there is none. CONFLICT with the present draft if it was changed. Default: replace any draft. */
  expectedRevision?: number | null | undefined;
};

/** Input of `publishAgent`. */
export type PublishAgentInput = {
  /** The project. Default: the one whose handle is the definition's namespace. */
  projectId?: string | null | undefined;
  /** The definition, as YAML or JSON. */
  definition: string;
};

/** Input of `publishAgentVersion`. */
export type PublishAgentVersionInput = {
  /** The agent's id. */
  agentId: string;
  /** The version to publish. */
  version: string;
};

/** Input of `setAgentStatus`. */
export type SetAgentStatusInput = {
  /** The agent's id. */
  agentId: string;
  /** `active`, `paused` or `archived`; for an agent that was never published, `draft` or `archived`. */
  status: AgentStatus;
};

/** Input of `setAgentLimit`. A limit that is left out stays as it is. */
export type SetAgentLimitInput = {
  /** The agent's id. */
  agentId: string;
  /** How many of the agent's runs may be under way at the same time, at least 1. Null removes the limit. */
  concurrency?: number | null | undefined;
};

/** Input of `setFailureMails`. */
export type SetFailureMailsInput = {
  /** The agent's id. */
  agentId: string;
  /** The e-mail addresses of members, 20 at most. An empty list: nobody gets a mail. */
  emails: Array<string>;
};

/** Input of `trustTools`. */
export type TrustToolsInput = {
  /** The agent's id. */
  agentId: string;
  /** The `hash` of each `ToolChange` to accept. If a server describes one of the tools in yet another way by then, all are refused with CONFLICT. */
  changes: Array<string>;
};

/** Input of `draftRunInput`. */
export type DraftInput = {
  /** The agent. Default: the active agent that the sentence names. */
  agentId?: string | null | undefined;
  /** What to do, in at most 1000 characters: "the report of last month for Europe". In English, unless a language model is configured. */
  text: string;
  /** The IANA time zone of the days in the sentence, such as `Europe/Berlin`. */
  timezone: string;
};

/** Selects runs by who or what started them. */
export type RunStarterFilter = {
  /** Started by an actor of any of these kinds. */
  kind?: Array<ActorKind> | null | undefined;
  /** Started by any of these users, API keys, triggers or runs. */
  id?: Array<string> | null | undefined;
};

/** Selects the runs that match every field given. A list selects the runs that match any of its values; an empty list selects none. */
export type RunFilter = {
  /** Of agents in any of these projects. */
  projectId?: Array<string> | null | undefined;
  /** Of any of these agents. */
  agentId?: Array<string> | null | undefined;
  /** With any of these statuses. */
  status?: Array<RunStatus> | null | undefined;
  /** Who or what started the run. */
  startedBy?: RunStarterFilter | null | undefined;
  /** Accepted at this time or later. */
  createdFrom?: string | null | undefined;
  /** Accepted before this time. */
  createdBefore?: string | null | undefined;
  /** With an id that begins with this text: `run_` and up to 26 more characters. */
  idPrefix?: string | null | undefined;
};

/** Input of `runAgent`. */
export type RunAgentInput = {
  /** The agent's id. */
  agentId: string;
  /** The values of the agent's input fields, as an object. Default: an empty object. */
  input?: Json | null | undefined;
  /** A key that makes the request safe to repeat, of at most 255 characters. It can also be sent as the `Idempotency-Key` header. For 24 hours, a request with the same key and the same arguments returns the same run; with other arguments, it is CONFLICT. */
  idempotencyKey?: string | null | undefined;
  /** The version to run. Default: the published one. */
  version?: string | null | undefined;
  /** The draft from `draftRunInput` that a person reviewed. `Run.draftText` is then its sentence. The draft must be for this agent, or for none. */
  runDraftId?: string | null | undefined;
  /** When to begin. The run is `pending` until then. A time in the past means now. */
  runAt?: string | null | undefined;
  /** How many seconds to wait for the run to end or pause before the answer is sent, from 1 to 30. Default: it is sent at once. Only one field of an operation may wait. */
  wait?: number | null | undefined;
};

/** Selects runs in one of three ways. */
export type RunTarget =
  {   /** The runs that match. BAD_USER_INPUT if no field of the filter is given. */
  filter: RunFilter; runIds?: never; all?: never; }
  |  { filter?: never;   /** The runs with these ids, at most 1000. NOT_FOUND if one is unknown. */
  runIds: Array<string>; all?: never; }
  |  { filter?: never; runIds?: never;   /** Every run of the organization or, for a narrowed API key, every run that it reaches. Must be `true`. */
  all: boolean; };

/** Input of `cancelRuns`. */
export type CancelRunsInput = {
  /** The runs to cancel. Runs that have ended stay as they are. */
  runs: RunTarget;
};

/** Input of `rerunRun`. */
export type RerunRunInput = {
  /** The run's id. */
  runId: string;
  /** A key that makes the request safe to repeat, of at most 255 characters. It can also be sent as the `Idempotency-Key` header. For 24 hours, a request with the same key and the same arguments returns the same run; with other arguments, it is CONFLICT. */
  idempotencyKey?: string | null | undefined;
};

/** Input of `retryRun`. */
export type RetryRunInput = {
  /** The id of a run that has ended. */
  runId: string;
  /** The number of the first step to execute again. Default: the step that failed or was cancelled. */
  fromStep?: number | null | undefined;
  /** The first step to execute again, by the name of its task. BAD_USER_INPUT, naming the steps, if several steps have it. */
  fromTask?: string | null | undefined;
  /** The version to run. Default: the earlier run's version. CONFLICT, naming the step, if the tasks before that step differ. */
  version?: string | null | undefined;
  /** A key that makes the request safe to repeat, of at most 255 characters. It can also be sent as the `Idempotency-Key` header. For 24 hours, a request with the same key and the same arguments returns the same run; with other arguments, it is CONFLICT. */
  idempotencyKey?: string | null | undefined;
};

/** Selects the approvals that match every field given. A list selects those that match any of its values; an empty list selects none. */
export type ApprovalFilter = {
  /** With any of these statuses. */
  status?: Array<ApprovalStatus> | null | undefined;
  /** Of agents in any of these projects. */
  projectId?: Array<string> | null | undefined;
  /** Of any of these agents. */
  agentId?: Array<string> | null | undefined;
  /** Of any of these runs. */
  runId?: Array<string> | null | undefined;
  /** `true`: those whose `assignees` name the caller, by e-mail or by role. An API key is nobody, and gets none. Other values select all. */
  assignedToMe?: boolean | null | undefined;
};

/** Input of `decideApproval`. */
export type DecideApprovalInput = {
  /** The approval's id. */
  approvalId: string;
  /** The decision. */
  decision: Decision;
  /** A comment, such as the reason. */
  comment?: string | null | undefined;
  /** The values of the approval's form. For a tool call: `{arguments: {…}}` to change its arguments, or nothing. Otherwise any JSON value, or nothing. */
  answer?: Json | null | undefined;
};

/** Input of `reassignApproval`. */
export type ReassignApprovalInput = {
  /** The approval's id. */
  approvalId: string;
  /** Who decides from now on, in place of those who are asked: 1 to 20 e-mails of members and roles as `role:editor`. */
  assignees: Array<string>;
  /** A comment, such as the reason. */
  comment?: string | null | undefined;
};

/** Selects the triggers that match every field given. A list selects the triggers that match any of its values; an empty list selects none. */
export type TriggerFilter = {
  /** Of agents in any of these projects. */
  projectId?: Array<string> | null | undefined;
  /** Of any of these agents. */
  agentId?: Array<string> | null | undefined;
  /** Of any of these types. */
  type?: Array<TriggerType> | null | undefined;
  /** With any of these statuses. */
  status?: Array<TriggerStatus> | null | undefined;
};

/** The configuration of a trigger: `type`, and keys of that type. A key of another type is refused. */
export type TriggerConfigurationInput = {
  /** What starts runs. */
  type: TriggerType;
  /** Five fields: minute, hour, day of month, month, day of week. `cronPreview` shows when it is due. */
  schedule?: string | null | undefined;
  /** An IANA time zone, such as `Europe/Berlin`. */
  timezone?: string | null | undefined;
  /** The run's input, an object. Words such as `@today` and `@last-week.start` become dates, counted from the day on which the trigger is due. */
  input?: Json | null | undefined;
  /** The HTTP method of the request. Default, and only value: `POST`. */
  method?: string | null | undefined;
  /** How a sender authenticates. Default, and only value: `{type: "bearer_token"}`. The token is in the URL. */
  authentication?: Json | null | undefined;
  /** Where the event happens: at most 255 characters. */
  source?: string | null | undefined;
  /** The event's name: at most 255 characters. */
  event?: string | null | undefined;
  /** For each field of the event's data, a list of the values that it accepts: `{status: ["paid", "sent"]}`. All fields must match. A field is a key of the data, or a path of keys with dots. Values are compared by their JSON type; a list in the data matches by any of its elements. Default: every event matches. */
  filter?: Json | null | undefined;
};

/** How a trigger fires, in addition to its configuration. A key of another type is refused. */
export type TriggerPolicyInput = {
  /** What happens to a firing while the run that the trigger started before is still open. Default: `skip` with a schedule, otherwise `allow`. */
  overlap?: TriggerOverlap | null | undefined;
  /** What happens to instants at which no server was running. Default: `latest`. */
  missed?: MissedInstants | null | undefined;
  /** How many minutes late the latest missed instant may still fire under `latest`: 0 to 10080. Default: 60. */
  catchUpMinutes?: number | null | undefined;
  /** Delays each firing by a fixed amount, up to this many seconds, so that not all triggers fire on the hour: 0 to 3600. Default: 0. */
  jitterSeconds?: number | null | undefined;
  /** The trigger is not due before this time. */
  startsAt?: string | null | undefined;
  /** The trigger is not due after this time. */
  endsAt?: string | null | undefined;
  /** A jq expression that turns what was received (the body of a webhook, the data of an event) into the run's input, an object. `$event` has the event's `id`, `source`, `event`, `sourceId`, `time` and `at`; `$headers` and `$query` those of a webhook's request. Default: the input is what was received. */
  mapping?: string | null | undefined;
  /** For each field of the body, a list of the values that it accepts: `{action: ["opened", "reopened"]}`, by the rules of an event's `filter`. A call that does not match starts nothing. Default: every call matches. */
  filter?: Json | null | undefined;
  /** Which bodies the webhook takes. Default: `json`. */
  accept?: WebhookAccept | null | undefined;
  /** `{preset, secret}`: each request must be signed, in addition to the token in the URL. `preset` is `standard` (Standard Webhooks; `svix` is the same), `github`, `stripe`, `slack`, `shopify`, `woocommerce`, `square`, `xero`, or `header` with the name of a `header` that has an HMAC-SHA256 of the body, in the `encoding` `hex` (the default) or `base64`. `secret` is the name of a secret of the project. */
  signature?: Json | null | undefined;
  /** IP addresses and ranges (CIDR) that may call the webhook, at most 100; others are refused. Default: any may call. */
  allowedAddresses?: Array<string> | null | undefined;
  /** A header in which the sender names each delivery, in addition to `Idempotency-Key` and `webhook-id`. A delivery starts only one run within 24 hours. Not allowed together with `signature`: a signed delivery is known by what is signed. */
  deliveryHeader?: string | null | undefined;
};

/** Input of `createTrigger`. */
export type CreateTriggerInput = {
  /** The agent whose runs the trigger starts. */
  agentId: string;
  /** The trigger's name, unique among those of the agent: at most 200 characters. */
  name: string;
  /** The trigger's configuration. */
  trigger: TriggerConfigurationInput;
  /** How the trigger fires. Default: the default of each key. */
  policy?: TriggerPolicyInput | null | undefined;
};

/** Input of `updateTrigger`. What is left out stays as it is. */
export type UpdateTriggerInput = {
  /** The trigger's id. */
  triggerId: string;
  /** The trigger's new name, of at most 200 characters. */
  name?: string | null | undefined;
  /** Replaces the whole configuration; the type must stay the same. A webhook keeps its URL. */
  trigger?: TriggerConfigurationInput | null | undefined;
  /** Replaces the whole policy. */
  policy?: TriggerPolicyInput | null | undefined;
};

/** Input of `setTriggerStatus`. */
export type SetTriggerStatusInput = {
  /** The trigger's id. */
  triggerId: string;
  /** The trigger's new status. */
  status: TriggerStatus;
};

/** Input of `rotateWebhookToken`. */
export type RotateWebhookTokenInput = {
  /** The trigger's id. */
  triggerId: string;
  /** For how many minutes the present URL keeps working beside the new one: 0 to 10080. */
  overlapMinutes: number;
};

/** Input of `deleteTrigger`. */
export type DeleteTriggerInput = {
  /** The trigger's id. */
  triggerId: string;
};

/** Input of `fireTrigger`. */
export type FireTriggerInput = {
  /** The trigger's id. */
  triggerId: string;
  /** What the trigger would have received, as an object: the body of a webhook's request. */
  payload?: Json | null | undefined;
};

/** Input of `replayFiring`. */
export type ReplayFiringInput = {
  /** The firing's id. */
  firingId: string;
};

/** Selects the events that match every field given. A list selects the events that match any of its values; an empty list selects none. */
export type EventFilter = {
  /** Of any of these sources. */
  source?: Array<string> | null | undefined;
  /** With any of these names. Requires `source`, and makes at most 100 pairs with it. */
  event?: Array<string> | null | undefined;
};

/** Input of `publishEvent`. */
export type PublishEventInput = {
  /** Where it happened: at most 255 characters, and not `autograph`. */
  source: string;
  /** What happened: the event's name, of at most 255 characters. */
  event: string;
  /** The id that its source gives to the event, at most 255 characters. If the answer was lost, publish it again with the same id. */
  id: string;
  /** When it happened. Default: now. */
  time?: string | null | undefined;
  /** The details of the event: an object of at most 65536 bytes as JSON. Default: `{}`. */
  data?: Json | null | undefined;
};

export type FrameQueryVariables = Exact<{ [key: string]: never; }>;


export type FrameQuery = { caller: { role: Role | null, scopes: Array<string>, user: { id: string, name: string, email: string | null } | null, memberships: Array<{ organization: { id: string, name: string } }> } | null, organization: { id: string, name: string } | null, projects: { nodes: Array<{ id: string, handle: string, name: string }>, pageInfo: { hasNextPage: boolean } } | null };

export type BadgesSubscriptionVariables = Exact<{
  projectId?: string | null | undefined;
}>;


export type BadgesSubscription = { badgesChanged: { openRuns: number, openApprovals: number } };

export type PaletteAgentsQueryVariables = Exact<{
  filter?: AgentFilter | null | undefined;
}>;


export type PaletteAgentsQuery = { agentsConnection: { nodes: Array<{ id: string, name: string, handle: string, status: AgentStatus, project: { id: string, handle: string } }> } | null };

export type PaletteRunsQueryVariables = Exact<{
  prefix: string;
}>;


export type PaletteRunsQuery = { runs: { nodes: Array<{ id: string, status: RunStatus, createdAt: string, agent: { id: string, name: string } }> } | null };

export type RunsQueryVariables = Exact<{
  filter?: RunFilter | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type RunsQuery = { runs: { nodes: Array<{ version: string, id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, summary: { step: string | null, error: string | null, input: Array<{ title: string, text: string }> } | null, startedBy: { kind: ActorKind, id: string | null, name: string }, agent: { id: string, name: string, handle: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type RunRowFragment = { version: string, id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, startedBy: { kind: ActorKind, id: string | null, name: string }, agent: { id: string, name: string, handle: string } };

export type ListedRunFragment = { version: string, id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, summary: { step: string | null, error: string | null, input: Array<{ title: string, text: string }> } | null, startedBy: { kind: ActorKind, id: string | null, name: string }, agent: { id: string, name: string, handle: string } };

export type RunsChangedSubscriptionVariables = Exact<{
  projectId?: string | null | undefined;
  agentId?: string | null | undefined;
}>;


export type RunsChangedSubscription = { runsChanged: { version: string, id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, summary: { step: string | null, error: string | null, input: Array<{ title: string, text: string }> } | null, startedBy: { kind: ActorKind, id: string | null, name: string }, agent: { id: string, name: string, handle: string } } };

export type RunsToCancelQueryVariables = Exact<{
  filter?: RunFilter | null | undefined;
}>;


export type RunsToCancelQuery = { runCount: { value: number, isExact: boolean } | null };

export type CancelRunsMutationVariables = Exact<{
  input: CancelRunsInput;
}>;


export type CancelRunsMutation = { cancelRuns: { cancelledCount: number } | null };

export type ApprovalCardFragment = { id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> };

export type ApprovalDecisionsFragment = { decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }> };

export type ApprovalReassignmentsFragment = { reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> };

export type ReassignMutationVariables = Exact<{
  input: ReassignApprovalInput;
}>;


export type ReassignMutation = { reassignApproval: { id: string, status: ApprovalStatus, canDecide: boolean, assignees: Array<string>, dueAt: string | null, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> } | null };

export type DecideMutationVariables = Exact<{
  input: DecideApprovalInput;
}>;


export type DecideMutation = { decideApproval: { id: string, status: ApprovalStatus, canDecide: boolean, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }> } | null };

export type FindAgentsQueryVariables = Exact<{
  filter?: AgentFilter | null | undefined;
}>;


export type FindAgentsQuery = { agentsConnection: { nodes: Array<{ id: string, name: string, handle: string, project: { id: string, handle: string } }>, pageInfo: { hasNextPage: boolean } } | null };

export type RunFormAgentFragment = { id: string, name: string, handle: string, inputSchema: Json | null, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> };

export type FormFieldFragment = { name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null };

export type StartRunMutationVariables = Exact<{
  input: RunAgentInput;
}>;


export type StartRunMutation = { runAgent: { id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, agent: { id: string } } | null };

export type DraftRunInputMutationVariables = Exact<{
  input: DraftInput;
}>;


export type DraftRunInputMutation = { draftRunInput: { id: string, agentSource: string | null, input: Json, missing: Array<string>, unread: Array<string>, modelProblem: LlmProblem | null, agent: { id: string, name: string, handle: string, inputSchema: Json | null, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, fields: Array<{ name: string, source: string, sure: boolean, reason: string | null }> } | null };

export type ExampleAgentsQueryVariables = Exact<{ [key: string]: never; }>;


export type ExampleAgentsQuery = { agentsConnection: { nodes: Array<{ id: string, name: string, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> }> } | null };

export type AgentPageQueryVariables = Exact<{
  id: string;
  from: string;
  hasFrom: boolean;
}>;


export type AgentPageQuery = { agent: { description: string | null, status: AgentStatus, version: string, concurrency: number | null, id: string, name: string, handle: string, inputSchema: Json | null, agentVersion: { id: string } | null, project: { id: string, handle: string }, recent: { nodes: Array<{ id: string, createdAt: string, input: Json }> }, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, changedTools: { edges: Array<{ cursor: string, node: { name: string, server: string, change: { hash: string, seenAt: string } | null } }>, pageInfo: { hasNextPage: boolean } } } | null, from?: { id: string, input: Json } | null };

export type SetAgentStatusMutationVariables = Exact<{
  input: SetAgentStatusInput;
}>;


export type SetAgentStatusMutation = { setAgentStatus: { id: string, status: AgentStatus } | null };

export type SetAgentLimitMutationVariables = Exact<{
  input: SetAgentLimitInput;
}>;


export type SetAgentLimitMutation = { setAgentLimit: { id: string, concurrency: number | null } | null };

export type ChangedToolsFragment = { changedTools: { edges: Array<{ cursor: string, node: { name: string, server: string, change: { hash: string, seenAt: string } | null } }>, pageInfo: { hasNextPage: boolean } } };

export type ToolChangeQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type ToolChangeQuery = { agent: { id: string, toolChange: { nodes: Array<{ pinned: { description: string, inputSchema: Json, hints: Json } | null, change: { hash: string, described: { description: string, inputSchema: Json, hints: Json } } | null }> } } | null };

export type TrustToolsMutationVariables = Exact<{
  input: TrustToolsInput;
}>;


export type TrustToolsMutation = { trustTools: { id: string, changedTools: { edges: Array<{ cursor: string, node: { name: string, server: string, change: { hash: string, seenAt: string } | null } }>, pageInfo: { hasNextPage: boolean } } } | null };

export type AgentDefinitionQueryVariables = Exact<{
  id: string;
}>;


export type AgentDefinitionQuery = { agent: { id: string, definition: string | null, version: string, draft: { definition: string, revision: number, savedAt: string, savedBy: { kind: ActorKind, name: string } } | null, versions: { nodes: Array<{ id: string, version: string, createdAt: string, createdBy: { name: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type VersionPageFragment = { nodes: Array<{ id: string, version: string, createdAt: string, createdBy: { name: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } };

export type OlderVersionsQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type OlderVersionsQuery = { agent: { id: string, versions: { nodes: Array<{ id: string, version: string, createdAt: string, createdBy: { name: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type SavedDraftFragment = { definition: string, revision: number, savedAt: string, savedBy: { kind: ActorKind, name: string } };

export type PublishedAgentFragment = { description: string | null, status: AgentStatus, version: string, definition: string | null, id: string, name: string, handle: string, inputSchema: Json | null, agentVersion: { id: string } | null, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, changedTools: { edges: Array<{ cursor: string, node: { name: string, server: string, change: { hash: string, seenAt: string } | null } }>, pageInfo: { hasNextPage: boolean } } };

export type AgentVersionTextQueryVariables = Exact<{
  id: string;
  version: string;
}>;


export type AgentVersionTextQuery = { agent: { id: string, agentVersion: { id: string, definition: string } | null } | null };

export type CheckDefinitionQueryVariables = Exact<{
  definition: string;
}>;


export type CheckDefinitionQuery = { validateDefinition: { problems: Array<{ line: number, column: number, message: string, severity: ProblemSeverity }> } | null };

export type SaveDraftMutationVariables = Exact<{
  input: SaveAgentDraftInput;
}>;


export type SaveDraftMutation = { saveAgentDraft: { id: string, name: string, description: string | null, draft: { definition: string, revision: number, savedAt: string, savedBy: { kind: ActorKind, name: string } } | null } | null };

export type PublishMutationVariables = Exact<{
  input: PublishAgentInput;
}>;


export type PublishMutation = { publishAgent: { description: string | null, status: AgentStatus, version: string, definition: string | null, id: string, name: string, handle: string, inputSchema: Json | null, draft: { definition: string, revision: number, savedAt: string, savedBy: { kind: ActorKind, name: string } } | null, agentVersion: { id: string } | null, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, changedTools: { edges: Array<{ cursor: string, node: { name: string, server: string, change: { hash: string, seenAt: string } | null } }>, pageInfo: { hasNextPage: boolean } } } | null };

export type PublishVersionMutationVariables = Exact<{
  input: PublishAgentVersionInput;
}>;


export type PublishVersionMutation = { publishAgentVersion: { description: string | null, status: AgentStatus, version: string, definition: string | null, id: string, name: string, handle: string, inputSchema: Json | null, agentVersion: { id: string } | null, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, changedTools: { edges: Array<{ cursor: string, node: { name: string, server: string, change: { hash: string, seenAt: string } | null } }>, pageInfo: { hasNextPage: boolean } } } | null };

export type CreateProjectMutationVariables = Exact<{
  input: CreateProjectInput;
}>;


export type CreateProjectMutation = { createProject: { id: string, handle: string } | null };

export type FailureMailsQueryVariables = Exact<{
  id: string;
}>;


export type FailureMailsQuery = { agent: { id: string, failureMails: Array<string> | null } | null, members: { nodes: Array<{ id: string, user: { id: string, name: string, email: string | null } }>, pageInfo: { hasNextPage: boolean } } | null };

export type SetFailureMailsMutationVariables = Exact<{
  input: SetFailureMailsInput;
}>;


export type SetFailureMailsMutation = { setFailureMails: { id: string, failureMails: Array<string> | null } | null };

export type AgentTriggersQueryVariables = Exact<{
  id: string;
}>;


export type AgentTriggersQuery = { agent: { id: string, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, triggers: { nodes: Array<{ id: string, name: string, type: TriggerType, status: TriggerStatus, isManaged: boolean, schedule: string | null, timezone: string | null, input: Json | null, source: string | null, event: string | null, filter: Json | null, url: string | null, formerUrlUntil: string | null, curl: string | null, nextDueAt: string | null, nextInstants: Array<{ at: string, isShifted: boolean }>, firings: { nodes: Array<{ id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, policy: { overlap: TriggerOverlap | null, missed: MissedInstants | null, jitterSeconds: number | null, mapping: string | null, accept: WebhookAccept | null, filter: Json | null, signature: Json | null, allowedAddresses: Array<string> | null, catchUpMinutes: number | null, startsAt: string | null, endsAt: string | null, deliveryHeader: string | null } }> } } | null };

export type TriggerPartFragment = { id: string, name: string, type: TriggerType, status: TriggerStatus, isManaged: boolean, schedule: string | null, timezone: string | null, input: Json | null, source: string | null, event: string | null, filter: Json | null, url: string | null, formerUrlUntil: string | null, curl: string | null, nextDueAt: string | null, nextInstants: Array<{ at: string, isShifted: boolean }>, firings: { nodes: Array<{ id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, policy: { overlap: TriggerOverlap | null, missed: MissedInstants | null, jitterSeconds: number | null, mapping: string | null, accept: WebhookAccept | null, filter: Json | null, signature: Json | null, allowedAddresses: Array<string> | null, catchUpMinutes: number | null, startsAt: string | null, endsAt: string | null, deliveryHeader: string | null } };

export type FiringRowFragment = { id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null };

export type OlderFiringsQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type OlderFiringsQuery = { trigger: { id: string, firings: { nodes: Array<{ id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type FiringsChangedSubscriptionVariables = Exact<{
  agentId?: string | null | undefined;
}>;


export type FiringsChangedSubscription = { firingsChanged: { id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null } };

export type CronPreviewQueryVariables = Exact<{
  schedule: string;
  timezone: string;
}>;


export type CronPreviewQuery = { cronPreview: Array<{ at: string, isShifted: boolean }> | null };

export type CreateTriggerMutationVariables = Exact<{
  input: CreateTriggerInput;
}>;


export type CreateTriggerMutation = { createTrigger: { id: string, name: string, type: TriggerType, status: TriggerStatus, isManaged: boolean, schedule: string | null, timezone: string | null, input: Json | null, source: string | null, event: string | null, filter: Json | null, url: string | null, formerUrlUntil: string | null, curl: string | null, nextDueAt: string | null, nextInstants: Array<{ at: string, isShifted: boolean }>, firings: { nodes: Array<{ id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, policy: { overlap: TriggerOverlap | null, missed: MissedInstants | null, jitterSeconds: number | null, mapping: string | null, accept: WebhookAccept | null, filter: Json | null, signature: Json | null, allowedAddresses: Array<string> | null, catchUpMinutes: number | null, startsAt: string | null, endsAt: string | null, deliveryHeader: string | null } } | null };

export type UpdateTriggerMutationVariables = Exact<{
  input: UpdateTriggerInput;
}>;


export type UpdateTriggerMutation = { updateTrigger: { id: string, name: string, type: TriggerType, status: TriggerStatus, isManaged: boolean, schedule: string | null, timezone: string | null, input: Json | null, source: string | null, event: string | null, filter: Json | null, url: string | null, formerUrlUntil: string | null, curl: string | null, nextDueAt: string | null, nextInstants: Array<{ at: string, isShifted: boolean }>, firings: { nodes: Array<{ id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, policy: { overlap: TriggerOverlap | null, missed: MissedInstants | null, jitterSeconds: number | null, mapping: string | null, accept: WebhookAccept | null, filter: Json | null, signature: Json | null, allowedAddresses: Array<string> | null, catchUpMinutes: number | null, startsAt: string | null, endsAt: string | null, deliveryHeader: string | null } } | null };

export type SetTriggerStatusMutationVariables = Exact<{
  input: SetTriggerStatusInput;
}>;


export type SetTriggerStatusMutation = { setTriggerStatus: { id: string, status: TriggerStatus, nextDueAt: string | null } | null };

export type DeleteTriggerMutationVariables = Exact<{
  input: DeleteTriggerInput;
}>;


export type DeleteTriggerMutation = { deleteTrigger: { id: string } | null };

export type FireTriggerMutationVariables = Exact<{
  input: FireTriggerInput;
}>;


export type FireTriggerMutation = { fireTrigger: { id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null } | null };

export type ReplayFiringMutationVariables = Exact<{
  input: ReplayFiringInput;
}>;


export type ReplayFiringMutation = { replayFiring: { id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null } | null };

export type RotateWebhookTokenMutationVariables = Exact<{
  input: RotateWebhookTokenInput;
}>;


export type RotateWebhookTokenMutation = { rotateWebhookToken: { id: string, name: string, type: TriggerType, status: TriggerStatus, isManaged: boolean, schedule: string | null, timezone: string | null, input: Json | null, source: string | null, event: string | null, filter: Json | null, url: string | null, formerUrlUntil: string | null, curl: string | null, nextDueAt: string | null, nextInstants: Array<{ at: string, isShifted: boolean }>, firings: { nodes: Array<{ id: string, at: string, dueAt: string | null, outcome: FiringOutcome, policy: string | null, code: string | null, message: string | null, skipped: number | null, delivery: string | null, trigger: { id: string } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, policy: { overlap: TriggerOverlap | null, missed: MissedInstants | null, jitterSeconds: number | null, mapping: string | null, accept: WebhookAccept | null, filter: Json | null, signature: Json | null, allowedAddresses: Array<string> | null, catchUpMinutes: number | null, startsAt: string | null, endsAt: string | null, deliveryHeader: string | null } } | null };

export type AgentsQueryVariables = Exact<{
  filter?: AgentFilter | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type AgentsQuery = { agentsConnection: { nodes: Array<{ id: string, name: string, handle: string, status: AgentStatus, version: string, project: { id: string, handle: string }, triggers: { nodes: Array<{ id: string, name: string, type: TriggerType, status: TriggerStatus, schedule: string | null, timezone: string | null, event: string | null, nextDueAt: string | null }>, pageInfo: { hasNextPage: boolean } }, runs: { nodes: Array<{ id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null }> } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type AgentRowFragment = { id: string, name: string, handle: string, status: AgentStatus, version: string, project: { id: string, handle: string }, triggers: { nodes: Array<{ id: string, name: string, type: TriggerType, status: TriggerStatus, schedule: string | null, timezone: string | null, event: string | null, nextDueAt: string | null }>, pageInfo: { hasNextPage: boolean } }, runs: { nodes: Array<{ id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null }> } };

export type RunBarFragment = { id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null };

export type AgentsChangedSubscriptionVariables = Exact<{
  projectId?: string | null | undefined;
}>;


export type AgentsChangedSubscription = { agentsChanged: { id: string, name: string, status: AgentStatus, version: string } };

export type AgentsRunsSubscriptionVariables = Exact<{
  projectId?: string | null | undefined;
}>;


export type AgentsRunsSubscription = { runsChanged: { id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, agent: { id: string } } };

export type FirstVisitQueryVariables = Exact<{
  id: string;
}>;


export type FirstVisitQuery = { agent: { description: string | null, id: string, name: string, handle: string, inputSchema: Json | null, inputFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null };

export type ApprovalsQueryVariables = Exact<{
  filter?: ApprovalFilter | null | undefined;
  direction?: SortDirection | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type ApprovalsQuery = { approvals: { nodes: Array<{ id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type LinkedApprovalQueryVariables = Exact<{
  id: string;
}>;


export type LinkedApprovalQuery = { approval: { id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> } | null };

export type MissedApprovalsQueryVariables = Exact<{
  open?: ApprovalFilter | null | undefined;
  decided?: ApprovalFilter | null | undefined;
}>;


export type MissedApprovalsQuery = { open: { nodes: Array<{ id: string, status: ApprovalStatus, canDecide: boolean, decidedAt: string | null, comment: string | null, answer: Json | null, assignees: Array<string>, dueAt: string | null, escalatedAt: string | null, decidedBy: { kind: ActorKind, name: string } | null, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }> } | null, decided: { nodes: Array<{ id: string, status: ApprovalStatus, canDecide: boolean, decidedAt: string | null, comment: string | null, answer: Json | null, assignees: Array<string>, dueAt: string | null, escalatedAt: string | null, decidedBy: { kind: ActorKind, name: string } | null, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }> } | null };

export type ApprovalStateFragment = { id: string, status: ApprovalStatus, canDecide: boolean, decidedAt: string | null, comment: string | null, answer: Json | null, assignees: Array<string>, dueAt: string | null, escalatedAt: string | null, decidedBy: { kind: ActorKind, name: string } | null, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> };

export type ApprovalsChangedSubscriptionVariables = Exact<{
  projectId?: string | null | undefined;
}>;


export type ApprovalsChangedSubscription = { approvalsChanged: { id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> } };

export type EventsQueryVariables = Exact<{
  filter?: EventFilter | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type EventsQuery = { events: { nodes: Array<{ id: string, source: string, event: string, sourceId: string, at: string, firings: { nodes: Array<{ id: string, outcome: FiringOutcome, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean } }, publishedBy: { kind: ActorKind, name: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type EventLineFragment = { id: string, source: string, event: string, sourceId: string, at: string, firings: { nodes: Array<{ id: string, outcome: FiringOutcome, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean } }, publishedBy: { kind: ActorKind, name: string } };

export type EventRowFragment = { id: string, source: string, event: string, sourceId: string, at: string, publishedBy: { kind: ActorKind, name: string } };

export type EventPageQueryVariables = Exact<{
  id: string;
}>;


export type EventPageQuery = { event: { time: string, data: Json, id: string, source: string, event: string, sourceId: string, at: string, matches: Array<{ id: string, name: string, status: TriggerStatus, agent: { id: string, name: string } }>, misses: Array<{ reason: string, trigger: { id: string, name: string, status: TriggerStatus, agent: { id: string, name: string } } }>, firings: { nodes: Array<{ id: string, outcome: FiringOutcome, message: string | null, trigger: { id: string, name: string, status: TriggerStatus, agent: { id: string, name: string } } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, publishedBy: { kind: ActorKind, name: string } } | null };

export type EventFiringsFragment = { nodes: Array<{ id: string, outcome: FiringOutcome, message: string | null, trigger: { id: string, name: string, status: TriggerStatus, agent: { id: string, name: string } } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } };

export type OlderEventFiringsQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type OlderEventFiringsQuery = { event: { id: string, firings: { nodes: Array<{ id: string, outcome: FiringOutcome, message: string | null, trigger: { id: string, name: string, status: TriggerStatus, agent: { id: string, name: string } } | null, run: { id: string, status: RunStatus } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type EventTriggerFragment = { id: string, name: string, status: TriggerStatus, agent: { id: string, name: string } };

export type EventsChangedSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type EventsChangedSubscription = { eventsChanged: { id: string, source: string } };

export type PublishEventMutationVariables = Exact<{
  input: PublishEventInput;
}>;


export type PublishEventMutation = { publishEvent: { id: string } | null };

export type InvitationQueryVariables = Exact<{
  token: string;
}>;


export type InvitationQuery = { invitation: { organizationName: string, email: string | null, role: Role, expiresAt: string } | null };

export type RequestPasswordResetMutationVariables = Exact<{
  input: RequestPasswordResetInput;
}>;


export type RequestPasswordResetMutation = { requestPasswordReset: { email: string } | null };

export type ResetPasswordMutationVariables = Exact<{
  input: ResetPasswordInput;
}>;


export type ResetPasswordMutation = { resetPassword: { email: string } | null };

export type RunPageQueryVariables = Exact<{
  id: string;
}>;


export type RunPageQuery = { run: { input: Json, draftText: string | null, stepCount: number, runAt: string | null, revision: number, output: Json | null, version: string, id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, agentVersion: { id: string, tasks: Array<{ path: string, parentPath: string | null, name: string, kind: string }> }, usage: { inputTokens: number, outputTokens: number, cachedInputTokens: number, cost: number | null, currency: string | null } | null, parent: { id: string } | null, retryOf: { id: string } | null, steps: Array<{ id: string, position: string, number: number, name: string, parentNumber: number | null, item: number | null, kind: string, status: StepStatus, duration: number | null, startedAt: string | null, finishedAt: string | null, taskPath: string, callName: string | null, attemptCount: number, error: { type: string, status: number, title: string | null, detail: string | null } | null, attempts: Array<{ number: number, status: StepStatus, startedAt: string | null, finishedAt: string | null }>, child: { id: string, status: RunStatus } | null }>, error: { type: string, status: number, title: string | null, detail: string | null, stepNumber: number | null } | null, approvals: { nodes: Array<{ id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }>, pageInfo: { hasNextPage: boolean } }, startedBy: { kind: ActorKind, id: string | null, name: string }, agent: { id: string, name: string, handle: string } } | null, approvals: { nodes: Array<{ id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }>, pageInfo: { hasNextPage: boolean } } | null };

export type RunOutcomeQueryVariables = Exact<{
  id: string;
}>;


export type RunOutcomeQuery = { run: { id: string, output: Json | null, usage: { inputTokens: number, outputTokens: number, cachedInputTokens: number, cost: number | null, currency: string | null } | null, approvals: { nodes: Array<{ id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }>, pageInfo: { hasNextPage: boolean } } } | null, approvals: { nodes: Array<{ id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }>, pageInfo: { hasNextPage: boolean } } | null };

export type UsedModelsFragment = { inputTokens: number, outputTokens: number, cachedInputTokens: number, cost: number | null, currency: string | null };

export type RunQuestionsFragment = { output: Json | null, approvals: { nodes: Array<{ id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }>, pageInfo: { hasNextPage: boolean } } };

export type OpenQuestionsFragment = { approvals: { nodes: Array<{ id: string, status: ApprovalStatus, question: string, context: Json | null, assignee: string | null, assignees: Array<string>, quorum: number, dueAt: string | null, escalatedAt: string | null, stepNumber: number, canDecide: boolean, createdAt: string, expiresAt: string | null, decidedAt: string | null, comment: string | null, answer: Json | null, decidedBy: { kind: ActorKind, name: string } | null, answerFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }>, toolCall: { arguments: Json, argumentFields: Array<{ name: string, type: InputFieldType, title: string, description: string | null, required: boolean, default: Json | null, maxLength: number | null, choices: Array<{ value: string, title: string }> | null }> } | null, agent: { id: string, name: string }, run: { id: string, status: RunStatus }, decisions: Array<{ decision: Decision, comment: string | null, at: string, isOverride: boolean, by: { kind: ActorKind, id: string | null, name: string } }>, reassignments: Array<{ at: string, from: Array<string>, to: Array<string>, comment: string | null, isOverride: boolean, by: { name: string } }> }>, pageInfo: { hasNextPage: boolean } } | null };

export type MoreStepsQueryVariables = Exact<{
  id: string;
  after: number;
}>;


export type MoreStepsQuery = { run: { id: string, steps: Array<{ id: string, position: string, number: number, name: string, parentNumber: number | null, item: number | null, kind: string, status: StepStatus, duration: number | null, startedAt: string | null, finishedAt: string | null, taskPath: string, callName: string | null, attemptCount: number, error: { type: string, status: number, title: string | null, detail: string | null } | null, attempts: Array<{ number: number, status: StepStatus, startedAt: string | null, finishedAt: string | null }>, child: { id: string, status: RunStatus } | null }> } | null };

export type RunHeadFragment = { revision: number, version: string, id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, error: { type: string, status: number, title: string | null, detail: string | null, stepNumber: number | null } | null, startedBy: { kind: ActorKind, id: string | null, name: string }, agent: { id: string, name: string, handle: string } };

export type StepRowFragment = { id: string, position: string, number: number, name: string, parentNumber: number | null, item: number | null, kind: string, status: StepStatus, duration: number | null, startedAt: string | null, finishedAt: string | null, taskPath: string, callName: string | null, attemptCount: number, error: { type: string, status: number, title: string | null, detail: string | null } | null, attempts: Array<{ number: number, status: StepStatus, startedAt: string | null, finishedAt: string | null }>, child: { id: string, status: RunStatus } | null };

export type StepDetailQueryVariables = Exact<{
  id: string;
  attempts: number;
  after: number;
}>;


export type StepDetailQuery = { node:
    | { id: string, input: Json | null, output: Json | null, log: string | null, totalUsage: { inputTokens: number, outputTokens: number, cachedInputTokens: number, cost: number | null, currency: string | null } | null, error: { type: string, status: number, title: string | null, detail: string | null } | null, attempts: Array<{ number: number, status: StepStatus, startedAt: string | null, finishedAt: string | null, error: { status: number, title: string | null, detail: string | null } | null, response: { status: number, body: string | null } | null }> }
    | Record<PropertyKey, never>
   | null };

export type RunWaitsQueryVariables = Exact<{
  id: string;
}>;


export type RunWaitsQuery = { run: { id: string, waitingFor: Array<{ stepNumber: number, until: string | null }> } | null };

export type RunUsageQueryVariables = Exact<{
  id: string;
}>;


export type RunUsageQuery = { run: { id: string, usage: { inputTokens: number, outputTokens: number, cachedInputTokens: number, cost: number | null, currency: string | null } | null } | null };

export type StepUsageQueryVariables = Exact<{
  id: string;
}>;


export type StepUsageQuery = { node:
    | { id: string, totalUsage: { inputTokens: number, outputTokens: number, cachedInputTokens: number, cost: number | null, currency: string | null } | null }
    | Record<PropertyKey, never>
   | null };

export type SaidQueryVariables = Exact<{
  id: string;
}>;


export type SaidQuery = { node:
    | { id: string, input: Json | null, output: Json | null }
    | Record<PropertyKey, never>
   | null };

export type RunEventsSubscriptionVariables = Exact<{
  runId: string;
  after: number;
}>;


export type RunEventsSubscription = { runEvents: { revision: number, run: { revision: number, version: string, id: string, status: RunStatus, createdAt: string, startedAt: string | null, finishedAt: string | null, error: { type: string, status: number, title: string | null, detail: string | null, stepNumber: number | null } | null, startedBy: { kind: ActorKind, id: string | null, name: string }, agent: { id: string, name: string, handle: string } } | null, step: { id: string, position: string, number: number, name: string, parentNumber: number | null, item: number | null, kind: string, status: StepStatus, duration: number | null, startedAt: string | null, finishedAt: string | null, taskPath: string, callName: string | null, attemptCount: number, error: { type: string, status: number, title: string | null, detail: string | null } | null, attempts: Array<{ number: number, status: StepStatus, startedAt: string | null, finishedAt: string | null }>, child: { id: string, status: RunStatus } | null } | null, textDelta: { stepNumber: number, offset: number, text: string } | null } };

export type CancelRunMutationVariables = Exact<{
  runId: string;
}>;


export type CancelRunMutation = { cancelRun: { id: string, status: RunStatus, finishedAt: string | null } | null };

export type RerunRunMutationVariables = Exact<{
  input: RerunRunInput;
}>;


export type RerunRunMutation = { rerunRun: { id: string } | null };

export type RetryRunMutationVariables = Exact<{
  input: RetryRunInput;
}>;


export type RetryRunMutation = { retryRun: { id: string } | null };

export type FilterNamesQueryVariables = Exact<{
  agent: string;
  by: string;
  hasAgent: boolean;
  hasStarter: boolean;
}>;


export type FilterNamesQuery = { agent?: { id: string, name: string } | null, node?:
    | { id: string }
    | { name: string, id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { name: string, id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { name: string, id: string }
    | { id: string }
    | { id: string }
   | null };

export type FilterStartersQueryVariables = Exact<{
  triggers?: TriggerFilter | null | undefined;
  hasKeys: boolean;
}>;


export type FilterStartersQuery = { members: { nodes: Array<{ id: string, user: { id: string, name: string } }>, pageInfo: { hasNextPage: boolean } } | null, triggers: { nodes: Array<{ id: string, name: string, agent: { id: string, name: string } }>, pageInfo: { hasNextPage: boolean } } | null, apiKeys?: { nodes: Array<{ id: string, name: string }>, pageInfo: { hasNextPage: boolean } } | null };

export type KeysQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type KeysQuery = { apiKeys: { nodes: Array<{ id: string, name: string, hint: string, scopes: Array<string>, createdAt: string, expiresAt: string | null, revokedAt: string | null, lastUsedAt: string | null, projects: Array<{ id: string, name: string }> | null, agents: Array<{ id: string, name: string }> | null, createdBy: { kind: ActorKind, name: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null, apiKeyPresets: Array<{ id: string, title: string, description: string, scopes: Array<string>, needsAgent: boolean }> | null };

export type KeyReachQueryVariables = Exact<{ [key: string]: never; }>;


export type KeyReachQuery = { projects: { nodes: Array<{ id: string, name: string }>, pageInfo: { hasNextPage: boolean } } | null };

export type KeyRowFragment = { id: string, name: string, hint: string, scopes: Array<string>, createdAt: string, expiresAt: string | null, revokedAt: string | null, lastUsedAt: string | null, projects: Array<{ id: string, name: string }> | null, agents: Array<{ id: string, name: string }> | null, createdBy: { kind: ActorKind, name: string } };

export type CreateKeyMutationVariables = Exact<{
  input: CreateApiKeyInput;
}>;


export type CreateKeyMutation = { createApiKey: { id: string, name: string, secret: string | null, scopes: Array<string>, agents: Array<{ id: string, name: string, inputFields: Array<{ name: string, type: InputFieldType, required: boolean, default: Json | null, choices: Array<{ value: string }> | null }> }> | null } | null };

export type RevokeKeyMutationVariables = Exact<{
  input: RevokeApiKeyInput;
}>;


export type RevokeKeyMutation = { revokeApiKey: { id: string, revokedAt: string | null } | null };

export type MembersQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type MembersQuery = { members: { nodes: Array<{ id: string, role: Role, createdAt: string, user: { id: string, name: string, email: string | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type InvitationsQueryVariables = Exact<{ [key: string]: never; }>;


export type InvitationsQuery = { invitations: { nodes: Array<{ id: string, email: string | null, role: Role, expiresAt: string, createdBy: { kind: ActorKind, name: string } }> } | null };

export type MemberRowFragment = { id: string, role: Role, createdAt: string, user: { id: string, name: string, email: string | null } };

export type InvitationRowFragment = { id: string, email: string | null, role: Role, expiresAt: string, createdBy: { kind: ActorKind, name: string } };

export type SetMemberRoleMutationVariables = Exact<{
  input: SetMemberRoleInput;
}>;


export type SetMemberRoleMutation = { setMemberRole: { id: string, role: Role } | null };

export type RemoveMemberMutationVariables = Exact<{
  input: RemoveMemberInput;
}>;


export type RemoveMemberMutation = { removeMember: { id: string } | null };

export type LeaveOrganizationMutationVariables = Exact<{ [key: string]: never; }>;


export type LeaveOrganizationMutation = { leaveOrganization: { id: string } | null };

export type InviteMemberMutationVariables = Exact<{
  input: InviteMemberInput;
}>;


export type InviteMemberMutation = { inviteMember: { id: string, email: string | null, role: Role, url: string | null, isMailed: boolean | null } | null };

export type RevokeInvitationMutationVariables = Exact<{
  input: RevokeInvitationInput;
}>;


export type RevokeInvitationMutation = { revokeInvitation: { id: string } | null };

export type ModelProjectsQueryVariables = Exact<{
  after?: string | null | undefined;
  projectId: string;
  isOne: boolean;
}>;


export type ModelProjectsQuery = { node?:
    | { id: string, name: string }
    | Record<PropertyKey, never>
   | null, projects?: { nodes: Array<{ id: string, name: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type ModelsQueryVariables = Exact<{
  projectId: string;
}>;


export type ModelsQuery = { modelConnections: Array<{ id: string, name: string, provider: ModelProvider, baseUrl: string | null, model: string, hasKey: boolean, apiKeyHeader: string | null, isDefault: boolean, spend: Array<{ date: string, tokens: number, cost: number | null, currency: string | null }> | null, prices: { inputPerMillion: number, outputPerMillion: number, cachedInputPerMillion: number | null, currency: string } | null, limits: { concurrency: number | null, tokensPerDay: number | null, costPerDay: number | null } | null }> | null };

export type ModelToEditQueryVariables = Exact<{
  id: string;
}>;


export type ModelToEditQuery = { node:
    | { id: string, name: string, provider: ModelProvider, baseUrl: string | null, model: string, hasKey: boolean, apiKeyHeader: string | null, isDefault: boolean, prices: { inputPerMillion: number, outputPerMillion: number, cachedInputPerMillion: number | null, currency: string } | null, limits: { concurrency: number | null, tokensPerDay: number | null, costPerDay: number | null } | null }
    | Record<PropertyKey, never>
   | null };

export type ModelFragment = { id: string, name: string, provider: ModelProvider, baseUrl: string | null, model: string, hasKey: boolean, apiKeyHeader: string | null, isDefault: boolean, prices: { inputPerMillion: number, outputPerMillion: number, cachedInputPerMillion: number | null, currency: string } | null, limits: { concurrency: number | null, tokensPerDay: number | null, costPerDay: number | null } | null };

export type CreateModelMutationVariables = Exact<{
  input: CreateModelConnectionInput;
}>;


export type CreateModelMutation = { createModelConnection: { id: string, name: string, provider: ModelProvider, baseUrl: string | null, model: string, hasKey: boolean, apiKeyHeader: string | null, isDefault: boolean, prices: { inputPerMillion: number, outputPerMillion: number, cachedInputPerMillion: number | null, currency: string } | null, limits: { concurrency: number | null, tokensPerDay: number | null, costPerDay: number | null } | null } | null };

export type UpdateModelMutationVariables = Exact<{
  input: UpdateModelConnectionInput;
}>;


export type UpdateModelMutation = { updateModelConnection: { id: string, name: string, provider: ModelProvider, baseUrl: string | null, model: string, hasKey: boolean, apiKeyHeader: string | null, isDefault: boolean, prices: { inputPerMillion: number, outputPerMillion: number, cachedInputPerMillion: number | null, currency: string } | null, limits: { concurrency: number | null, tokensPerDay: number | null, costPerDay: number | null } | null } | null };

export type DeleteModelMutationVariables = Exact<{
  input: DeleteModelConnectionInput;
}>;


export type DeleteModelMutation = { deleteModelConnection: { id: string } | null };

export type TestModelMutationVariables = Exact<{
  input: TestModelConnectionInput;
}>;


export type TestModelMutation = { testModelConnection: { duration: number, answeredBy: string | null, hasTools: boolean | null, hasStructuredOutput: boolean | null, problem: LlmProblem | null, detail: string | null } | null };

export type LlmQueryVariables = Exact<{ [key: string]: never; }>;


export type LlmQuery = { llm: { isConfigured: boolean, host: string | null, model: string | null, hasKey: boolean | null } | null };

export type TestLlmMutationVariables = Exact<{ [key: string]: never; }>;


export type TestLlmMutation = { testLlm: { isConfigured: boolean, host: string | null, model: string | null, hasKey: boolean | null, test: { duration: number, problem: LlmProblem | null, detail: string | null } | null } | null };

export type LlmStateFragment = { isConfigured: boolean, host: string | null, model: string | null, hasKey: boolean | null };

export type SecretsQueryVariables = Exact<{
  projectId?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type SecretsQuery = { secrets: { nodes: Array<{ id: string, name: string, updatedAt: string, project: { id: string, handle: string, name: string }, updatedBy: { kind: ActorKind, name: string }, usedBy: Array<{ id: string, name: string }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null, projects: { nodes: Array<{ id: string, handle: string, name: string }>, pageInfo: { hasNextPage: boolean } } | null };

export type SecretRowFragment = { id: string, name: string, updatedAt: string, project: { id: string, handle: string, name: string }, updatedBy: { kind: ActorKind, name: string }, usedBy: Array<{ id: string, name: string }> };

export type SetSecretMutationVariables = Exact<{
  input: SetSecretInput;
}>;


export type SetSecretMutation = { setSecret: { id: string, name: string, updatedAt: string, project: { id: string, handle: string, name: string }, updatedBy: { kind: ActorKind, name: string }, usedBy: Array<{ id: string, name: string }> } | null };

export type DeleteSecretMutationVariables = Exact<{
  input: DeleteSecretInput;
}>;


export type DeleteSecretMutation = { deleteSecret: { id: string } | null };

export type SessionsQueryVariables = Exact<{ [key: string]: never; }>;


export type SessionsQuery = { sessions: { nodes: Array<{ id: string, client: SessionClient, address: string | null, userAgent: string | null, createdAt: string, refreshedAt: string, isCurrent: boolean, organization: { id: string, name: string } | null }> } | null };

export type SessionRowFragment = { id: string, client: SessionClient, address: string | null, userAgent: string | null, createdAt: string, refreshedAt: string, isCurrent: boolean, organization: { id: string, name: string } | null };

export type RevokeSessionMutationVariables = Exact<{
  input: RevokeSessionInput;
}>;


export type RevokeSessionMutation = { revokeSession: { id: string } | null };

export type RevokeOtherSessionsMutationVariables = Exact<{ [key: string]: never; }>;


export type RevokeOtherSessionsMutation = { revokeOtherSessions: { revokedCount: number } | null };

export type ChangePasswordMutationVariables = Exact<{
  input: ChangePasswordInput;
}>;


export type ChangePasswordMutation = { changePassword: { id: string } | null };

export type PlanAndRateQueryVariables = Exact<{ [key: string]: never; }>;


export type PlanAndRateQuery = { organization: { id: string, plan: Plan } | null, rateLimit: { plan: Plan, limit: number | null, remaining: number | null, resetAt: string | null } | null };

export type ModelUseQueryVariables = Exact<{
  days: number;
}>;


export type ModelUseQuery = { usage: Array<{ date: string, modelCost: number | null, modelCostCurrency: string | null, agents: Array<{ tokens: number, cost: number | null, currency: string | null, agent: { id: string, name: string } | null }> | null, connections: Array<{ name: string, isOperators: boolean, tokens: number, cost: number | null, currency: string | null, project: { id: string, name: string } | null }> | null }> | null };

export type UsageQueryVariables = Exact<{
  days: number;
}>;


export type UsageQuery = { usage: Array<{ date: string, requests: number, refused: number, runs: number, steps: number, modelTokens: number }> | null };

export const FrameDocument = typed<FrameQuery, FrameQueryVariables>(
  "query Frame{caller{user{id name email}role scopes memberships{organization{id name}}}organization{id name}projects(first:200){nodes{id handle name}pageInfo{hasNextPage}}}",
);

export const BadgesDocument = typed<BadgesSubscription, BadgesSubscriptionVariables>(
  "subscription Badges($projectId:ID){badgesChanged(projectId:$projectId){openRuns openApprovals}}",
);

export const PaletteAgentsDocument = typed<PaletteAgentsQuery, PaletteAgentsQueryVariables>(
  "query PaletteAgents($filter:AgentFilter){agentsConnection(filter:$filter order:name first:20){nodes{id name handle status project{id handle}}}}",
);

export const PaletteRunsDocument = typed<PaletteRunsQuery, PaletteRunsQueryVariables>(
  "query PaletteRuns($prefix:String!){runs(filter:{idPrefix:$prefix}first:5){nodes{id status createdAt agent{id name}}}}",
);

export const RunsDocument = typed<RunsQuery, RunsQueryVariables>(
  "query Runs($filter:RunFilter$first:Int!$after:String){runs(filter:$filter first:$first after:$after){nodes{...ListedRun}pageInfo{hasNextPage endCursor}}} fragment ListedRun on Run{...RunRow summary{input{title text}step error}} fragment RunRow on Run{...RunBar version startedBy{kind id name}agent{id name handle}} fragment RunBar on Run{id status createdAt startedAt finishedAt}",
);

export const RunsChangedDocument = typed<RunsChangedSubscription, RunsChangedSubscriptionVariables>(
  "subscription RunsChanged($projectId:ID$agentId:ID){runsChanged(projectId:$projectId agentId:$agentId){...ListedRun}} fragment ListedRun on Run{...RunRow summary{input{title text}step error}} fragment RunRow on Run{...RunBar version startedBy{kind id name}agent{id name handle}} fragment RunBar on Run{id status createdAt startedAt finishedAt}",
);

export const RunsToCancelDocument = typed<RunsToCancelQuery, RunsToCancelQueryVariables>(
  "query RunsToCancel($filter:RunFilter){runCount(filter:$filter){value isExact}}",
);

export const CancelRunsDocument = typed<CancelRunsMutation, CancelRunsMutationVariables>(
  "mutation CancelRuns($input:CancelRunsInput!){cancelRuns(input:$input){cancelledCount}}",
);

export const ReassignDocument = typed<ReassignMutation, ReassignMutationVariables>(
  "mutation Reassign($input:ReassignApprovalInput!){reassignApproval(input:$input){id status canDecide assignees dueAt ...ApprovalReassignments}} fragment ApprovalReassignments on Approval{reassignments{by{name}at from to comment isOverride}}",
);

export const DecideDocument = typed<DecideMutation, DecideMutationVariables>(
  "mutation Decide($input:DecideApprovalInput!){decideApproval(input:$input){id status canDecide decidedAt decidedBy{kind name}comment answer ...ApprovalDecisions run{id status}}} fragment ApprovalDecisions on Approval{decisions{by{kind id name}decision comment at isOverride}}",
);

export const FindAgentsDocument = typed<FindAgentsQuery, FindAgentsQueryVariables>(
  "query FindAgents($filter:AgentFilter){agentsConnection(filter:$filter order:name first:50){nodes{id name handle project{id handle}}pageInfo{hasNextPage}}}",
);

export const StartRunDocument = typed<StartRunMutation, StartRunMutationVariables>(
  "mutation StartRun($input:RunAgentInput!){runAgent(input:$input){id status createdAt startedAt finishedAt agent{id}}}",
);

export const DraftRunInputDocument = typed<DraftRunInputMutation, DraftRunInputMutationVariables>(
  "mutation DraftRunInput($input:DraftInput!){draftRunInput(input:$input){id agent{...RunFormAgent}agentSource input fields{name source sure reason}missing unread modelProblem}} fragment RunFormAgent on Agent{id name handle inputSchema inputFields{...FormField}} fragment FormField on InputField{name type title description required choices{value title}default maxLength}",
);

export const ExampleAgentsDocument = typed<ExampleAgentsQuery, ExampleAgentsQueryVariables>(
  "query ExampleAgents{agentsConnection(filter:{status:[active]}first:3){nodes{id name inputFields{...FormField}}}} fragment FormField on InputField{name type title description required choices{value title}default maxLength}",
);

export const AgentPageDocument = typed<AgentPageQuery, AgentPageQueryVariables>(
  "query AgentPage($id:ID!$from:ID!$hasFrom:Boolean!){agent(id:$id){...RunFormAgent ...ChangedTools description status version concurrency agentVersion{id}project{id handle}recent:runs(first:10 filter:{startedBy:{kind:[user key]}}){nodes{id createdAt input}}}from:run(id:$from)@include(if:$hasFrom){id input}} fragment RunFormAgent on Agent{id name handle inputSchema inputFields{...FormField}} fragment FormField on InputField{name type title description required choices{value title}default maxLength} fragment ChangedTools on Agent{changedTools:pinnedTools(isChanged:true first:100){edges{cursor node{name server change{hash seenAt}}}pageInfo{hasNextPage}}}",
);

export const SetAgentStatusDocument = typed<SetAgentStatusMutation, SetAgentStatusMutationVariables>(
  "mutation SetAgentStatus($input:SetAgentStatusInput!){setAgentStatus(input:$input){id status}}",
);

export const SetAgentLimitDocument = typed<SetAgentLimitMutation, SetAgentLimitMutationVariables>(
  "mutation SetAgentLimit($input:SetAgentLimitInput!){setAgentLimit(input:$input){id concurrency}}",
);

export const ToolChangeDocument = typed<ToolChangeQuery, ToolChangeQueryVariables>(
  "query ToolChange($id:ID!$after:String){agent(id:$id){id toolChange:pinnedTools(isChanged:true first:1 after:$after){nodes{pinned{description inputSchema hints}change{hash described{description inputSchema hints}}}}}}",
);

export const TrustToolsDocument = typed<TrustToolsMutation, TrustToolsMutationVariables>(
  "mutation TrustTools($input:TrustToolsInput!){trustTools(input:$input){id ...ChangedTools}} fragment ChangedTools on Agent{changedTools:pinnedTools(isChanged:true first:100){edges{cursor node{name server change{hash seenAt}}}pageInfo{hasNextPage}}}",
);

export const AgentDefinitionDocument = typed<AgentDefinitionQuery, AgentDefinitionQueryVariables>(
  "query AgentDefinition($id:ID!){agent(id:$id){id definition version draft{...SavedDraft}versions(first:20){...VersionPage}}} fragment SavedDraft on AgentDraft{definition revision savedAt savedBy{kind name}} fragment VersionPage on AgentVersionConnection{nodes{id version createdAt createdBy{name}}pageInfo{hasNextPage endCursor}}",
);

export const OlderVersionsDocument = typed<OlderVersionsQuery, OlderVersionsQueryVariables>(
  "query OlderVersions($id:ID!$after:String){agent(id:$id){id versions(first:50 after:$after){...VersionPage}}} fragment VersionPage on AgentVersionConnection{nodes{id version createdAt createdBy{name}}pageInfo{hasNextPage endCursor}}",
);

export const AgentVersionTextDocument = typed<AgentVersionTextQuery, AgentVersionTextQueryVariables>(
  "query AgentVersionText($id:ID!$version:String!){agent(id:$id){id agentVersion(version:$version){id definition}}}",
);

export const CheckDefinitionDocument = typed<CheckDefinitionQuery, CheckDefinitionQueryVariables>(
  "query CheckDefinition($definition:String!){validateDefinition(definition:$definition){problems{line column message severity}}}",
);

export const SaveDraftDocument = typed<SaveDraftMutation, SaveDraftMutationVariables>(
  "mutation SaveDraft($input:SaveAgentDraftInput!){saveAgentDraft(input:$input){id name description draft{...SavedDraft}}} fragment SavedDraft on AgentDraft{definition revision savedAt savedBy{kind name}}",
);

export const PublishDocument = typed<PublishMutation, PublishMutationVariables>(
  "mutation Publish($input:PublishAgentInput!){publishAgent(input:$input){...PublishedAgent draft{...SavedDraft}}} fragment PublishedAgent on Agent{...RunFormAgent ...ChangedTools description status version definition agentVersion{id}} fragment RunFormAgent on Agent{id name handle inputSchema inputFields{...FormField}} fragment FormField on InputField{name type title description required choices{value title}default maxLength} fragment ChangedTools on Agent{changedTools:pinnedTools(isChanged:true first:100){edges{cursor node{name server change{hash seenAt}}}pageInfo{hasNextPage}}} fragment SavedDraft on AgentDraft{definition revision savedAt savedBy{kind name}}",
);

export const PublishVersionDocument = typed<PublishVersionMutation, PublishVersionMutationVariables>(
  "mutation PublishVersion($input:PublishAgentVersionInput!){publishAgentVersion(input:$input){...PublishedAgent}} fragment PublishedAgent on Agent{...RunFormAgent ...ChangedTools description status version definition agentVersion{id}} fragment RunFormAgent on Agent{id name handle inputSchema inputFields{...FormField}} fragment FormField on InputField{name type title description required choices{value title}default maxLength} fragment ChangedTools on Agent{changedTools:pinnedTools(isChanged:true first:100){edges{cursor node{name server change{hash seenAt}}}pageInfo{hasNextPage}}}",
);

export const CreateProjectDocument = typed<CreateProjectMutation, CreateProjectMutationVariables>(
  "mutation CreateProject($input:CreateProjectInput!){createProject(input:$input){id handle}}",
);

export const FailureMailsDocument = typed<FailureMailsQuery, FailureMailsQueryVariables>(
  "query FailureMails($id:ID!){agent(id:$id){id failureMails}members(first:200){nodes{id user{id name email}}pageInfo{hasNextPage}}}",
);

export const SetFailureMailsDocument = typed<SetFailureMailsMutation, SetFailureMailsMutationVariables>(
  "mutation SetFailureMails($input:SetFailureMailsInput!){setFailureMails(input:$input){id failureMails}}",
);

export const AgentTriggersDocument = typed<AgentTriggersQuery, AgentTriggersQueryVariables>(
  "query AgentTriggers($id:ID!){agent(id:$id){id inputFields{...FormField}triggers(first:100){nodes{...TriggerPart}}}} fragment FormField on InputField{name type title description required choices{value title}default maxLength} fragment TriggerPart on Trigger{id name type status isManaged schedule timezone input source event filter url formerUrlUntil curl nextDueAt nextInstants(count:5){at isShifted}firings(first:5){nodes{...FiringRow}pageInfo{hasNextPage endCursor}}policy{overlap missed jitterSeconds mapping accept filter signature allowedAddresses catchUpMinutes startsAt endsAt deliveryHeader}} fragment FiringRow on Firing{id at dueAt outcome policy code message skipped delivery trigger{id}run{id status}}",
);

export const OlderFiringsDocument = typed<OlderFiringsQuery, OlderFiringsQueryVariables>(
  "query OlderFirings($id:ID!$after:String){trigger(id:$id){id firings(first:20 after:$after){nodes{...FiringRow}pageInfo{hasNextPage endCursor}}}} fragment FiringRow on Firing{id at dueAt outcome policy code message skipped delivery trigger{id}run{id status}}",
);

export const FiringsChangedDocument = typed<FiringsChangedSubscription, FiringsChangedSubscriptionVariables>(
  "subscription FiringsChanged($agentId:ID){firingsChanged(agentId:$agentId){...FiringRow}} fragment FiringRow on Firing{id at dueAt outcome policy code message skipped delivery trigger{id}run{id status}}",
);

export const CronPreviewDocument = typed<CronPreviewQuery, CronPreviewQueryVariables>(
  "query CronPreview($schedule:String!$timezone:String!){cronPreview(schedule:$schedule timezone:$timezone count:5){at isShifted}}",
);

export const CreateTriggerDocument = typed<CreateTriggerMutation, CreateTriggerMutationVariables>(
  "mutation CreateTrigger($input:CreateTriggerInput!){createTrigger(input:$input){...TriggerPart}} fragment TriggerPart on Trigger{id name type status isManaged schedule timezone input source event filter url formerUrlUntil curl nextDueAt nextInstants(count:5){at isShifted}firings(first:5){nodes{...FiringRow}pageInfo{hasNextPage endCursor}}policy{overlap missed jitterSeconds mapping accept filter signature allowedAddresses catchUpMinutes startsAt endsAt deliveryHeader}} fragment FiringRow on Firing{id at dueAt outcome policy code message skipped delivery trigger{id}run{id status}}",
);

export const UpdateTriggerDocument = typed<UpdateTriggerMutation, UpdateTriggerMutationVariables>(
  "mutation UpdateTrigger($input:UpdateTriggerInput!){updateTrigger(input:$input){...TriggerPart}} fragment TriggerPart on Trigger{id name type status isManaged schedule timezone input source event filter url formerUrlUntil curl nextDueAt nextInstants(count:5){at isShifted}firings(first:5){nodes{...FiringRow}pageInfo{hasNextPage endCursor}}policy{overlap missed jitterSeconds mapping accept filter signature allowedAddresses catchUpMinutes startsAt endsAt deliveryHeader}} fragment FiringRow on Firing{id at dueAt outcome policy code message skipped delivery trigger{id}run{id status}}",
);

export const SetTriggerStatusDocument = typed<SetTriggerStatusMutation, SetTriggerStatusMutationVariables>(
  "mutation SetTriggerStatus($input:SetTriggerStatusInput!){setTriggerStatus(input:$input){id status nextDueAt}}",
);

export const DeleteTriggerDocument = typed<DeleteTriggerMutation, DeleteTriggerMutationVariables>(
  "mutation DeleteTrigger($input:DeleteTriggerInput!){deleteTrigger(input:$input){id}}",
);

export const FireTriggerDocument = typed<FireTriggerMutation, FireTriggerMutationVariables>(
  "mutation FireTrigger($input:FireTriggerInput!){fireTrigger(input:$input){...FiringRow}} fragment FiringRow on Firing{id at dueAt outcome policy code message skipped delivery trigger{id}run{id status}}",
);

export const ReplayFiringDocument = typed<ReplayFiringMutation, ReplayFiringMutationVariables>(
  "mutation ReplayFiring($input:ReplayFiringInput!){replayFiring(input:$input){...FiringRow}} fragment FiringRow on Firing{id at dueAt outcome policy code message skipped delivery trigger{id}run{id status}}",
);

export const RotateWebhookTokenDocument = typed<RotateWebhookTokenMutation, RotateWebhookTokenMutationVariables>(
  "mutation RotateWebhookToken($input:RotateWebhookTokenInput!){rotateWebhookToken(input:$input){...TriggerPart}} fragment TriggerPart on Trigger{id name type status isManaged schedule timezone input source event filter url formerUrlUntil curl nextDueAt nextInstants(count:5){at isShifted}firings(first:5){nodes{...FiringRow}pageInfo{hasNextPage endCursor}}policy{overlap missed jitterSeconds mapping accept filter signature allowedAddresses catchUpMinutes startsAt endsAt deliveryHeader}} fragment FiringRow on Firing{id at dueAt outcome policy code message skipped delivery trigger{id}run{id status}}",
);

export const AgentsDocument = typed<AgentsQuery, AgentsQueryVariables>(
  "query Agents($filter:AgentFilter$first:Int!$after:String){agentsConnection(filter:$filter order:name first:$first after:$after){nodes{...AgentRow}pageInfo{hasNextPage endCursor}}} fragment AgentRow on Agent{id name handle status version project{id handle}triggers(first:4){nodes{id name type status schedule timezone event nextDueAt}pageInfo{hasNextPage}}runs(first:20){nodes{...RunBar}}} fragment RunBar on Run{id status createdAt startedAt finishedAt}",
);

export const AgentsChangedDocument = typed<AgentsChangedSubscription, AgentsChangedSubscriptionVariables>(
  "subscription AgentsChanged($projectId:ID){agentsChanged(projectId:$projectId){id name status version}}",
);

export const AgentsRunsDocument = typed<AgentsRunsSubscription, AgentsRunsSubscriptionVariables>(
  "subscription AgentsRuns($projectId:ID){runsChanged(projectId:$projectId){...RunBar agent{id}}} fragment RunBar on Run{id status createdAt startedAt finishedAt}",
);

export const FirstVisitDocument = typed<FirstVisitQuery, FirstVisitQueryVariables>(
  "query FirstVisit($id:ID!){agent(id:$id){...RunFormAgent description}} fragment RunFormAgent on Agent{id name handle inputSchema inputFields{...FormField}} fragment FormField on InputField{name type title description required choices{value title}default maxLength}",
);

export const ApprovalsDocument = typed<ApprovalsQuery, ApprovalsQueryVariables>(
  "query Approvals($filter:ApprovalFilter$direction:SortDirection$first:Int!$after:String){approvals(filter:$filter direction:$direction first:$first after:$after){nodes{...ApprovalCard}pageInfo{hasNextPage endCursor}}} fragment ApprovalCard on Approval{id status question context assignee assignees quorum dueAt escalatedAt ...ApprovalDecisions ...ApprovalReassignments stepNumber canDecide createdAt expiresAt decidedAt decidedBy{kind name}comment answer answerFields{...FormField}toolCall{arguments argumentFields{...FormField}}agent{id name}run{id status}} fragment ApprovalDecisions on Approval{decisions{by{kind id name}decision comment at isOverride}} fragment ApprovalReassignments on Approval{reassignments{by{name}at from to comment isOverride}} fragment FormField on InputField{name type title description required choices{value title}default maxLength}",
);

export const LinkedApprovalDocument = typed<LinkedApprovalQuery, LinkedApprovalQueryVariables>(
  "query LinkedApproval($id:ID!){approval(id:$id){...ApprovalCard}} fragment ApprovalCard on Approval{id status question context assignee assignees quorum dueAt escalatedAt ...ApprovalDecisions ...ApprovalReassignments stepNumber canDecide createdAt expiresAt decidedAt decidedBy{kind name}comment answer answerFields{...FormField}toolCall{arguments argumentFields{...FormField}}agent{id name}run{id status}} fragment ApprovalDecisions on Approval{decisions{by{kind id name}decision comment at isOverride}} fragment ApprovalReassignments on Approval{reassignments{by{name}at from to comment isOverride}} fragment FormField on InputField{name type title description required choices{value title}default maxLength}",
);

export const MissedApprovalsDocument = typed<MissedApprovalsQuery, MissedApprovalsQueryVariables>(
  "query MissedApprovals($open:ApprovalFilter$decided:ApprovalFilter){open:approvals(filter:$open direction:asc first:100){nodes{...ApprovalState}}decided:approvals(filter:$decided direction:desc first:100){nodes{...ApprovalState}}} fragment ApprovalState on Approval{id status canDecide decidedAt decidedBy{kind name}comment answer assignees dueAt escalatedAt ...ApprovalDecisions ...ApprovalReassignments} fragment ApprovalDecisions on Approval{decisions{by{kind id name}decision comment at isOverride}} fragment ApprovalReassignments on Approval{reassignments{by{name}at from to comment isOverride}}",
);

export const ApprovalsChangedDocument = typed<ApprovalsChangedSubscription, ApprovalsChangedSubscriptionVariables>(
  "subscription ApprovalsChanged($projectId:ID){approvalsChanged(projectId:$projectId){...ApprovalCard}} fragment ApprovalCard on Approval{id status question context assignee assignees quorum dueAt escalatedAt ...ApprovalDecisions ...ApprovalReassignments stepNumber canDecide createdAt expiresAt decidedAt decidedBy{kind name}comment answer answerFields{...FormField}toolCall{arguments argumentFields{...FormField}}agent{id name}run{id status}} fragment ApprovalDecisions on Approval{decisions{by{kind id name}decision comment at isOverride}} fragment ApprovalReassignments on Approval{reassignments{by{name}at from to comment isOverride}} fragment FormField on InputField{name type title description required choices{value title}default maxLength}",
);

export const EventsDocument = typed<EventsQuery, EventsQueryVariables>(
  "query Events($filter:EventFilter$first:Int!$after:String){events(filter:$filter first:$first after:$after){nodes{...EventLine}pageInfo{hasNextPage endCursor}}} fragment EventLine on Event{...EventRow firings(first:2){nodes{id outcome run{id status}}pageInfo{hasNextPage}}} fragment EventRow on Event{id source event sourceId at publishedBy{kind name}}",
);

export const EventPageDocument = typed<EventPageQuery, EventPageQueryVariables>(
  "query EventPage($id:ID!){event(id:$id){...EventRow time data matches{...EventTrigger}misses{trigger{...EventTrigger}reason}firings(first:50){...EventFirings}}} fragment EventRow on Event{id source event sourceId at publishedBy{kind name}} fragment EventTrigger on Trigger{id name status agent{id name}} fragment EventFirings on FiringConnection{nodes{id outcome message trigger{...EventTrigger}run{id status}}pageInfo{hasNextPage endCursor}}",
);

export const OlderEventFiringsDocument = typed<OlderEventFiringsQuery, OlderEventFiringsQueryVariables>(
  "query OlderEventFirings($id:ID!$after:String){event(id:$id){id firings(first:100 after:$after){...EventFirings}}} fragment EventFirings on FiringConnection{nodes{id outcome message trigger{...EventTrigger}run{id status}}pageInfo{hasNextPage endCursor}} fragment EventTrigger on Trigger{id name status agent{id name}}",
);

export const EventsChangedDocument = typed<EventsChangedSubscription, EventsChangedSubscriptionVariables>(
  "subscription EventsChanged{eventsChanged{id source}}",
);

export const PublishEventDocument = typed<PublishEventMutation, PublishEventMutationVariables>(
  "mutation PublishEvent($input:PublishEventInput!){publishEvent(input:$input){id}}",
);

export const InvitationDocument = typed<InvitationQuery, InvitationQueryVariables>(
  "query Invitation($token:String!){invitation(token:$token){organizationName email role expiresAt}}",
);

export const RequestPasswordResetDocument = typed<RequestPasswordResetMutation, RequestPasswordResetMutationVariables>(
  "mutation RequestPasswordReset($input:RequestPasswordResetInput!){requestPasswordReset(input:$input){email}}",
);

export const ResetPasswordDocument = typed<ResetPasswordMutation, ResetPasswordMutationVariables>(
  "mutation ResetPassword($input:ResetPasswordInput!){resetPassword(input:$input){email}}",
);

export const RunPageDocument = typed<RunPageQuery, RunPageQueryVariables>(
  "query RunPage($id:ID!){run(id:$id){...RunHead input draftText stepCount runAt agentVersion{id tasks{path parentPath name kind}}...RunQuestions usage{...UsedModels}parent{id}retryOf{id}steps(first:500){...StepRow}}...OpenQuestions} fragment RunHead on Run{...RunRow revision error{type status title detail stepNumber}} fragment RunRow on Run{...RunBar version startedBy{kind id name}agent{id name handle}} fragment RunBar on Run{id status createdAt startedAt finishedAt} fragment RunQuestions on Run{output approvals(first:20){nodes{...ApprovalCard}pageInfo{hasNextPage}}} fragment ApprovalCard on Approval{id status question context assignee assignees quorum dueAt escalatedAt ...ApprovalDecisions ...ApprovalReassignments stepNumber canDecide createdAt expiresAt decidedAt decidedBy{kind name}comment answer answerFields{...FormField}toolCall{arguments argumentFields{...FormField}}agent{id name}run{id status}} fragment ApprovalDecisions on Approval{decisions{by{kind id name}decision comment at isOverride}} fragment ApprovalReassignments on Approval{reassignments{by{name}at from to comment isOverride}} fragment FormField on InputField{name type title description required choices{value title}default maxLength} fragment UsedModels on ModelUsage{inputTokens outputTokens cachedInputTokens cost currency} fragment StepRow on Step{id position number name parentNumber item kind status duration startedAt finishedAt taskPath callName attemptCount error{type status title detail}attempts(first:10){number status startedAt finishedAt}child{id status}} fragment OpenQuestions on Query{approvals(filter:{runId:[$id]status:[open]}direction:asc first:20){nodes{...ApprovalCard}pageInfo{hasNextPage}}}",
);

export const RunOutcomeDocument = typed<RunOutcomeQuery, RunOutcomeQueryVariables>(
  "query RunOutcome($id:ID!){run(id:$id){id ...RunQuestions usage{...UsedModels}}...OpenQuestions} fragment RunQuestions on Run{output approvals(first:20){nodes{...ApprovalCard}pageInfo{hasNextPage}}} fragment ApprovalCard on Approval{id status question context assignee assignees quorum dueAt escalatedAt ...ApprovalDecisions ...ApprovalReassignments stepNumber canDecide createdAt expiresAt decidedAt decidedBy{kind name}comment answer answerFields{...FormField}toolCall{arguments argumentFields{...FormField}}agent{id name}run{id status}} fragment ApprovalDecisions on Approval{decisions{by{kind id name}decision comment at isOverride}} fragment ApprovalReassignments on Approval{reassignments{by{name}at from to comment isOverride}} fragment FormField on InputField{name type title description required choices{value title}default maxLength} fragment UsedModels on ModelUsage{inputTokens outputTokens cachedInputTokens cost currency} fragment OpenQuestions on Query{approvals(filter:{runId:[$id]status:[open]}direction:asc first:20){nodes{...ApprovalCard}pageInfo{hasNextPage}}}",
);

export const MoreStepsDocument = typed<MoreStepsQuery, MoreStepsQueryVariables>(
  "query MoreSteps($id:ID!$after:Int!){run(id:$id){id steps(first:500 after:$after){...StepRow}}} fragment StepRow on Step{id position number name parentNumber item kind status duration startedAt finishedAt taskPath callName attemptCount error{type status title detail}attempts(first:10){number status startedAt finishedAt}child{id status}}",
);

export const StepDetailDocument = typed<StepDetailQuery, StepDetailQueryVariables>(
  "query StepDetail($id:ID!$attempts:Int!$after:Int!){node(id:$id){...on Step{id input output log totalUsage{...UsedModels}error{type status title detail}attempts(first:$attempts after:$after){number status startedAt finishedAt error{status title detail}response{status body}}}}} fragment UsedModels on ModelUsage{inputTokens outputTokens cachedInputTokens cost currency}",
);

export const RunWaitsDocument = typed<RunWaitsQuery, RunWaitsQueryVariables>(
  "query RunWaits($id:ID!){run(id:$id){id waitingFor(first:100){stepNumber until}}}",
);

export const RunUsageDocument = typed<RunUsageQuery, RunUsageQueryVariables>(
  "query RunUsage($id:ID!){run(id:$id){id usage{...UsedModels}}} fragment UsedModels on ModelUsage{inputTokens outputTokens cachedInputTokens cost currency}",
);

export const StepUsageDocument = typed<StepUsageQuery, StepUsageQueryVariables>(
  "query StepUsage($id:ID!){node(id:$id){...on Step{id totalUsage{...UsedModels}}}} fragment UsedModels on ModelUsage{inputTokens outputTokens cachedInputTokens cost currency}",
);

export const SaidDocument = typed<SaidQuery, SaidQueryVariables>(
  "query Said($id:ID!){node(id:$id){...on Step{id input output}}}",
);

export const RunEventsDocument = typed<RunEventsSubscription, RunEventsSubscriptionVariables>(
  "subscription RunEvents($runId:ID!$after:Int!){runEvents(runId:$runId after:$after){revision run{...RunHead}step{...StepRow}textDelta{stepNumber offset text}}} fragment RunHead on Run{...RunRow revision error{type status title detail stepNumber}} fragment RunRow on Run{...RunBar version startedBy{kind id name}agent{id name handle}} fragment RunBar on Run{id status createdAt startedAt finishedAt} fragment StepRow on Step{id position number name parentNumber item kind status duration startedAt finishedAt taskPath callName attemptCount error{type status title detail}attempts(first:10){number status startedAt finishedAt}child{id status}}",
);

export const CancelRunDocument = typed<CancelRunMutation, CancelRunMutationVariables>(
  "mutation CancelRun($runId:ID!){cancelRun(runId:$runId){id status finishedAt}}",
);

export const RerunRunDocument = typed<RerunRunMutation, RerunRunMutationVariables>(
  "mutation RerunRun($input:RerunRunInput!){rerunRun(input:$input){id}}",
);

export const RetryRunDocument = typed<RetryRunMutation, RetryRunMutationVariables>(
  "mutation RetryRun($input:RetryRunInput!){retryRun(input:$input){id}}",
);

export const FilterNamesDocument = typed<FilterNamesQuery, FilterNamesQueryVariables>(
  "query FilterNames($agent:ID!$by:ID!$hasAgent:Boolean!$hasStarter:Boolean!){agent(id:$agent)@include(if:$hasAgent){id name}node(id:$by)@include(if:$hasStarter){id ...on User{name}...on ApiKey{name}...on Trigger{name}}}",
);

export const FilterStartersDocument = typed<FilterStartersQuery, FilterStartersQueryVariables>(
  "query FilterStarters($triggers:TriggerFilter$hasKeys:Boolean!){members(first:200){nodes{id user{id name}}pageInfo{hasNextPage}}triggers(filter:$triggers first:200){nodes{id name agent{id name}}pageInfo{hasNextPage}}apiKeys(first:200)@include(if:$hasKeys){nodes{id name}pageInfo{hasNextPage}}}",
);

export const KeysDocument = typed<KeysQuery, KeysQueryVariables>(
  "query Keys($after:String){apiKeys(first:50 after:$after){nodes{...KeyRow}pageInfo{hasNextPage endCursor}}apiKeyPresets{id title description scopes needsAgent}} fragment KeyRow on ApiKey{id name hint scopes projects{id name}agents{id name}createdBy{kind name}createdAt expiresAt revokedAt lastUsedAt}",
);

export const KeyReachDocument = typed<KeyReachQuery, KeyReachQueryVariables>(
  "query KeyReach{projects(first:200){nodes{id name}pageInfo{hasNextPage}}}",
);

export const CreateKeyDocument = typed<CreateKeyMutation, CreateKeyMutationVariables>(
  "mutation CreateKey($input:CreateApiKeyInput!){createApiKey(input:$input){id name secret scopes agents{id name inputFields{name type required choices{value}default}}}}",
);

export const RevokeKeyDocument = typed<RevokeKeyMutation, RevokeKeyMutationVariables>(
  "mutation RevokeKey($input:RevokeApiKeyInput!){revokeApiKey(input:$input){id revokedAt}}",
);

export const MembersDocument = typed<MembersQuery, MembersQueryVariables>(
  "query Members($after:String){members(first:50 after:$after){nodes{...MemberRow}pageInfo{hasNextPage endCursor}}} fragment MemberRow on Member{id role createdAt user{id name email}}",
);

export const InvitationsDocument = typed<InvitationsQuery, InvitationsQueryVariables>(
  "query Invitations{invitations(first:100){nodes{...InvitationRow}}} fragment InvitationRow on Invitation{id email role expiresAt createdBy{kind name}}",
);

export const SetMemberRoleDocument = typed<SetMemberRoleMutation, SetMemberRoleMutationVariables>(
  "mutation SetMemberRole($input:SetMemberRoleInput!){setMemberRole(input:$input){id role}}",
);

export const RemoveMemberDocument = typed<RemoveMemberMutation, RemoveMemberMutationVariables>(
  "mutation RemoveMember($input:RemoveMemberInput!){removeMember(input:$input){id}}",
);

export const LeaveOrganizationDocument = typed<LeaveOrganizationMutation, LeaveOrganizationMutationVariables>(
  "mutation LeaveOrganization{leaveOrganization{id}}",
);

export const InviteMemberDocument = typed<InviteMemberMutation, InviteMemberMutationVariables>(
  "mutation InviteMember($input:InviteMemberInput!){inviteMember(input:$input){id email role url isMailed}}",
);

export const RevokeInvitationDocument = typed<RevokeInvitationMutation, RevokeInvitationMutationVariables>(
  "mutation RevokeInvitation($input:RevokeInvitationInput!){revokeInvitation(input:$input){id}}",
);

export const ModelProjectsDocument = typed<ModelProjectsQuery, ModelProjectsQueryVariables>(
  "query ModelProjects($after:String$projectId:ID!$isOne:Boolean!){node(id:$projectId)@include(if:$isOne){...on Project{id name}}projects(first:10 after:$after)@skip(if:$isOne){nodes{id name}pageInfo{hasNextPage endCursor}}}",
);

export const ModelsDocument = typed<ModelsQuery, ModelsQueryVariables>(
  "query Models($projectId:ID!){modelConnections(projectId:$projectId){...Model spend(days:7){date tokens cost currency}}} fragment Model on ModelConnection{id name provider baseUrl model hasKey apiKeyHeader isDefault prices{inputPerMillion outputPerMillion cachedInputPerMillion currency}limits{concurrency tokensPerDay costPerDay}}",
);

export const ModelToEditDocument = typed<ModelToEditQuery, ModelToEditQueryVariables>(
  "query ModelToEdit($id:ID!){node(id:$id){...Model}} fragment Model on ModelConnection{id name provider baseUrl model hasKey apiKeyHeader isDefault prices{inputPerMillion outputPerMillion cachedInputPerMillion currency}limits{concurrency tokensPerDay costPerDay}}",
);

export const CreateModelDocument = typed<CreateModelMutation, CreateModelMutationVariables>(
  "mutation CreateModel($input:CreateModelConnectionInput!){createModelConnection(input:$input){...Model}} fragment Model on ModelConnection{id name provider baseUrl model hasKey apiKeyHeader isDefault prices{inputPerMillion outputPerMillion cachedInputPerMillion currency}limits{concurrency tokensPerDay costPerDay}}",
);

export const UpdateModelDocument = typed<UpdateModelMutation, UpdateModelMutationVariables>(
  "mutation UpdateModel($input:UpdateModelConnectionInput!){updateModelConnection(input:$input){...Model}} fragment Model on ModelConnection{id name provider baseUrl model hasKey apiKeyHeader isDefault prices{inputPerMillion outputPerMillion cachedInputPerMillion currency}limits{concurrency tokensPerDay costPerDay}}",
);

export const DeleteModelDocument = typed<DeleteModelMutation, DeleteModelMutationVariables>(
  "mutation DeleteModel($input:DeleteModelConnectionInput!){deleteModelConnection(input:$input){id}}",
);

export const TestModelDocument = typed<TestModelMutation, TestModelMutationVariables>(
  "mutation TestModel($input:TestModelConnectionInput!){testModelConnection(input:$input){duration answeredBy hasTools hasStructuredOutput problem detail}}",
);

export const LlmDocument = typed<LlmQuery, LlmQueryVariables>(
  "query Llm{llm{...LlmState}} fragment LlmState on Llm{isConfigured host model hasKey}",
);

export const TestLlmDocument = typed<TestLlmMutation, TestLlmMutationVariables>(
  "mutation TestLlm{testLlm{...LlmState test{duration problem detail}}} fragment LlmState on Llm{isConfigured host model hasKey}",
);

export const SecretsDocument = typed<SecretsQuery, SecretsQueryVariables>(
  "query Secrets($projectId:ID$after:String){secrets(projectId:$projectId first:50 after:$after){nodes{...SecretRow}pageInfo{hasNextPage endCursor}}projects(first:200){nodes{id handle name}pageInfo{hasNextPage}}} fragment SecretRow on Secret{id name project{id handle name}updatedAt updatedBy{kind name}usedBy{id name}}",
);

export const SetSecretDocument = typed<SetSecretMutation, SetSecretMutationVariables>(
  "mutation SetSecret($input:SetSecretInput!){setSecret(input:$input){...SecretRow}} fragment SecretRow on Secret{id name project{id handle name}updatedAt updatedBy{kind name}usedBy{id name}}",
);

export const DeleteSecretDocument = typed<DeleteSecretMutation, DeleteSecretMutationVariables>(
  "mutation DeleteSecret($input:DeleteSecretInput!){deleteSecret(input:$input){id}}",
);

export const SessionsDocument = typed<SessionsQuery, SessionsQueryVariables>(
  "query Sessions{sessions(first:100){nodes{...SessionRow}}} fragment SessionRow on Session{id client address userAgent createdAt refreshedAt isCurrent organization{id name}}",
);

export const RevokeSessionDocument = typed<RevokeSessionMutation, RevokeSessionMutationVariables>(
  "mutation RevokeSession($input:RevokeSessionInput!){revokeSession(input:$input){id}}",
);

export const RevokeOtherSessionsDocument = typed<RevokeOtherSessionsMutation, RevokeOtherSessionsMutationVariables>(
  "mutation RevokeOtherSessions{revokeOtherSessions{revokedCount}}",
);

export const ChangePasswordDocument = typed<ChangePasswordMutation, ChangePasswordMutationVariables>(
  "mutation ChangePassword($input:ChangePasswordInput!){changePassword(input:$input){id}}",
);

export const PlanAndRateDocument = typed<PlanAndRateQuery, PlanAndRateQueryVariables>(
  "query PlanAndRate{organization{id plan}rateLimit{plan limit remaining resetAt}}",
);

export const ModelUseDocument = typed<ModelUseQuery, ModelUseQueryVariables>(
  "query ModelUse($days:Int!){usage(days:$days){date modelCost modelCostCurrency agents{agent{id name}tokens cost currency}connections{name isOperators project{id name}tokens cost currency}}}",
);

export const UsageDocument = typed<UsageQuery, UsageQueryVariables>(
  "query Usage($days:Int!){usage(days:$days){date requests refused runs steps modelTokens}}",
);
