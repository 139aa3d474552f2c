import { badInput } from "../lib/errors.ts";
import type { Auth } from "./auth.ts";
import type { Caller } from "./caller.ts";
import { revokeSession } from "./session-store.ts";

/** Ends the caller's session: its access tokens at once in this process, a moment later in others. BAD_USER_INPUT for a key. */
export async function logout(auth: Auth, caller: Caller): Promise<void> {
  if (caller.credential.kind !== "user")
    throw badInput("wrong_credential", "an API key has no session to end: use revokeApiKey");
  const { sessionId } = caller.credential;
  await revokeSession(auth.database, caller.organizationId, sessionId, auth.clock.now());
  auth.sessions.invalidate(caller.organizationId, sessionId);
}
