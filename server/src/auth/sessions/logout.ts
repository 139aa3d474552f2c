import { record } from "../../audit/record.ts";
import { badInput } from "../../lib/errors.ts";
import type { OrganizationId, SessionId } from "../../lib/ids.ts";
import type { Auth } from "../handle/auth.ts";
import type { From, Who } from "../../audit/event.ts";
import { whoOf, type Acting } from "../caller.ts";
import { readRefreshToken } from "../refresh-token.ts";
import { readSession, revokeSession } from "./session-store.ts";

/** Ends the caller's session: its access tokens at once in this process, a moment later in others. BAD_USER_INPUT for a key. */
export async function logout(auth: Auth, caller: Acting): Promise<void> {
  if (caller.credential.kind !== "user")
    throw badInput("wrong_credential", "an API key has no session to end: use revokeApiKey");
  const session = { organizationId: caller.organizationId, id: caller.credential.sessionId };
  await end(auth, session, whoOf(caller));
}

/** Ends the session of a refresh token, also of one that was used before. Does nothing for any other text. */
export async function endSession(auth: Auth, refreshToken: string, from: From): Promise<void> {
  const token = readRefreshToken(auth.refreshKey, refreshToken);
  if (!token) return;
  await auth.refreshTurns({ group: token.account, isKnown: true }, async () => {
    const session = await readSession(auth.database, token.sessionId, auth.clock.now());
    if (!session?.isLive) return;
    const { organizationId, userId } = session;
    await end(
      auth,
      { organizationId, id: token.sessionId },
      {
        organizationId,
        actor: { kind: "user", id: userId },
        from,
      },
    );
  });
}

async function end(auth: Auth, session: { organizationId: OrganizationId; id: SessionId }, who: Who): Promise<void> {
  const { organizationId, id } = session;
  const now = auth.clock.now();
  await auth.database.transaction(async (query) => {
    if (await revokeSession(query, organizationId, id, now))
      await record(query, who, now, { action: "signed_out", subject: { kind: "session", id } });
  }, organizationId);
  auth.sessions.invalidate(organizationId, id);
}
