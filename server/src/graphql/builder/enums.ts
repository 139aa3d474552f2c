/** The enumerations, in lower case as the specification has them. */
import { AUDIT_ACTIONS, type AuditAction, type SubjectKind } from "../../audit/event.ts";
import type { Reader } from "../../run-drafts/draft-run-input.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { LlmProblem } from "../../llm/problem.ts";
import type { ModelProvider } from "../../llm/connection.ts";
import type { Missed } from "../../triggers/kinds/cron/missed.ts";
import type { Overlap } from "../../triggers/kinds/contract/trigger-kind.ts";
import { kindOf, TRIGGER_TYPES, type TriggerType } from "../../triggers/kinds/kinds.ts";
import type { Builder } from "./builder.ts";

const RUN_STATUS = {
  pending: { description: "Accepted, and not started yet." },
  running: { description: "Executing, or waiting for a set time or another run." },
  paused: { description: "Waiting for a person's approval." },
  completed: { description: "Finished successfully." },
  failed: { description: "Finished with an error." },
  cancelled: { description: "Cancelled by a caller or by its parent run." },
} as const;

const STEP_STATUS = {
  pending: { description: "Waiting for its turn." },
  running: { description: "Executing, or waiting for a set time or another run." },
  paused: { description: "Waiting for a person's approval." },
  completed: { description: "Finished successfully." },
  failed: { description: "Finished with an error." },
  skipped: { description: "Not executed, because its `if` was false." },
  cancelled: { description: "Cancelled together with its run, or because another branch ended first." },
} as const;

const ACTOR_KIND = {
  user: { description: "A user." },
  key: { description: "An API key." },
  trigger: { description: "A trigger." },
  run: { description: "A run." },
  link: { description: "Somebody with a link, such as one in an e-mail." },
  system: { description: "Autograph itself." },
} as const;

const ROLE = {
  owner: { description: "Everything, including other owners." },
  admin: { description: "Everything except making or changing owners." },
  editor: { description: "Agents, runs and approvals, but not members, keys and the plan." },
  runner: { description: "Starts and cancels runs, and decides approvals." },
  viewer: { description: "Reads agents and runs." },
} as const;

const AGENT_STATUS = {
  draft: { description: "Never published, so it cannot be run." },
  active: { description: "Can be run." },
  paused: { description: "Refuses new runs for now. Open runs continue." },
  archived: { description: "Refuses new runs, and `agents` does not list it. Open runs continue." },
} as const;

const AGENT_ORDER = {
  newest: { description: "Newest first." },
  name: { description: "By name, then by id: the order of `agents`." },
} as const;

const TRIGGER_TYPE = Object.fromEntries(
  TRIGGER_TYPES.map((type) => [type, { description: kindOf(type).description }]),
) as Record<TriggerType, { description: string }>;

const TRIGGER_STATUS = {
  active: { description: "Starts runs." },
  paused: { description: "Starts runs only on `fireTrigger` and `replayFiring`." },
} as const;

const TRIGGER_OVERLAP = {
  allow: { description: "Another run starts." },
  skip: { description: "No run starts." },
  queue: { description: "Another run starts, and stays `pending` until the previous one has ended." },
  cancelPrevious: { description: "The previous run is cancelled first." },
} as const satisfies Record<Overlap, object>;

const WEBHOOK_ACCEPT = {
  json: { description: "JSON." },
  form: { description: "JSON, and forms (`application/x-www-form-urlencoded`), which become an object of strings." },
} as const;

const MISSED_INSTANTS = {
  latest: { description: "The latest one fires, unless it is older than `catchUpMinutes`." },
  all: { description: `Each of the latest ${LIMITS.missedInstants} missed instants fires.` },
  none: { description: `An instant that is more than ${LIMITS.punctualSeconds} seconds late does not fire.` },
} as const satisfies Record<Missed, object>;

