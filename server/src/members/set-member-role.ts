import { record } from "../audit/record.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import { notFound } from "../lib/errors.ts";
import type { MemberId } from "../lib/ids.ts";
import type { Role } from "../storage/schema.ts";
import { changeMembers, readGranter, readRole, requireOtherOwner } from "./change-members.ts";
import { COLUMNS, memberOf } from "./list-members.ts";
import { checkChange, checkGrant, userOfMember, type Member } from "./member.ts";
import type { Members } from "./members.ts";

/**
 * The member has the new role's scopes at once in this process and within 5 s in others; what is open with the old ones ends
 * within 10 s. Throws NOT_FOUND, FORBIDDEN (`checkGrant`), or CONFLICT for the last owner.
 */
export async function setMemberRole(
  members: Members,
  caller: Acting,
  { memberId, role }: { memberId: MemberId; role: Role },
): Promise<Member> {
  const { organizationId } = caller;
  const userId = userOfMember(memberId);
  const member = await changeMembers(members, caller, async (query) => {
    const by = await readGranter(query, caller);
    const before = await readRole(query, organizationId, userId);
    if (before === undefined) throw notFound("Member");
    checkChange(by, before);
    checkGrant(by, role);
    if (before === "owner" && role !== "owner") await requireOtherOwner(query, organizationId, userId);
    const [row] = await query(
      `update members m set role = $3 from users u
        where m.organization_id = $1 and m.user_id = $2 and u.id = m.user_id returning ${COLUMNS}`,
      [organizationId, userId, role],
    );
    const subject = { kind: "member", id: memberId } as const;
    if (before !== role)
      await record(query, whoOf(caller), members.auth.clock.now(), {
        action: "member_role_set",
        subject,
        detail: { from: before, to: role },
      });
    return memberOf(row!);
  });
  members.auth.sessions.invalidateMember(organizationId, userId);
  return member;
}
