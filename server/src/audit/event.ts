/** An event of the audit. */
import type { Actor } from "../lib/actor.ts";
import type { Id, Kind, OrganizationId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";

/** Each action, as the API describes it. */
export const AUDIT_ACTIONS = {
  organization_created: "The organization was created, with the setup link or by the operator.",
  organization_renamed: "The organization was renamed.",
  plan_set: "The operator set the organization's plan.",
  signed_in: "Somebody signed in, or moved a session here from another organization.",
  sign_in_failed: "Somebody tried to sign in to a member's account with a wrong password.",
  signed_out: "Somebody signed out.",
  refresh_token_reused: "A refresh token was used a second time, which ended its session.",
  session_revoked: "A user ended a session from another of their sessions.",
  password_changed: "A user changed their password.",
  password_reset: "A user got a new password: by a link that was mailed to them, or from the operator.",
  api_key_created: "An API key was created.",
  api_key_revoked: "An API key was revoked.",
  member_invited: "An invitation was created.",
  invitation_revoked: "An invitation was revoked.",
  member_joined: "Somebody accepted an invitation.",
  member_role_set: "A member's role was changed.",
  member_removed: "A member was removed.",
  member_left: "A member left.",
  project_created: "A project was created.",
  agent_published: "A version of an agent was published.",
  agent_status_set: "An agent was paused, archived or reactivated.",
  agent_limit_set: "An agent's limit of concurrent runs was changed.",
  agent_failure_mails_set: "Who gets a mail when a run of an agent fails that a trigger started was changed.",
  agent_tools_trusted: "Changed tools of an MCP server were accepted for an agent.",
  approval_decided: "An approval was decided.",
  approval_escalated: "Others may decide an approval as well, because nobody had in time.",
  approval_reassigned: "An approval was passed on to others.",
  trigger_created: "A trigger was created.",
  trigger_updated: "A trigger was changed.",
  trigger_status_set: "A trigger was paused or resumed.",
  webhook_token_rotated: "A webhook's URL was replaced.",
  trigger_deleted: "A trigger was deleted.",
  runs_cancelled: "Somebody cancelled many runs with one request.",
  secret_set: "A secret was created, or its value was replaced.",
  secret_deleted: "A secret was deleted.",
  model_connection_created: "A model connection was created.",
  model_connection_updated: "A model connection was changed.",
  model_connection_deleted: "A model connection was deleted.",
  secrets_key_rotated:
    "The operator re-encrypted all secrets, webhook tokens, keys of model connections and refresh tokens.",
  signing_key_rotated: "The key that signs access tokens was replaced.",
} as const;
export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** The kinds of things that something is done to, each with the kind of its ids. */
export const SUBJECT_IDS = {
  organization: "organization",
  user: "user",
  session: "session",
  api_key: "apiKey",
  invitation: "invitation",
  member: "member",
  project: "project",
  agent: "agent",
  approval: "approval",
  trigger: "trigger",
  secret: "secret",
  model_connection: "modelConnection",
} as const satisfies Record<string, Kind>;
export type SubjectKind = keyof typeof SUBJECT_IDS;

/** `name`: of a thing, as it was then. People are named by their ids alone, as nothing here can be forgotten. */
export type Subject = {
  [Of in SubjectKind]: { kind: Of; id: Id<(typeof SUBJECT_IDS)[Of]>; name?: string | null };
}[SubjectKind];

/** Where something was asked from. `note` instead of an address: what the operator, or Autograph itself, did here. */
export type From = { address: string | null; userAgent?: string | undefined; note?: string | undefined };

export const COMMAND_LINE: From = { address: null, note: "command line" };
export const SYSTEM: Actor = { kind: "system", id: null };

/** Who did it, in which organization, and from where. */
export type Who = { organizationId: OrganizationId; actor: Actor; from: From };

/** Never with a password, a token, a key or a secret's value. */
export type What = { action: AuditAction; subject?: Subject; detail?: Record<string, Json | undefined> };

/** An event as it is hashed, exported and shown: ids in their public form. */
export type WrittenEvent = {
  id: string;
  organizationId: string;
  at: string;
  action: AuditAction;
  actor: { kind: Actor["kind"]; id: string | null };
  subject: { kind: SubjectKind; id: string; name: string | null } | null;
  address: string | null;
  userAgent: string | null;
  detail: Record<string, Json>;
};

/** An event in its organization's chain. Hashes are in hexadecimal; the first one's `previous` is all zeros. */
export type ChainedEvent = { event: WrittenEvent; number: number; previous: string; hash: string };
