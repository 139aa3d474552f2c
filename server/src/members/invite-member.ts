import { record } from "../audit/record.ts";
import { actorOf, whoOf, type Acting } from "../auth/caller.ts";
import { emailProblem, refuseProblems, tidyName } from "../auth/names.ts";
import { conflict } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Role } from "../storage/schema.ts";
import { changeMembers, readGranter } from "./change-members.ts";
import { INVITATION_LIFE_MS, linkOf, linksOf, type Invitation } from "./invitation.ts";
import { hasMember, insertInvitation } from "./invitation-store.ts";
import { hashOf, makeToken } from "./link-token.ts";
import { mailInvitation } from "./mail-invitation.ts";
import { checkGrant } from "./member.ts";
import type { Members } from "./members.ts";

/**
 * A link that makes its first user a member, once, within seven days. With an e-mail it fits only the user who has that
 * one, and is mailed to them if mail can be sent. Only this answer has the `url`. Throws BAD_USER_INPUT, FORBIDDEN (`checkGrant`),
 * or CONFLICT for somebody who is a member and when the organization has `LIMITS.invitationsPerOrganization` open ones.
 */
export async function inviteMember(
  members: Members,
  caller: Acting,
  { email, role }: { email: string | undefined; role: Role },
): Promise<Invitation & { url: string; isMailed: boolean }> {
  if (email !== undefined) refuseProblems([emailProblem(email, "input.email")]);
  const token = makeToken(linksOf(members));
  const now = members.auth.clock.now();
  const invitation = {
    id: newId<"invitation">(),
    email: email === undefined ? null : tidyName(email),
    role,
    createdBy: actorOf(caller),
    createdAt: new Date(now),
    expiresAt: new Date(now + INVITATION_LIFE_MS),
  };
  const { organizationId } = caller;
  const url = linkOf(members, token);
  const made = await changeMembers(members, caller, async (query) => {
    checkGrant(await readGranter(query, caller), role);
    if (invitation.email !== null && (await hasMember(query, organizationId, invitation.email)))
      throw conflict("already_member", "somebody with this e-mail is a member: setMemberRole changes their role");
    const inserted = await insertInvitation(query, { ...invitation, organizationId, secretHash: hashOf(token) });
    const subject = { kind: "invitation", id: invitation.id, name: invitation.email } as const;
    if (!inserted) return undefined;
    await record(query, whoOf(caller), now, { action: "member_invited", subject, detail: { role } });
    return { ...inserted, url, isMailed: await mailInvitation(members, query, { ...invitation, organizationId, url }) };
  });
  if (!made) {
    const most = LIMITS.invitationsPerOrganization;
    throw conflict("limit_reached", `an organization has at most ${most} open invitations: revoke one first`);
  }
  return made;
}
