/** Invitations that are open: listed, read, revoked, and shown to anyone who has the link. */
import { record } from "../audit/record.ts";
import { whoOf, type Acting, type Caller } from "../auth/caller.ts";
import { notFound } from "../lib/errors.ts";
import type { InvitationId } from "../lib/ids.ts";
import { checkPage, type Page, type PageRequest } from "../lib/page.ts";
import { linksOf, type Invitation } from "./invitation.ts";
import {
  deleteInvitation,
  pageOfInvitations,
  readInvitationRow,
  readOpenInvitation,
  type OpenInvitation,
} from "./invitation-store.ts";
import { readToken } from "./link-token.ts";
import type { Members } from "./members.ts";

/** Newest first. `after` is an invitation's id. */
export const listInvitations = ({ auth }: Members, caller: Caller, request: PageRequest): Promise<Page<Invitation>> =>
  pageOfInvitations(auth.database, caller.organizationId, checkPage(request), auth.clock.now());

export const readInvitation = (
  { auth }: Members,
  { organizationId }: Caller,
  id: InvitationId,
): Promise<Invitation | undefined> => readInvitationRow(auth.database, organizationId, id, auth.clock.now());

/** Its link is no longer good. Throws NOT_FOUND, also for one that was used or revoked, or has expired. */
export async function revokeInvitation({ auth }: Members, caller: Acting, id: InvitationId): Promise<Invitation> {
  const now = auth.clock.now();
  return auth.database.transaction(async (query) => {
    const invitation = await deleteInvitation(query, caller.organizationId, id, now);
    if (!invitation) throw notFound("Invitation");
    const subject = { kind: "invitation", id, name: invitation.email } as const;
    await record(query, whoOf(caller), now, { action: "invitation_revoked", subject });
    return invitation;
  }, caller.organizationId);
}

/** The invitation behind a link. Throws NOT_FOUND, in the same words for a wrong, used, revoked and expired one. */
export async function findByToken(
  members: Members,
  token: string,
): Promise<{ invitation: OpenInvitation; secretHash: Buffer }> {
  const { auth } = members;
  const secretHash = readToken(linksOf(members), token);
  const invitation = secretHash && (await readOpenInvitation(auth.database, secretHash, auth.clock.now()));
  if (!invitation) throw notFound("Invitation");
  return { invitation, secretHash };
}
