/** From an Authorization header to a caller. */
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { API_KEY_PREFIX, isApiKey } from "../api-key.ts";
import type { Auth } from "../handle/auth.ts";
import { badBearer } from "../bad-credential.ts";
import type { Caller } from "../caller.ts";
import { ROLE_SCOPES } from "../scopes.ts";
import { WrongCredential } from "../sign-in/wrong-credentials.ts";

const refused = (message: string): Refusal => new Refusal("UNAUTHENTICATED", message);

const KEY_HEADER = `Bearer ${API_KEY_PREFIX}`;

/** A header and the caller that it was found to be. */
export type Known = { authorization: string; caller: Caller };

/**
 * The caller of nearly every request: an API key that was used here a moment ago. It costs a SHA-256 and two look-ups, and
 * no promise; of the header that is `known`, one look-up. Undefined does not mean that the credential is bad: ask `authenticate`.
 */
export function recallCaller(
  { keys }: Auth,
  authorizationHeader: string | undefined,
  known?: Known,
): Caller | undefined {
  if (known?.caller.credential.kind === "key" && known.authorization === authorizationHeader) {
    const { organizationId, credential } = known.caller;
    const recalled = keys.recallById(organizationId, credential.keyId);
    if (recalled) keys.noteUse(organizationId, credential.keyId);
    return recalled;
  }
  if (!authorizationHeader?.startsWith(KEY_HEADER) || authorizationHeader.length > LIMITS.credentialCharacters)
    return undefined;
  const caller = keys.recall(authorizationHeader.slice(KEY_HEADER.length - API_KEY_PREFIX.length));
  if (caller?.credential.kind === "key") keys.noteUse(caller.organizationId, caller.credential.keyId);
  return caller;
}

/**
 * Undefined when no header was sent. `address`: of the client. Throws UNAUTHENTICATED when the credential is malformed,
 * unknown, expired or revoked, UNAVAILABLE when too many unknown API keys are being looked up.
 */
export async function authenticate(
  auth: Auth,
  authorizationHeader: string | undefined,
  address: string,
): Promise<Caller | undefined> {
  if (authorizationHeader === undefined) return undefined;
  const token = bearerOf(authorizationHeader);
  if (token === undefined)
    throw new WrongCredential(
      `the Authorization header must be: Bearer <API key or access token>, of at most ${LIMITS.credentialCharacters} characters`,
    );
  if (token.startsWith(API_KEY_PREFIX)) return keyCaller(auth, token, address);
  return sessionCaller(auth, token);
}

/** The token of an Authorization header; undefined if it is none of ours. */
export function bearerOf(header: string): string | undefined {
  if (header.length > LIMITS.credentialCharacters) return undefined;
  return /^Bearer +([\w.~+/-]+=*) *$/i.exec(header)?.[1];
}

async function keyCaller(auth: Auth, secret: string, address: string): Promise<Caller> {
  if (!isApiKey(secret))
    throw new WrongCredential("this API key is incomplete or mistyped: compare it with the one that was shown");
  const caller = await auth.keys.bySecret(secret, address);
  if (caller?.credential.kind !== "key") throw new WrongCredential(badBearer(secret));
  auth.keys.noteUse(caller.organizationId, caller.credential.keyId);
  return caller;
}

async function sessionCaller(auth: Auth, token: string): Promise<Caller> {
  const claims = await auth.accessTokens.verify(token);
  if (!claims) throw new WrongCredential(badBearer(token));
  const state = claims === "expired" ? undefined : await auth.sessions.get(claims.organizationId, claims.sessionId);
  if (claims === "expired" || state?.userId !== claims.userId) throw refused(badBearer(token));
  const { organizationId, sessionId, client, expiresAt } = claims;
  return {
    organizationId,
    user: { id: state.userId, name: state.userName },
    credential: { kind: "user", sessionId, client, expiresAt },
    scopes: ROLE_SCOPES[state.role],
    reach: undefined,
  };
}
