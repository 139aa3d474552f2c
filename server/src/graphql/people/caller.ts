/** Who is asking, and what they may do. */
import { readApiKey } from "../../auth/api-keys/api-keys.ts";
import { listMemberships } from "../../auth/accounts/memberships.ts";
import { readMember } from "../../auth/accounts/users.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addCaller(builder: Builder, enums: Enums): void {
  addMembership(builder, enums);
  builder.objectType("Caller", {
    description: "The user or API key that sent the request.",
    fields: (t) => ({
      user: t.field({
        scope: "inherited",
        type: "User",
        nullable: true,
        description: "The signed-in user. Null for an API key.",
        resolve: ({ credential, user }) => (credential.kind === "user" ? user : null),
      }),
      apiKey: t.field({
        scope: "inherited",
        type: "ApiKey",
        nullable: true,
        description: "The API key. Null for a signed-in user.",
        resolve: async ({ credential, organizationId }, _, { auth }) =>
          credential.kind === "key" ? ((await readApiKey(auth, organizationId, credential.keyId)) ?? null) : null,
      }),
      role: t.field({
        scope: "inherited",
        type: enums.Role,
        nullable: true,
        description: "The user's role in the organization. Null for an API key.",
        resolve: async ({ credential, organizationId, user }, _, { auth }) =>
          credential.kind === "user" ? ((await readMember(auth, organizationId, user.id))?.role ?? null) : null,
      }),
      scopes: t.stringList({
        scope: "inherited",
        description: "What the caller may do, such as `runs:start`.",
        resolve: ({ scopes }) => [...scopes],
      }),
      memberships: t.field({
        scope: "inherited",
        type: ["Membership"],
        extensions: { cost: { most: LIMITS.membershipsListed } },
        description: `The organizations that the user is a member of, by name, ${LIMITS.membershipsListed} at most. \`refreshToken\` switches between them. Empty for an API key.`,
        resolve: async ({ credential, user }, _, { auth }) =>
          credential.kind === "user" ? listMemberships(auth, user.id) : [],
      }),
    }),
  });
  builder.queryField("caller", (t) =>
    t.field({
      scope: null,
      narrowedKeys: true,
      type: "Caller",
      description: "The user or API key that sent the request, and what it may do.",
      resolve: (_, _arguments, context) => callerOf(context),
    }),
  );
}

function addMembership(builder: Builder, enums: Enums): void {
  builder.objectType("Membership", {
    description: "A user's membership in an organization.",
    fields: (t) => ({
      organization: t.expose("organization", {
        scope: "inherited",
        type: "Organization",
        description: "The organization.",
      }),
      role: t.expose("role", { scope: "inherited", type: enums.Role, description: "The user's role there." }),
    }),
  });
}
