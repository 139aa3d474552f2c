/**
 * Which scope each field of the API needs. An operation needs what all of its fields need together, and is refused
 * before anything of it is executed when the caller lacks one of them.
 *
 * 1. A field of Query, Mutation or Subscription needs the scope that `ROOT_FIELDS` names.
 * 2. A field of an object needs the scope that it stands under in `OBJECT_FIELDS`. Under `plain` it needs none: it comes
 *    with the object, whatever led there. So a scope is asked for where a selection leads on to what another scope
 *    protects: `run { agent { name } }` needs `runs:read`, `run { agent { draft } }` needs `agents:read` as well.
 * 3. What a mutation answers comes with the mutation's own scope as far as it is plain, and where `ANSWERED_FIELDS` names
 *    the field: `runAgent { status output }` needs `runs:start` alone.
 *
 * Every field stands here. The schema cannot be built when one is missing, or one that it does not have is named.
 */
import type { Scope } from "./scopes.ts";

/** A scope; null: any caller who is signed in; "public": no credential is asked for. */
export type Need = Scope | null | "public";

/** `Type.field` of Query, Mutation and Subscription. `__typename` is public. */
export const ROOT_FIELDS = {
  "Query.__schema": null,
  "Query.__type": null,
  "Query.me": null,
  "Query.caller": null,
  "Query.organization": null,
  "Query.rateLimit": null,
  /** What is behind the id needs `NODE_SCOPES`. */
  "Query.node": null,
  "Query.projects": "agents:read",
  "Query.project": "agents:read",
  "Query.members": "agents:read",
  "Query.invitations": "admin",
  "Query.invitation": "public",
  "Query.agents": "agents:read",
  "Query.agentsConnection": "agents:read",
  "Query.agent": "agents:read",
  "Query.agentByHandle": "agents:read",
  "Query.agentDiff": "agents:read",
  "Query.validateDefinition": "agents:read",
  "Query.cronPreview": "agents:read",
  "Query.run": "runs:read",
  "Query.runs": "runs:read",
  "Query.runCount": "runs:read",
  "Query.badges": "runs:read",
  "Query.approvals": "runs:read",
  "Query.approval": "runs:read",
  "Query.triggers": "agents:read",
  "Query.trigger": "agents:read",
  "Query.events": "runs:read",
  "Query.event": "runs:read",
  "Query.apiKeys": "admin",
  "Query.secrets": "secrets:write",
  "Query.usage": "admin",
  "Query.llm": "admin",
  "Query.auditEvents": "admin",
  "Query.apiKeyPresets": null,
  /** Of a session's own user: keys are refused. */
  "Query.sessions": null,

  "Mutation.login": "public",
  "Mutation.refreshToken": "public",
  "Mutation.setup": "public",
  /** By an access token, or by e-mail and password. */
  "Mutation.acceptInvitation": "public",
  "Mutation.logout": null,
  "Mutation.changePassword": null,
  "Mutation.revokeSession": null,
  "Mutation.revokeOtherSessions": null,
  "Mutation.createProject": "agents:write",
  "Mutation.createApiKey": "admin",
  "Mutation.revokeApiKey": "admin",
  "Mutation.testLlm": "admin",
  "Mutation.setSecret": "secrets:write",
  "Mutation.deleteSecret": "secrets:write",
  "Mutation.renameOrganization": "admin",
  "Mutation.inviteMember": "admin",
  "Mutation.revokeInvitation": "admin",
  "Mutation.setMemberRole": "admin",
  "Mutation.removeMember": "admin",
  "Mutation.leaveOrganization": null,
  "Mutation.saveAgentDraft": "agents:write",
  "Mutation.publishAgent": "agents:write",
  "Mutation.publishAgentDraft": "agents:write",
  "Mutation.publishAgentVersion": "agents:write",
  "Mutation.setAgentStatus": "agents:write",
  "Mutation.setAgentLimit": "agents:write",
  "Mutation.draftRunInput": "runs:start",
  "Mutation.runAgent": "runs:start",
  "Mutation.rerunRun": "runs:start",
  "Mutation.retryRun": "runs:start",
  "Mutation.cancelRun": "runs:cancel",
  "Mutation.cancelRuns": "runs:cancel",
  "Mutation.decideApproval": "approvals:decide",
  "Mutation.createTrigger": "triggers:write",
  "Mutation.updateTrigger": "triggers:write",
  "Mutation.setTriggerStatus": "triggers:write",
  "Mutation.deleteTrigger": "triggers:write",
  "Mutation.rotateWebhookToken": "triggers:write",
  "Mutation.fireTrigger": "runs:start",
  "Mutation.replayFiring": "runs:start",
  "Mutation.publishEvent": "events:write",

  "Subscription.runUpdated": "runs:read",
  "Subscription.runEvents": "runs:read",
  "Subscription.runsChanged": "runs:read",
  "Subscription.approvalsChanged": "runs:read",
  "Subscription.badgesChanged": "runs:read",
  "Subscription.agentsChanged": "agents:read",
  "Subscription.firingsChanged": "runs:read",
  "Subscription.eventsChanged": "runs:read",
} as const satisfies Record<`${"Query" | "Mutation" | "Subscription"}.${string}`, Need>;
export type RootField = keyof typeof ROOT_FIELDS;

