import type { AuditAction, Who } from "../../audit/event.ts";
import { record } from "../../audit/record.ts";
import type { OrganizationId, SessionId, UserId } from "../../lib/ids.ts";
import type { Query } from "../../storage/database.ts";
import type { Auth } from "../handle/auth.ts";
import { deleteResets, holdsReset } from "./password-reset-store.ts";
import { forgetAddresses } from "../sign-in/known-addresses.ts";
import { holdUser, revokeSessions } from "../sessions/session-store.ts";

type NewPassword = {
  userId: UserId;
  passwordHash: string;
  /** The proof: nothing is changed if the hash has changed. */
  formerHash?: string;
  /** Another proof: the hash of a mailed link. Nothing is changed if it is no longer good. */
  link?: Buffer;
  /** The one session that stays, and the organization that asks. */
  session?: { id: SessionId; organizationId: OrganizationId };
  /** For the audit of each organization that the user is a member of. */
  action: Extract<AuditAction, "password_changed" | "password_reset">;
  by: Omit<Who, "organizationId">;
};

/**
 * Ends the user's other sessions, voids mailed links, and forgets the addresses they signed in from: a thief may have done so.
 * Other processes know of the sessions a moment later, at most 5 s, and of the addresses within a minute. False when nothing was changed.
 */
export async function storePassword(
  auth: Auth,
  { userId, passwordHash, formerHash, link, session, action, by }: NewPassword,
): Promise<boolean> {
  const now = auth.clock.now();
  const ended = await auth.database.transaction(async (query) => {
    const hash = await holdUser(query, userId);
    if (formerHash !== undefined && formerHash !== hash) return undefined;
    if (link && !(await holdsReset(query, userId, link, now))) return undefined;
    await deleteResets(query, userId);
    await query("update users set password_hash = $2 where id = $1", [userId, passwordHash]);
    await forgetAddresses(query, userId);
    const others = await revokeSessions(query, { userId, except: session?.id, now });
    for (const organizationId of await organizationsOf(query, userId))
      await record(query, { ...by, organizationId }, now, { action, subject: { kind: "user", id: userId } });
    return others;
  }, session?.organizationId);
  if (!ended) return false;
  auth.knownAddresses.readAgain();
  for (const { organizationId, id } of ended) auth.sessions.invalidate(organizationId, id);
  return true;
}

/** In the order in which the audit's locks are taken. */
async function organizationsOf(query: Query, userId: UserId): Promise<OrganizationId[]> {
  const rows = await query("select organization_id from members where user_id = $1 order by organization_id", [userId]);
  return rows.map((row) => row["organization_id"]);
}
