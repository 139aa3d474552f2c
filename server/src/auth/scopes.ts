/** What a credential may do, which scope each field of the API needs, and which scopes a role has. */
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

/** A scope, or null: any signed-in caller, or "public": no credential is asked for. */
export type Need = Scope | null | "public";

/**
 * Every field of Query, Mutation and Subscription, as `Type.field`. A field that is missing here cannot be served:
 * the schema is built from this table.
 */
export const SCOPES = {
  "Query.__typename": "public",
  "Query.me": null,
  "Query.organization": null,
  /** What is behind the id needs `NODE_SCOPES`. */
  "Query.node": null,
  "Query.projects": "agents:read",
  "Query.project": "agents:read",
  "Query.agents": "agents:read",
  "Query.agentsConnection": "agents:read",
  "Query.agent": "agents:read",
  "Query.agentDiff": "agents:read",
  "Query.run": "runs:read",
  "Query.runs": "runs:read",
  "Query.approvals": "runs:read",
  "Query.approval": "runs:read",
  "Query.apiKeys": "admin",

  "Mutation.__typename": "public",
  "Mutation.login": "public",
  "Mutation.refreshToken": "public",
  "Mutation.setup": "public",
  "Mutation.logout": null,
  "Mutation.createProject": "agents:write",
  "Mutation.createApiKey": "admin",
  "Mutation.revokeApiKey": "admin",
  "Mutation.saveAgentDraft": "agents:write",
  "Mutation.publishAgent": "agents:write",
  "Mutation.publishDraft": "agents:write",
  "Mutation.publishVersion": "agents:write",
  "Mutation.validateDefinition": "agents:write",
  "Mutation.setAgentStatus": "agents:write",
  "Mutation.setAgentLimit": "agents:write",
  "Mutation.runAgent": "runs:start",
  "Mutation.rerunRun": "runs:start",
  "Mutation.retryRun": "runs:start",
  "Mutation.cancelRun": "runs:cancel",
  "Mutation.cancelRuns": "runs:cancel",
  "Mutation.decideApproval": "approvals:decide",

  "Subscription.__typename": "public",
  "Subscription.runUpdated": "runs:read",
  "Subscription.runEvents": "runs:read",
  "Subscription.runsChanged": "runs:read",
  "Subscription.approvalsChanged": "runs:read",
} as const satisfies Record<`${"Query" | "Mutation" | "Subscription"}.${string}`, Need>;
export type Field = keyof typeof SCOPES;

/** What `node(id)` needs beside being signed in, by the kind that the id's prefix names. */
export const NODE_SCOPES = {
  organization: null,
  user: null,
  project: "agents:read",
  agent: "agents:read",
  run: "runs:read",
  approval: "runs:read",
  apiKey: "admin",
} as const satisfies Record<string, Scope | null>;

const everything: ReadonlySet<Scope> = new Set(ALL_SCOPES);

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
