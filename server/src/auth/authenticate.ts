/** From an Authorization header to a caller. */
import { Refusal } from "../lib/errors.ts";
import { API_KEY_PREFIX, isApiKey } from "./api-key.ts";
import type { Auth } from "./auth.ts";
import type { Caller } from "./caller.ts";
import { ROLE_SCOPES, type Scope } from "./scopes.ts";

/** Our tokens have about 500 characters; what is longer is not looked at. */
const HEADER_CHARACTERS_MOST = 4_096;

const refused = (message: string): Refusal => new Refusal("UNAUTHENTICATED", message);

const KEY_HEADER = `Bearer ${API_KEY_PREFIX}`;

/**
 * The caller of nearly every request: of an API key that was used here a moment ago. It costs a SHA-256 and two look-ups,
 * and no promise. Undefined does not mean that the credential is bad: ask `authenticate`.
 */
export function remembered({ keys }: Auth, authorizationHeader: string | undefined): Caller | undefined {
  if (!authorizationHeader?.startsWith(KEY_HEADER) || authorizationHeader.length > HEADER_CHARACTERS_MOST)
    return undefined;
  const caller = keys.remembered(authorizationHeader.slice(KEY_HEADER.length - API_KEY_PREFIX.length));
  if (caller?.credential.kind === "key") keys.noteUse(caller.organizationId, caller.credential.keyId);
  return caller;
}

/**
 * Undefined when no header was sent. Throws UNAUTHENTICATED when the credential is malformed, unknown, expired or
 * revoked.
 */
export async function authenticate(auth: Auth, authorizationHeader: string | undefined): Promise<Caller | undefined> {
  if (authorizationHeader === undefined) return undefined;
  const token = bearerOf(authorizationHeader);
  if (token === undefined) throw refused("the Authorization header must be: Bearer <API key or access token>");
  if (token.startsWith(API_KEY_PREFIX)) return keyCaller(auth, token);
  if (token.startsWith("rt_")) throw refused("this is a refresh token: send the access token");
  return sessionCaller(auth, token);
}

/**
 * Whether the credential behind a long connection still stands, with the same scopes; asked again and again, answered
 * from memory for up to 5 s.
 */
export async function credentialValid(auth: Auth, caller: Caller): Promise<boolean> {
  const { credential, organizationId } = caller;
  if (credential.kind === "key") {
    const now = await auth.keys.byId(organizationId, credential.keyId);
    return now !== undefined && isSame(now.scopes, caller.scopes);
  }
  if (credential.expiresAt <= auth.clock.now()) return false;
  const state = await auth.sessions.get(organizationId, credential.sessionId);
  return state !== undefined && isSame(ROLE_SCOPES[state.role], caller.scopes);
}

const isSame = (left: ReadonlySet<Scope>, right: ReadonlySet<Scope>): boolean =>
  left.size === right.size && left.isSubsetOf(right);

function bearerOf(header: string): string | undefined {
  if (header.length > HEADER_CHARACTERS_MOST) return undefined;
  return /^Bearer +([\w.~+/-]+=*) *$/i.exec(header)?.[1];
}

async function keyCaller(auth: Auth, secret: string): Promise<Caller> {
  if (!isApiKey(secret)) throw refused("this is not a whole API key: compare it with the one that was shown");
  const caller = await auth.keys.bySecret(secret);
  if (caller?.credential.kind !== "key") throw refused("this API key is unknown, revoked or expired");
  auth.keys.noteUse(caller.organizationId, caller.credential.keyId);
  return caller;
}

async function sessionCaller(auth: Auth, token: string): Promise<Caller> {
  const claims = await auth.accessTokens.verify(token);
  const state = claims && (await auth.sessions.get(claims.organizationId, claims.sessionId));
  if (!claims || state?.userId !== claims.userId) throw refused("the access token is not valid or has expired");
  const { organizationId, sessionId, client, expiresAt } = claims;
  return {
    organizationId,
    user: { id: state.userId, name: state.userName },
    credential: { kind: "user", sessionId, client, expiresAt },
    scopes: ROLE_SCOPES[state.role],
  };
}
