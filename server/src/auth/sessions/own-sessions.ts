/** A user's sessions, as the user sees and ends them: those of all organizations, and nobody else's. */
import { record } from "../../audit/record.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import type { SessionId } from "../../lib/ids.ts";
import { checkPage, type Page, type PageRequest } from "../../lib/page.ts";
import type { Auth } from "../handle/auth.ts";
import { whoOf, type Acting, type Caller, type Credential } from "../caller.ts";
import {
  holdUser,
  pageOfSessions,
  readLiveSession,
  revokeLiveSession,
  revokeSessions,
  type Asked,
  type LiveSession,
} from "./session-store.ts";

/** `isCurrent`: the one that asks. */
export type OwnSession = LiveSession & { isCurrent: boolean };

/** Throws FORBIDDEN: an API key acts for its organization, not as the user who made it. */
export function requireSession({ credential }: Caller, field: string): Credential & { kind: "user" } {
  if (credential.kind === "user") return credential;
  throw new Refusal(
    "FORBIDDEN",
    `this needs a session (${field}): an API key may not use the account of the user who created it`,
  );
}

const asked = (auth: Auth, { user, organizationId }: Caller): Asked => ({
  userId: user.id,
  organizationId,
  now: auth.clock.now(),
});

/** Newest first. `after` is a session's id. Throws FORBIDDEN. */
export async function listSessions(auth: Auth, caller: Caller, request: PageRequest): Promise<Page<OwnSession>> {
  const { sessionId } = requireSession(caller, "sessions");
  const { items, hasNextPage } = await pageOfSessions(auth.database, asked(auth, caller), checkPage(request));
  return { items: items.map((session) => ({ ...session, isCurrent: session.id === sessionId })), hasNextPage };
}

/** Throws FORBIDDEN, NOT_FOUND. */
export async function readOwnSession(auth: Auth, caller: Caller, id: SessionId): Promise<OwnSession> {
  const { sessionId } = requireSession(caller, "Session");
  const session = await readLiveSession(auth.database, asked(auth, caller), id);
  if (!session) throw notFound("Session");
  return { ...session, isCurrent: id === sessionId };
}

/** At once in this process, a moment later in others. Answers it as it was. Throws FORBIDDEN, NOT_FOUND. */
export async function revokeOwnSession(auth: Auth, caller: Acting, id: SessionId): Promise<OwnSession> {
  const { sessionId } = requireSession(caller, "revokeSession");
  const now = auth.clock.now();
  const revoked = await auth.database.transaction(async (query) => {
    const found = await revokeLiveSession(query, { ...asked(auth, caller), now }, id);
    if (!found) throw notFound("Session");
    // Where the session is, which need not be where it was ended from.
    const who = { ...whoOf(caller), organizationId: found.place.organizationId };
    await record(query, who, now, { action: "session_revoked", subject: { kind: "session", id } });
    return found;
  }, caller.organizationId);
  auth.sessions.invalidate(revoked.place.organizationId, id);
  return { ...revoked.session, isCurrent: id === sessionId };
}

/** Returns how many there were. Throws FORBIDDEN. */
export async function revokeOtherSessions(auth: Auth, caller: Acting): Promise<number> {
  const { sessionId } = requireSession(caller, "revokeOtherSessions");
  const userId = caller.user.id;
  const ended = await auth.database.transaction(async (query) => {
    await holdUser(query, userId);
    const now = auth.clock.now();
    const others = await revokeSessions(query, { userId, except: sessionId, now });
    const counts = Map.groupBy(others, ({ organizationId }) => organizationId);
    // In the order in which the audit's locks are taken.
    for (const [organizationId, { length }] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
      await record(query, { ...whoOf(caller), organizationId }, now, {
        action: "session_revoked",
        subject: { kind: "user", id: userId },
        detail: { sessions: length },
      });
    return others;
  }, caller.organizationId);
  for (const { organizationId, id } of ended) auth.sessions.invalidate(organizationId, id);
  return ended.length;
}
