import type { OrganizationId, SessionId, UserId } from "../lib/ids.ts";
import type { Auth } from "./auth.ts";
import { forgetAddresses } from "./known-addresses.ts";
import { holdUser, revokeSessions } from "./session-store.ts";

export type NewPassword = {
  userId: UserId;
  passwordHash: string;
  /** What was proven: nothing is changed when the hash is another one by now. */
  formerHash?: string;
  /** The one session that stays, and the organization that asks. */
  session?: { id: SessionId; organizationId: OrganizationId };
};

/**
 * Ends the user's other sessions and forgets the addresses they signed in from: a thief may have done so. Other processes know
 * of the sessions a moment later, at most 5 s, and of the addresses within a minute. False when nothing was changed.
 */
export async function storePassword(
  auth: Auth,
  { userId, passwordHash, formerHash, session }: NewPassword,
): Promise<boolean> {
  const now = auth.clock.now();
  const ended = await auth.database.transaction(async (query) => {
    const hash = await holdUser(query, userId);
    if (formerHash !== undefined && formerHash !== hash) return undefined;
    await query("update users set password_hash = $2 where id = $1", [userId, passwordHash]);
    await forgetAddresses(query, userId);
    return revokeSessions(query, { userId, except: session?.id, now });
  }, session?.organizationId);
  if (!ended) return false;
  auth.knownAddresses.readAgain();
  for (const { organizationId, id } of ended) auth.sessions.invalidate(organizationId, id);
  return true;
}
