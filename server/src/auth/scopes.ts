/** Scopes: a credential's, and those of each role. The scope that a field of the API needs: graphql/builder/access.ts. */
import type { Role } from "../storage/schema.ts";

export const ALL_SCOPES = [
  "agents:read",
  "agents:write",
  "runs:read",
  "runs:start",
  "runs:cancel",
  "approvals:decide",
  "triggers:write",
  "events:write",
  "secrets:write",
  "admin",
] as const;
export type Scope = (typeof ALL_SCOPES)[number];
export const isScope = (text: string): text is Scope => ALL_SCOPES.some((scope) => scope === text);

const everything: ReadonlySet<Scope> = new Set(ALL_SCOPES);

/** From the most to the least. */
export const ROLES = ["owner", "admin", "editor", "runner", "viewer"] as const satisfies readonly Role[];

/** One set object per role: a caller's scopes are compared by identity to see whether the role changed. */
export const ROLE_SCOPES: Record<Role, ReadonlySet<Scope>> = {
  owner: everything,
  admin: everything,
  editor: new Set(ALL_SCOPES.filter((scope) => scope !== "admin")),
  runner: new Set<Scope>(["agents:read", "runs:read", "runs:start", "runs:cancel", "approvals:decide"]),
  viewer: new Set<Scope>(["agents:read", "runs:read"]),
};

/** A key's stored scopes; names that this release does not know give nothing. */
export function scopesOf(stored: readonly string[]): ReadonlySet<Scope> {
  const known = ALL_SCOPES.filter((scope) => stored.includes(scope));
  return known.length === ALL_SCOPES.length ? everything : new Set(known);
}