const FIRING_OUTCOME = {
  started: { description: "A run was started." },
  skipped: { description: "No run was started, because of the trigger's policy." },
  refused: { description: "No run was started: see `code` and `message`." },
  duplicate: { description: "The same delivery had already started a run." },
} as const;

const APPROVAL_STATUS = {
  open: { description: "Waiting for a decision." },
  approved: { description: "Approved by somebody." },
  rejected: { description: "Rejected by somebody." },
  expired: { description: "Not decided in time." },
  withdrawn: { description: "Withdrawn, because the run ended before a decision." },
} as const;

const SORT_DIRECTION = {
  asc: { description: "Oldest first." },
  desc: { description: "Newest first." },
} as const;

const DECISION = {
  approve: { description: "The run continues, with the answer." },
  reject: {
    description:
      "The step fails with `approval-rejected`, or continues with `approved: false` if the definition says so.",
  },
} as const;

const INPUT_FIELD_TYPE = {
  text: { description: "A string." },
  choice: { description: "One of `choices`." },
  date: { description: "A date such as 2026-11-21." },
  boolean: { description: "True or false." },
  number: { description: "Any number." },
  integer: { description: "A whole number." },
  list: { description: "A list of strings. If the field has `choices`, a list of these." },
} as const;

const PLAN = {
  free: { description: "10 requests a minute." },
  starter: { description: "100 requests a minute." },
  pro: { description: "1,000 requests a minute." },
  enterprise: { description: "As agreed, or unlimited." },
} as const;

const SESSION_CLIENT = {
  api: { description: "A program, by `login`, `setup` or `acceptInvitation`." },
  ui: { description: "The web UI." },
} as const;

/** Stands in the description of each enumeration that a release may add values to (schema-changes.test.ts). */
export const MAY_GROW = "New values may be added: a client must accept values that it does not know.";

const RUN_DRAFT_READER = {
  rules: { description: "Built-in rules for English." },
  model: {
    description:
      "The language model that the operator configured. Its answer was checked against the sentence and the form.",
  },
} as const satisfies Record<Reader, { description: string }>;

const LLM_PROBLEM = {
  timeout: { description: "It did not answer in time." },
  unreachable: { description: "No connection, or one that was closed before the answer was complete." },
  unauthorized: { description: "It rejected the API key." },
  not_found: { description: "The address or the model does not exist there." },
  rate_limited: { description: "It refused the request because this server sends it too many." },
  failed: { description: "It answered with another error or a redirect." },
  unusable: { description: "Its answer did not have the requested form, or was too large." },
  too_often: { description: "The organization has asked more often than it may." },
  over_budget: { description: "What the organization, the connection or the run may use of models is used up." },
  too_large: { description: "The agent's form is too large for the model." },
} as const satisfies Record<LlmProblem, { description: string }>;

const PROBLEM_SEVERITY = {
  error: { description: "The definition cannot be published." },
  warning: { description: "The definition can be published, but probably does not do what was meant." },
} as const;

const AUDIT_ACTION = Object.fromEntries(
  Object.entries(AUDIT_ACTIONS).map(([action, description]) => [action, { description }]),
) as Record<AuditAction, { description: string }>;

const MODEL_PROVIDER: Record<ModelProvider, { description: string }> = {
  openai_compatible: { description: "As OpenAI's API, which most servers of models speak." },
  openai: { description: "OpenAI." },
  anthropic: { description: "Anthropic." },
  google: { description: "Google Gemini." },
  mistral: { description: "Mistral AI." },
};

const AUDIT_SUBJECT_KIND: Record<SubjectKind, { description: string }> = {
  organization: { description: "The organization." },
  user: { description: "A user's account." },
  session: { description: "A session of a user." },
  api_key: { description: "An API key." },
  invitation: { description: "An invitation." },
  member: { description: "A member." },
  project: { description: "A project." },
  agent: { description: "An agent." },
  approval: { description: "An approval." },
  trigger: { description: "A trigger." },
  secret: { description: "A secret." },
  model_connection: { description: "A model connection." },
};

