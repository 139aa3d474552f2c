/** Who is asking: a user's session or an API key, in exactly one organization. */
import { Refusal } from "../lib/errors.ts";
import type { ApiKeyId, OrganizationId, SessionId, UserId } from "../lib/ids.ts";
import { newId } from "../lib/ids.ts";
import { ROLE_SCOPES, SCOPES, type Field, type Scope } from "./scopes.ts";

export type Client = "api" | "ui";

/** Times in ms since 1970. */
export type Credential =
  | { kind: "user"; sessionId: SessionId; client: Client; expiresAt: number }
  | { kind: "key"; keyId: ApiKeyId; expiresAt?: number };

export type Caller = {
  organizationId: OrganizationId;
  /** Of an API key: the user who made it. */
  user: { id: UserId; name: string };
  credential: Credential;
  scopes: ReadonlySet<Scope>;
};

export const notSignedIn = (): Refusal =>
  new Refusal("UNAUTHENTICATED", "sign in first: send Authorization: Bearer <API key or access token>");

/** Throws UNAUTHENTICATED when nobody is signed in. */
export function signedIn(caller: Caller | undefined): Caller {
  if (!caller) throw notSignedIn();
  return caller;
}

/** Throws FORBIDDEN, naming the scope, when the caller lacks it. */
export function requireScope(caller: Caller, scope: Scope | null): Caller {
  if (scope !== null && !caller.scopes.has(scope)) throw new Refusal("FORBIDDEN", `this needs the scope ${scope}`);
  return caller;
}

/** Whether this caller may ask for a field of Query, Mutation or Subscription; throws UNAUTHENTICATED or FORBIDDEN. */
export function checkField(caller: Caller | undefined, field: Field): void {
  const need = SCOPES[field];
  if (need !== "public") requireScope(signedIn(caller), need);
}

/** An owner without a session: for setup and the command line, where access to the data folder is the credential. */
export const ownerCaller = (organizationId: OrganizationId, user: { id: UserId; name: string }): Caller => ({
  organizationId,
  user: { id: user.id, name: user.name },
  credential: { kind: "user", sessionId: newId(), client: "api", expiresAt: Number.POSITIVE_INFINITY },
  scopes: ROLE_SCOPES.owner,
});