/** An operation of these alone is answered whatever its Authorization header says: they bring their own credential. */
export const OWN_CREDENTIAL: readonly RootField[] = ["Mutation.login", "Mutation.refreshToken", "Mutation.setup"];

/** An operation of these alone is begun also when the server is overloaded: it ends work, or lets it go on. */
export const URGENT: readonly RootField[] = ["Mutation.cancelRun", "Mutation.cancelRuns", "Mutation.decideApproval"];

/** An operation may have one of these: each tries a password. */
export const TRIES_PASSWORD: readonly RootField[] = [
  "Mutation.login",
  "Mutation.acceptInvitation",
  "Mutation.changePassword",
];

/**
 * What a narrowed API key may ask for: fields that read, list, count, watch and change no more than it reaches. All others
 * are of the whole organization and refused to it. So a new field is, until it is written here: `test/reach.test.ts` asks
 * each of these for what the key does not reach.
 */
export const REACHING_FIELDS: ReadonlySet<RootField> = new Set<RootField>([
  "Query.__schema",
  "Query.__type",
  "Query.me",
  "Query.caller",
  "Query.organization",
  "Query.node",
  "Query.projects",
  "Query.project",
  "Query.agents",
  "Query.agentsConnection",
  "Query.agent",
  "Query.agentByHandle",
  "Query.agentDiff",
  "Query.validateDefinition",
  "Query.run",
  "Query.runs",
  "Query.runCount",
  "Query.badges",
  "Query.approvals",
  "Query.approval",
  "Query.triggers",
  "Query.trigger",
  "Query.events",
  "Query.event",
  "Query.apiKeyPresets",
  "Query.rateLimit",

  "Mutation.logout",
  "Mutation.saveAgentDraft",
  "Mutation.publishAgent",
  "Mutation.publishAgentDraft",
  "Mutation.publishAgentVersion",
  "Mutation.setAgentStatus",
  "Mutation.setAgentLimit",
  "Mutation.draftRunInput",
  "Mutation.runAgent",
  "Mutation.rerunRun",
  "Mutation.retryRun",
  "Mutation.cancelRun",
  "Mutation.cancelRuns",
  "Mutation.decideApproval",
  "Mutation.createTrigger",
  "Mutation.updateTrigger",
  "Mutation.setTriggerStatus",
  "Mutation.deleteTrigger",
  "Mutation.rotateWebhookToken",
  "Mutation.fireTrigger",
  "Mutation.replayFiring",
  "Mutation.publishEvent",

  "Subscription.runUpdated",
  "Subscription.runEvents",
  "Subscription.runsChanged",
  "Subscription.approvalsChanged",
  "Subscription.badgesChanged",
  "Subscription.agentsChanged",
  "Subscription.firingsChanged",
  "Subscription.eventsChanged",
]);

type FieldScopes = { plain: readonly string[] } & { [Name in Scope]?: readonly string[] };

/**
 * Every other type, with its fields by what they need. What is only a part of a list or a form (`extensions.isPart`: connections,
 * edges, PageInfo, InputField) has no entry and comes with what answers it.
 */
