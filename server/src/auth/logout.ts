import { badInput } from "../lib/errors.ts";
import type { Auth } from "./auth.ts";
import type { Caller } from "./caller.ts";
import { readRefreshToken } from "./refresh-token.ts";
import { readSession, revokeSession } from "./session-store.ts";

/** Ends the caller's session: its access tokens at once in this process, a moment later in others. BAD_USER_INPUT for a key. */
export async function logout(auth: Auth, caller: Caller): Promise<void> {
  if (caller.credential.kind !== "user")
    throw badInput("wrong_credential", "an API key has no session to end: use revokeApiKey");
  const { sessionId } = caller.credential;
  await revokeSession(auth.database, caller.organizationId, sessionId, auth.clock.now());
  auth.sessions.invalidate(caller.organizationId, sessionId);
}

/** Ends the session of a refresh token, also of one that was used before. Does nothing for any other text. */
export async function endSession(auth: Auth, refreshToken: string): Promise<void> {
  const token = readRefreshToken(auth.refreshKey, refreshToken);
  if (!token) return;
  await auth.refreshTurns({ group: token.sessionId, isKnown: true }, async () => {
    const session = await readSession(auth.database, token.sessionId, auth.clock.now());
    if (!session?.isLive) return;
    await revokeSession(auth.database, session.organizationId, token.sessionId, auth.clock.now());
    auth.sessions.invalidate(session.organizationId, token.sessionId);
  });
}