export const addEnums = (builder: Builder) => ({
  RunStatus: builder.enumType("RunStatus", {
    description: "The status of a run. `completed`, `failed` and `cancelled` are final.",
    values: RUN_STATUS,
  }),
  StepStatus: builder.enumType("StepStatus", {
    description: "The status of a step or of an attempt.",
    values: STEP_STATUS,
  }),
  ActorKind: builder.enumType("ActorKind", { description: `What an actor is. ${MAY_GROW}`, values: ACTOR_KIND }),
  Role: builder.enumType("Role", { description: `What a member of an organization may do. ${MAY_GROW}`, values: ROLE }),
  AgentStatus: builder.enumType("AgentStatus", { description: "Whether an agent can be run.", values: AGENT_STATUS }),
  AgentOrder: builder.enumType("AgentOrder", { description: "The order of a list of agents.", values: AGENT_ORDER }),
  ApprovalStatus: builder.enumType("ApprovalStatus", {
    description: "The status of an approval. All but `open` are final.",
    values: APPROVAL_STATUS,
  }),
  TriggerStatus: builder.enumType("TriggerStatus", {
    description: "Whether a trigger starts runs.",
    values: TRIGGER_STATUS,
  }),
  TriggerOverlap: builder.enumType("TriggerOverlap", {
    description: `What happens to a firing while the run that the trigger started before is still open. ${MAY_GROW}`,
    values: TRIGGER_OVERLAP,
  }),
  MissedInstants: builder.enumType("MissedInstants", {
    description: `What happens to a schedule's instants at which no server was running. ${MAY_GROW}`,
    values: MISSED_INSTANTS,
  }),
  WebhookAccept: builder.enumType("WebhookAccept", {
    description: `Which bodies a webhook takes. ${MAY_GROW}`,
    values: WEBHOOK_ACCEPT,
  }),
  FiringOutcome: builder.enumType("FiringOutcome", {
    description: "The outcome of a firing.",
    values: FIRING_OUTCOME,
  }),
  TriggerType: builder.enumType("TriggerType", {
    description: `What starts runs. ${MAY_GROW}`,
    values: TRIGGER_TYPE,
  }),
  SortDirection: builder.enumType("SortDirection", {
    description: "The order of a list, by creation.",
    values: SORT_DIRECTION,
  }),
  Decision: builder.enumType("Decision", { description: "A decision on an approval.", values: DECISION }),
  InputFieldType: builder.enumType("InputFieldType", {
    description: `The kind of control that a form shows for a field. ${MAY_GROW}`,
    values: INPUT_FIELD_TYPE,
  }),
  ProblemSeverity: builder.enumType("ProblemSeverity", {
    description: "Whether a problem prevents a definition from being published.",
    values: PROBLEM_SEVERITY,
  }),
  SessionClient: builder.enumType("SessionClient", {
    description: `What opened a session. ${MAY_GROW}`,
    values: SESSION_CLIENT,
  }),
  AuditAction: builder.enumType("AuditAction", { description: `What was done. ${MAY_GROW}`, values: AUDIT_ACTION }),
  AuditSubjectKind: builder.enumType("AuditSubjectKind", {
    description: `What something was done to. ${MAY_GROW}`,
    values: AUDIT_SUBJECT_KIND,
  }),
  RunDraftReader: builder.enumType("RunDraftReader", {
    description: `Who read a sentence. ${MAY_GROW}`,
    values: RUN_DRAFT_READER,
  }),
  LlmProblem: builder.enumType("LlmProblem", {
    description: `Why the language model did not answer. ${MAY_GROW}`,
    values: LLM_PROBLEM,
  }),
  ModelProvider: builder.enumType("ModelProvider", {
    description: `The protocol in which a model is asked. ${MAY_GROW}`,
    values: MODEL_PROVIDER,
  }),
  Plan: builder.enumType("Plan", { description: `The plan of an organization. ${MAY_GROW}`, values: PLAN }),
});

export type Enums = ReturnType<typeof addEnums>;
