/** An event of the audit. */
import type { Actor } from "../lib/actor.ts";
import type { Id, Kind, OrganizationId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";

/** `graphql/builder/enums.ts` says what each means. */
export type AuditAction =
  | "organization_created"
  | "organization_renamed"
  | "plan_set"
  | "signed_in"
  | "sign_in_failed"
  | "signed_out"
  | "refresh_token_reused"
  | "session_revoked"
  | "password_changed"
  | "password_reset"
  | "api_key_created"
  | "api_key_revoked"
  | "member_invited"
  | "invitation_revoked"
  | "member_joined"
  | "member_role_set"
  | "member_removed"
  | "member_left"
  | "project_created"
  | "agent_published"
  | "agent_status_set"
  | "agent_limit_set"
  | "approval_decided"
  | "trigger_created"
  | "trigger_updated"
  | "trigger_status_set"
  | "trigger_deleted"
  | "webhook_token_rotated"
  | "runs_cancelled"
  | "secret_set"
  | "secret_deleted"
  | "secrets_key_rotated"
  | "signing_key_rotated";

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