export const OBJECT_FIELDS: Record<string, FieldScopes> = {
  Node: { plain: ["id"] },
  Organization: { plain: ["id", "name", "plan", "createdAt"] },
  User: { plain: ["id", "name", "email"] },
  Project: { plain: ["id", "handle", "name", "createdAt"] },
  Actor: { plain: ["kind", "id", "name"] },
  Caller: { plain: ["user", "apiKey", "role", "scopes", "memberships"] },
  Membership: { plain: ["organization", "role"] },
  Member: { plain: ["id", "user", "role", "createdAt"] },
  Invitation: { plain: ["id", "email", "role", "createdBy", "createdAt", "expiresAt", "url"] },
  InvitationPreview: { plain: ["organizationName", "email", "role", "expiresAt"] },
  RateLimit: { plain: ["plan", "limit", "remaining", "resetAt"] },
  Llm: { plain: ["isConfigured", "host", "model", "hasKey", "test"] },
  LlmTest: { plain: ["duration", "problem", "detail"] },
  UsageDay: { plain: ["date", "requests", "refused", "runs", "steps", "modelTokens"] },
  Session: {
    plain: [
      "id",
      "organization",
      "client",
      "address",
      "userAgent",
      "createdAt",
      "refreshedAt",
      "expiresAt",
      "isCurrent",
    ],
  },
  RevokeOtherSessionsResult: { plain: ["revokedCount"] },
  LoginResult: { plain: ["accessToken", "refreshToken", "expiresAt"] },
  ApiKey: {
    plain: ["id", "name", "projects", "agents"],
    admin: ["hint", "secret", "scopes", "createdBy", "createdAt", "expiresAt", "revokedAt", "lastUsedAt"],
  },
  Secret: {
    plain: ["id", "name", "project"],
    "secrets:write": ["createdBy", "createdAt", "updatedBy", "updatedAt", "usedBy"],
  },

  AuditEvent: {
    plain: ["id"],
    admin: ["number", "at", "action", "actor", "subject", "address", "userAgent", "detail", "hash"],
  },
  AuditSubject: { plain: ["kind", "id", "name"] },
  ApiKeyPreset: { plain: ["id", "title", "description", "scopes", "needsAgent"] },

  Agent: {
    plain: [
      "id",
      "name",
      "handle",
      "description",
      "status",
      "version",
      "project",
      "concurrency",
      "createdAt",
      "updatedAt",
    ],
    "agents:read": ["inputSchema", "inputFields", "definition", "draft", "versions", "agentVersion", "triggers"],
    "runs:read": ["runs"],
  },
  AgentVersion: {
    plain: ["id", "agent", "version", "createdAt"],
    "agents:read": ["definition", "inputFields", "tasks", "createdBy"],
  },
  AgentDraft: { plain: ["revision", "savedAt"], "agents:read": ["definition", "savedBy", "inputFields"] },
  InputFieldChoice: { plain: ["value", "title"] },
  DefinitionCheck: { plain: ["valid", "problems"] },
  RunDraft: {
    plain: [
      "id",
      "agent",
      "agentSource",
      "input",
      "fields",
      "missing",
      "unread",
      "reader",
      "modelProblem",
      "text",
      "expiresAt",
    ],
  },
  RunDraftField: { plain: ["name", "value", "source", "sure", "reason"] },
  CronInstant: { plain: ["at", "localTime", "isShifted"] },
  DefinitionProblem: { plain: ["path", "line", "column", "message", "severity"] },

  Run: {
    plain: [
      "id",
      "status",
      "agent",
      "project",
      "version",
      "agentVersion",
      "startedBy",
      "createdAt",
      "runAt",
      "startedAt",
      "finishedAt",
      "cancelledAt",
      "currentStep",
      "progress",
      "revision",
      "stepCount",
      "trigger",
    ],
    "runs:read": [
      "input",
      "draftText",
      "output",
      "error",
      "summary",
      "steps",
      "stepsConnection",
      "waitingFor",
      "approvals",
      "parent",
      "retryOf",
      "children",
      "firing",
    ],
  },
  RunError: { plain: ["type", "status", "title", "detail", "instance", "stepNumber", "response"] },
  ErrorResponse: { plain: ["status", "headers", "body"] },
  RunSummary: { plain: ["input", "step", "error"] },
  RunSummaryValue: { plain: ["title", "text"] },
  Count: { plain: ["value", "isExact"] },
  Badges: { plain: ["openRuns", "openApprovals"] },
  CancelRunsResult: { plain: ["cancelledCount"] },
  RunEvent: { plain: ["revision"], "runs:read": ["run", "step"] },
  Step: {
    plain: [
      "id",
      "number",
      "parentNumber",
      "item",
      "visit",
      "name",
      "position",
      "taskPath",
      "kind",
      "status",
      "duration",
      "attemptCount",
      "attempts",
      "error",
      "caught",
      "callName",
      "callPath",
      "input",
      "output",
      "startedAt",
      "finishedAt",
      "childCounts",
    ],
    "runs:read": ["child", "approval"],
  },
  HttpResponse: { plain: ["status", "body"] },
  Attempt: { plain: ["number", "status", "error", "response", "startedAt", "finishedAt"] },
  Approval: {
    plain: [
      "id",
      "status",
      "question",
      "assignee",
      "stepNumber",
      "canDecide",
      "agent",
      "project",
      "createdAt",
      "expiresAt",
      "decidedAt",
      "decidedBy",
      "comment",
    ],
    "runs:read": ["context", "form", "answerFields", "answer", "run"],
  },

  Trigger: {
    plain: ["id", "name", "type", "status", "agent", "project", "nextDueAt", "createdAt", "updatedAt"],
    /** The token in a URL is shown to who may change the trigger. */
    "agents:read": [
      "configuration",
      "policy",
      "schedule",
      "timezone",
      "input",
      "method",
      "authentication",
      "source",
      "event",
      "filter",
      "url",
      "formerUrlUntil",
      "curl",
      "nextInstants",
      "isManaged",
      "createdBy",
    ],
    "runs:read": ["firings"],
  },
  Firing: {
    plain: [
      "id",
      "trigger",
      "at",
      "dueAt",
      "outcome",
      "run",
      "policy",
      "code",
      "message",
      "fields",
      "skipped",
      "firedBy",
    ],
    "runs:read": ["delivery", "payload", "request", "replayOf", "event"],
  },
  Event: {
    plain: ["id", "source", "event", "sourceId", "time", "at"],
    "runs:read": ["data", "publishedBy", "firings", "matches", "misses"],
  },
  EventMiss: { plain: ["trigger", "reason"] },
  FieldProblem: { plain: ["path", "code", "message"] },
};

