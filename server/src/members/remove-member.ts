/** How a membership ends: by an administrator, or by the member. What the person made stays, their API keys included. */
import type { AuditAction } from "../audit/event.ts";
import { record } from "../audit/record.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import type { Organization } from "../auth/organization.ts";
import { readOrganization } from "../auth/accounts/organizations.ts";
import { holdUser, leaveSessions } from "../auth/sessions/session-store.ts";
import { badInput, notFound } from "../lib/errors.ts";
import type { MemberId, OrganizationId, UserId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import type { Role } from "../storage/schema.ts";
import { changeMembers, readGranter, readRole, requireOtherOwner } from "./change-members.ts";
import { COLUMNS, memberOf } from "./list-members.ts";
import { checkChange, memberIdOf, userOfMember, type Member } from "./member.ts";
import type { Members } from "./members.ts";

/**
 * Their sessions in this organization are refused at once in this process and within 5 s in others, also after a new
 * invitation; what is open ends within 10 s. Answers the member as they were. Throws NOT_FOUND, FORBIDDEN for an owner, or CONFLICT for the last one.
 */
export async function removeMember(members: Members, caller: Acting, memberId: MemberId): Promise<Member> {
  const { organizationId } = caller;
  const userId = userOfMember(memberId);
  const member = await changeMembers(members, caller, async (query) => {
    const by = await readGranter(query, caller);
    const ending = { organizationId, userId, now: members.auth.clock.now() };
    const removed = await endMembership(query, ending, (role) => checkChange(by, role));
    await recordEnd(members, query, caller, { action: "member_removed", member: removed });
    return removed;
  });
  members.auth.sessions.invalidateMember(organizationId, userId);
  return member;
}

/**
 * The user's sessions stay signed in: `refreshToken` moves them to another organization. In this one they are refused from now
 * on. Throws BAD_USER_INPUT for a key, or CONFLICT.
 */
export async function leaveOrganization(members: Members, caller: Acting): Promise<Organization> {
  const { organizationId, credential, user } = caller;
  if (credential.kind !== "user")
    throw badInput("wrong_credential", "an API key is no member: sign in as the person who wants to leave");
  const organization = await readOrganization(members.auth, organizationId);
  await changeMembers(members, caller, async (query) => {
    const ending = { organizationId, userId: user.id, now: members.auth.clock.now() };
    const member = await endMembership(query, ending);
    await recordEnd(members, query, caller, { action: "member_left", member });
  });
  members.auth.sessions.invalidateMember(organizationId, user.id);
  return organization!;
}

const recordEnd = (
  { auth }: Members,
  query: Query,
  caller: Acting,
  { action, member }: { action: AuditAction; member: Member },
): Promise<void> =>
  record(query, whoOf(caller), auth.clock.now(), {
    action,
    subject: { kind: "member", id: memberIdOf(member) },
    detail: { role: member.role },
  });

async function endMembership(
  query: Query,
  { organizationId, userId, now }: { organizationId: OrganizationId; userId: UserId; now: number },
  check?: (role: Role) => void,
): Promise<Member> {
  const role = await readRole(query, organizationId, userId);
  if (role === undefined) throw notFound("Member");
  check?.(role);
  if (role === "owner") await requireOtherOwner(query, organizationId, userId);
  await holdUser(query, userId);
  await leaveSessions(query, { organizationId, userId, now });
  const [row] = await query(
    `delete from members m using users u
      where m.organization_id = $1 and m.user_id = $2 and u.id = m.user_id returning ${COLUMNS}`,
    [organizationId, userId],
  );
  return memberOf(row!);
}
