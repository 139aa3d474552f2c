/** Who is asking: a user's session or an API key, in exactly one organization. */
import { COMMAND_LINE, SYSTEM, type From, type Who } from "../audit/event.ts";
import { Refusal } from "../lib/errors.ts";
import type { ApiKeyId, OrganizationId, SessionId, UserId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import { newId } from "../lib/ids.ts";
import type { Needs } from "./needs.ts";
import { ROLE_SCOPES, type Scope } from "./scopes.ts";

export type Client = "api" | "ui";

/** Times in ms since 1970. */
export type Credential =
  | { kind: "user"; sessionId: SessionId; client: Client; expiresAt: number }
  | { kind: "key"; keyId: ApiKeyId; expiresAt?: number };

export type Caller = Within & {
  /** For an API key, the user who created it. */
  user: { id: UserId; name: string };
  credential: Credential;
  scopes: ReadonlySet<Scope>;
};

/** Who did something, as rows keep it. */
export const actorOf = ({ credential, user }: Caller): { kind: "user"; id: UserId } | { kind: "key"; id: ApiKeyId } =>
  credential.kind === "key" ? { kind: "key", id: credential.keyId } : { kind: "user", id: user.id };

/** A caller who changes something that the audit tells of. */
export type Acting = Caller & { from: From };

/** The actor of what the operator and Autograph itself do: it has no user. */
export const whoOf = (caller: Acting): Who => ({
  organizationId: caller.organizationId,
  actor: caller.from.note === undefined ? actorOf(caller) : SYSTEM,
  from: caller.from,
});

export const notSignedIn = (): Refusal =>
  new Refusal("UNAUTHENTICATED", "sign in first: send Authorization: Bearer <API key or access token>");

/** Throws UNAUTHENTICATED when nobody is signed in. */
export function requireCaller(caller: Caller | undefined): Caller {
  if (!caller) throw notSignedIn();
  return caller;
}

/** Throws FORBIDDEN, naming the scope, when the caller lacks it. */
export function requireScope(caller: Caller, scope: Scope | null): Caller {
  if (scope !== null && !caller.scopes.has(scope))
    throw new Refusal("FORBIDDEN", `this needs the scope ${scope}`, { scope });
  return caller;
}

/** FORBIDDEN, naming each scope that the caller lacks with a field that needs it. */
export function lacksScopes(caller: Caller, scopes: Needs["scopes"]): Refusal {
  const missing = [...scopes].filter(([scope]) => !caller.scopes.has(scope));
  const names = missing.map(([scope, field]) => `${scope} (${field})`).join(" and ");
  const scope = missing.map(([one]) => one).join(" ");
  return new Refusal("FORBIDDEN", `this needs the scope${missing.length > 1 ? "s" : ""} ${names}`, { scope });
}

/** FORBIDDEN to a narrowed API key: a field, or what `node` was asked for. */
export const needsWhole = (what: string): Refusal =>
  new Refusal("FORBIDDEN", `this needs the whole organization (${what}), and the API key is narrowed to a part of it`);

/** An owner without a session: for setup and the command line, where access to the data folder is the credential. */
export const ownerCaller = (
  organizationId: OrganizationId,
  user: { id: UserId; name: string },
  from: From = COMMAND_LINE,
): Acting => ({
  organizationId,
  user: { id: user.id, name: user.name },
  credential: { kind: "user", sessionId: newId(), client: "api", expiresAt: Number.POSITIVE_INFINITY },
  scopes: ROLE_SCOPES.owner,
  reach: undefined,
  from,
});