/** What was given, and what came of it. */
const WRITTEN_TRIGGER = [
  "Trigger.configuration",
  "Trigger.policy",
  "Trigger.url",
  "Trigger.formerUrlUntil",
  "Trigger.curl",
];

/** Fields of a mutation's answer that come with the mutation's own scope, besides the plain ones. */
export const ANSWERED_FIELDS: { [Name in RootField]?: readonly string[] } = {
  /** What was given, and what `wait` waits for. */
  "Mutation.runAgent": ["Run.input", "Run.draftText", "Run.output", "Run.error", "Run.steps", "Run.stepsConnection"],
  "Mutation.createTrigger": WRITTEN_TRIGGER,
  "Mutation.updateTrigger": WRITTEN_TRIGGER,
  "Mutation.rotateWebhookToken": WRITTEN_TRIGGER,
};

/** What `node(id)` needs besides a sign-in, by the kind that the id's prefix names. */
export const NODE_SCOPES = {
  organization: null,
  user: null,
  project: "agents:read",
  agent: "agents:read",
  agentVersion: "agents:read",
  run: "runs:read",
  step: "runs:read",
  approval: "runs:read",
  trigger: "agents:read",
  firing: "runs:read",
  event: "runs:read",
  apiKey: "admin",
  secret: "secrets:write",
  member: "agents:read",
  invitation: "admin",
  session: null,
  auditEvent: "admin",
} as const satisfies Record<string, Scope | null>;

/** What a narrowed API key may ask `node(id)` for, as `REACHING_FIELDS`. */
export const REACHING_NODES: ReadonlySet<keyof typeof NODE_SCOPES> = new Set<keyof typeof NODE_SCOPES>([
  "organization",
  "project",
  "agent",
  "agentVersion",
  "run",
  "step",
  "approval",
  "trigger",
  "firing",
  "event",
]);

/** What all fields of an operation need together. */
export type Needs = {
  /** Whether there must be a caller. */
  signIn: boolean;
  /** A field that is of the whole organization, if there is one: not for a narrowed API key. */
  whole: string | undefined;
  /** Each with a field that needs it, for the refusal's text. */
  scopes: ReadonlyMap<Scope, string>;
};
