/**
 * The one admission. Every request over the network is asked the same questions in the same order, before anything is done for
 * it: who is it (`identify`), have they asked too often (`rates/rates.ts`), and may they do all that they ask for (`findRefusal`). As long
 * as a connection lasts, the first question is asked again (`callerNow`).
 */
import { isDeepStrictEqual } from "node:util";
import type { Refusal } from "../../lib/errors.ts";
import type { Auth } from "../handle/auth.ts";
import { authenticate, recallCaller, type Known } from "./authenticate.ts";
import { lacksScopes, needsWhole, notSignedIn, type Caller } from "../caller.ts";
import type { Needs } from "../needs.ts";
import { ROLE_SCOPES } from "../scopes.ts";

/**
 * The caller behind an Authorization header, at once when it was used here a moment ago, and sooner if it is `known`. Undefined without a header. Throws
 * UNAUTHENTICATED when the credential is malformed, unknown, expired or revoked, and RATE_LIMITED instead when the client's
 * address has sent too many wrong ones.
 */
export function identify(
  auth: Auth,
  authorization: string | undefined,
  address: () => string,
  known?: Known,
): Caller | undefined | Promise<Caller | undefined> {
  const caller = recallCaller(auth, authorization, known);
  if (caller || authorization === undefined) return caller;
  return authenticate(auth, authorization, address()).catch((error: unknown) => {
    throw auth.wrongCredentials.count(error, address());
  });
}

/**
 * Why this caller may not do what needs this: UNAUTHENTICATED, or FORBIDDEN with every scope that is missing, or for a field
 * of the whole organization.
 */
export function findRefusal(caller: Caller | undefined, { signIn, scopes, whole }: Needs): Refusal | undefined {
  if (!caller) return signIn ? notSignedIn() : undefined;
  for (const scope of scopes.keys()) if (!caller.scopes.has(scope)) return lacksScopes(caller, scopes);
  return caller.reach && whole !== undefined ? needsWhole(whole) : undefined;
}

/**
 * The caller with their present role and reach, which may have changed since a long connection was opened. Undefined once it is revoked or has expired. From memory for up to 5 s, and at once for a change made in this process.
 */
export async function callerNow(auth: Auth, caller: Caller): Promise<Caller | undefined> {
  const { credential, organizationId } = caller;
  if (credential.kind === "key") return auth.keys.byId(organizationId, credential.keyId);
  if (credential.expiresAt <= auth.clock.now()) return undefined;
  const state = await auth.sessions.get(organizationId, credential.sessionId);
  if (state?.userId !== caller.user.id) return undefined;
  const scopes = ROLE_SCOPES[state.role];
  return scopes === caller.scopes ? caller : { ...caller, scopes };
}

/** Whether both have the same rights, so that work begun for one may go on for the other. */
export const mayTheSame = (left: Caller, right: Caller): boolean =>
  left.scopes.size === right.scopes.size &&
  left.scopes.isSubsetOf(right.scopes) &&
  isDeepStrictEqual(left.reach, right.reach);
