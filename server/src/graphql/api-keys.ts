/** API keys: made, listed, revoked. */
import { listApiKeys, revokeApiKey } from "../auth/api-keys.ts";
import { createApiKey } from "../auth/create-api-key.ts";
import { decodeId, encodeId } from "../lib/ids.ts";
import { idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { addConnection, connectionOf, pageArguments, PAGED, pageRequest } from "./connection.ts";
import { callerOf } from "./context.ts";

export function addApiKeys(builder: Builder): void {
  addApiKey(builder);
  addConnection(builder, "ApiKey");
  addQuery(builder);
  addMutations(builder);
}

function addApiKey(builder: Builder): void {
  builder.objectType("ApiKey", {
    description: "A credential for programs, sent as `Authorization: Bearer <API key>`.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => encodeId("apiKey", id), description: "A TypeID, `key_…`." }),
      name: t.exposeString("name", { description: "For people." }),
      hint: t.exposeString("hint", { description: "Its last four characters." }),
      secret: t.exposeString("secret", {
        nullable: true,
        description: "The key itself: only in the answer of `createApiKey`, null ever after.",
      }),
      scopes: t.exposeStringList("scopes", { description: "What it may do, like `runs:start`." }),
      createdBy: t.expose("createdBy", { type: "User", description: "Who made it." }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was made." }),
      expiresAt: t.expose("expiresAt", {
        type: "DateTime",
        nullable: true,
        description: "Refused from then on; null: never.",
      }),
      revokedAt: t.expose("revokedAt", { type: "DateTime", nullable: true, description: "When it was revoked." }),
      lastUsedAt: t.expose("lastUsedAt", { type: "DateTime", nullable: true, description: "Up to a minute late." }),
    }),
  });
}

function addQuery(builder: Builder): void {
  builder.queryField("apiKeys", (t) =>
    t.field({
      type: "ApiKeyConnection",
      extensions: PAGED,
      description: "The organization's API keys, newest first, revoked ones too.",
      args: pageArguments(builder),
      resolve: async (_, page, context) => {
        const request = pageRequest(page, (cursor) => decodeId("apiKey", cursor));
        return connectionOf(await listApiKeys(context.auth, callerOf(context), request), ({ id }) =>
          encodeId("apiKey", id),
        );
      },
    }),
  );
}

function addMutations(builder: Builder): void {
  const create = builder.inputType("CreateApiKeyInput", {
    description: "A new API key, with all scopes.",
    fields: (t) => ({
      name: t.string({ description: "For people: what uses it." }),
      expiresAt: t.field({ type: "DateTime", required: false, description: "When it ends by itself." }),
    }),
  });
  const revoke = builder.inputType("RevokeApiKeyInput", {
    description: "Which API key.",
    fields: (t) => ({ apiKeyId: t.id({ description: "A TypeID, `key_…`." }) }),
  });
  builder.mutationField("createApiKey", (t) =>
    t.field({
      type: "ApiKey",
      description: "Makes an API key. Its `secret` is in this answer only.",
      args: { input: t.arg({ type: create, description: "A new API key." }) },
      resolve: async (_, { input: { name, expiresAt } }, context) => {
        const made = await createApiKey(context.auth, callerOf(context), { name, expiresAt: expiresAt ?? undefined });
        return { ...made.key, secret: made.secret };
      },
    }),
  );
  builder.mutationField("revokeApiKey", (t) =>
    t.field({
      type: "ApiKey",
      description: "Ends an API key for good. Again: the same answer.",
      args: { input: t.arg({ type: revoke, description: "Which API key." }) },
      resolve: (_, { input }, context) => revokeApiKey(context.auth, callerOf(context), idOf("apiKey", input.apiKeyId)),
    }),
  );
}
