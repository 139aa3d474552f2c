/** The enumerations, in lower case as the specification has them. */
import type { AuditAction, SubjectKind } from "../audit/event.ts";
import type { Builder } from "./builder.ts";

const RUN_STATUS = {
  pending: { description: "Accepted, and not started yet." },
  running: { description: "Executing, or waiting for a time or an event." },
  paused: { description: "Waiting for a person's approval." },
  completed: { description: "Finished successfully." },
  failed: { description: "Finished with an error." },
  cancelled: { description: "Cancelled by a caller or by its parent run." },
} as const;

const STEP_STATUS = {
  pending: { description: "Waiting for its turn." },
  running: { description: "Executing, or waiting for a time or an event." },
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
  admin: { description: "Everything, except changing owners." },
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

const PROBLEM_SEVERITY = {
  error: { description: "The definition cannot be published." },
  warning: { description: "The definition can be published, but probably does not do what was meant." },
} as const;

const AUDIT_ACTION: Record<AuditAction, { description: string }> = {
  organization_created: { description: "The organization was made: by the setup link, or by the operator." },
  organization_renamed: { description: "The organization got another name." },
  plan_set: { description: "The operator set the plan." },
  signed_in: { description: "Somebody signed in, or a session came over from another organization." },
  sign_in_failed: { description: "Somebody tried a wrong password for an account of the organization." },
  signed_out: { description: "Somebody signed out." },
  refresh_token_reused: { description: "A refresh token was used twice, and its session ended." },
  session_revoked: { description: "A session was ended from another one." },
  password_changed: { description: "A user changed their password." },
  password_reset: { description: "The operator gave a user a new password." },
  api_key_created: { description: "An API key was made." },
  api_key_revoked: { description: "An API key was revoked." },
  member_invited: { description: "An invitation was made." },
  invitation_revoked: { description: "An invitation was revoked." },
  member_joined: { description: "Somebody accepted an invitation." },
  member_role_set: { description: "A member got another role." },
  member_removed: { description: "A member was removed." },
  member_left: { description: "A member left." },
  project_created: { description: "A project was made." },
  agent_published: { description: "A version of an agent was published." },
  agent_status_set: { description: "An agent was paused, archived or reactivated." },
  approval_decided: { description: "An approval was decided." },
  runs_cancelled: { description: "Somebody asked to cancel many runs." },
  secret_set: { description: "A secret was made or got another value." },
  secret_deleted: { description: "A secret was deleted." },
  secrets_key_rotated: { description: "The operator had all secrets encrypted anew." },
  signing_key_rotated: { description: "The key that signs access tokens was replaced." },
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
  secret: { description: "A secret." },
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
  ApprovalStatus: builder.enumType("ApprovalStatus", {
    description: "The status of an approval. All but `open` are final.",
    values: APPROVAL_STATUS,
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
    description: "Whether a problem keeps a definition from being published.",
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
  Plan: builder.enumType("Plan", { description: `The plan of an organization. ${MAY_GROW}`, values: PLAN }),
});

export type Enums = ReturnType<typeof addEnums>;
