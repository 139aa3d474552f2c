/** Creating, listing and revoking API keys. */
import { listApiKeys, revokeApiKey } from "../../auth/api-keys/api-keys.ts";
import { createApiKey } from "../../auth/api-keys/create-api-key.ts";
import { API_KEY_PRESETS } from "../../auth/api-keys/api-key-presets.ts";
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { idOf, optionalIds } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { actingOf, callerOf } from "../context/context.ts";

export function addApiKeys(builder: Builder): void {
  addApiKey(builder);
  addConnection(builder, "ApiKey");
  addPresets(builder);
  addQuery(builder);
  addCreate(builder);
  addRevoke(builder);
}

/** Few keys are narrowed to more; what more there is counts as it is read. */
const REACH_COUNTED = { cost: { most: 3 } };
/** Projects or agents of a key: few are asked for. */
const REACHED_VALUES = 4;

function addApiKey(builder: Builder): void {
  builder.objectType("ApiKey", {
    description: "An API key: a credential for programs, sent as `Authorization: Bearer <API key>`.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("apiKey", id),
        description: "The API key's id, `key_…`.",
      }),
      name: t.exposeString("name", { scope: "inherited", description: "The API key's name." }),
      hint: t.exposeString("hint", { scope: "admin", description: "The last four characters of the key." }),
      secret: t.exposeString("secret", {
        scope: "admin",
        nullable: true,
        description: "The key itself. Only the answer of `createApiKey` has it; everywhere else it is null.",
      }),
      scopes: t.exposeStringList("scopes", {
        scope: "admin",
        description: "What the key may do, such as `runs:start`.",
      }),
      projects: t.field({
        scope: "inherited",
        type: ["Project"],
        nullable: true,
        extensions: REACH_COUNTED,
        description:
          "The projects that the key is narrowed to: it reaches all their agents, including those created later. Null if it is narrowed to no project. With `agents` null as well, it reaches the whole organization.",
        resolve: ({ projectIds }, _, { loaders, size }) => {
          size.addValues((projectIds?.length ?? 0) * REACHED_VALUES);
          return projectIds?.map((id) => loaders.project(id)) ?? null;
        },
      }),
      agents: t.field({
        scope: "inherited",
        type: ["Agent"],
        nullable: true,
        extensions: REACH_COUNTED,
        description: "The agents that the key is narrowed to. Null if it is narrowed to no agent.",
        resolve: ({ agentIds }, _, { loaders, size }) => {
          size.addValues((agentIds?.length ?? 0) * REACHED_VALUES);
          return agentIds?.map((id) => loaders.agent(id)) ?? null;
        },
      }),
      createdBy: t.expose("createdBy", { scope: "admin", type: "Actor", description: "Who created the key." }),
      createdAt: t.expose("createdAt", { scope: "admin", type: "DateTime", description: "When the key was created." }),
      expiresAt: t.expose("expiresAt", {
        scope: "admin",
        type: "DateTime",
        nullable: true,
        description: "When the key expires. Null if it never does.",
      }),
      revokedAt: t.expose("revokedAt", {
        scope: "admin",
        type: "DateTime",
        nullable: true,
        description: "When the key was revoked. Null if it was not.",
      }),
      lastUsedAt: t.expose("lastUsedAt", {
        scope: "admin",
        type: "DateTime",
        nullable: true,
        description: "When the key was last used, to the minute. Null if it never was.",
      }),
    }),
  });
}

const API_KEYS = listById("apiKeys", "apiKey");

function addQuery(builder: Builder): void {
  builder.queryField("apiKeys", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "ApiKeyConnection",
      extensions: PAGED,
      description: `The organization's API keys, newest first. A key that was revoked or has expired is listed for ${LIMITS.apiKeyDaysAfterEnd} days.`,
      args: pageArguments(builder),
      resolve: (_, page, context) =>
        connect(API_KEYS, page, (request) => listApiKeys(context.auth, callerOf(context), request)),
    }),
  );
}

function addPresets(builder: Builder): void {
  builder.objectType("ApiKeyPreset", {
    description: "What an API key is usually for, with the scopes that `createApiKey` takes for it.",
    fields: (t) => ({
      id: t.exposeID("id", {
        scope: "inherited",
        description: "The preset's id, such as `read-only`. It never changes.",
      }),
      title: t.exposeString("title", { scope: "inherited", description: "The preset's name." }),
      description: t.exposeString("description", {
        scope: "inherited",
        description: "What a key with these scopes may do, and who it is for.",
      }),
      scopes: t.exposeStringList("scopes", {
        scope: "inherited",
        description: "The scopes to pass to `createApiKey`.",
      }),
      needsAgent: t.exposeBoolean("needsAgent", {
        scope: "inherited",
        description: "Whether the key should be narrowed to agents with `agentIds`.",
      }),
    }),
  });
  builder.queryField("apiKeyPresets", (t) =>
    t.field({
      scope: null,
      narrowedKeys: true,
      type: ["ApiKeyPreset"],
      extensions: { cost: { most: API_KEY_PRESETS.length } },
      description: "What API keys are usually for. A key can also have any other combination of scopes.",
      resolve: () => [...API_KEY_PRESETS],
    }),
  );
}

function addCreate(builder: Builder): void {
  const input = builder.inputType("CreateApiKeyInput", {
    description: "Input of `createApiKey`.",
    fields: (t) => ({
      name: t.string({
        description: `A name that says what uses the key, of at most ${LIMITS.nameCharacters} characters.`,
      }),
      scopes: t.stringList({
        description:
          "What the key may do, such as `runs:start`: at least one scope, and none that the caller lacks. `docs/api.md` lists the scopes.",
      }),
      projectIds: t.idList({
        required: false,
        extensions: { mostItems: LIMITS.keyReachIds },
        description: `Narrow the key to these projects and all their agents, including future ones. Default: not narrowed. At most ${LIMITS.keyReachIds} together with \`agentIds\`; not with the scope \`admin\`.`,
      }),
      agentIds: t.idList({
        required: false,
        extensions: { mostItems: LIMITS.keyReachIds },
        description:
          "Narrow the key to these agents, in addition to those of `projectIds`. BAD_USER_INPUT for an agent of one of those projects.",
      }),
      expiresAt: t.field({
        type: "DateTime",
        required: false,
        description:
          "When the key expires. Default: never. Keys that an expiring key creates must expire no later than it does.",
      }),
    }),
  });
  builder.mutationField("createApiKey", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "ApiKey",
      description: "Creates an API key. Only this answer has the key's `secret`.",
      args: { input: t.arg({ type: input, description: "Input of `createApiKey`." }) },
      resolve: async (_, { input: { name, scopes, projectIds, agentIds, expiresAt } }, context) => {
        const made = await createApiKey(context.auth, actingOf(context), {
          name,
          scopes,
          ...optionalIds("projectIds", "project", projectIds, "input"),
          ...optionalIds("agentIds", "agent", agentIds, "input"),
          expiresAt: expiresAt ?? undefined,
        });
        return { ...made.key, secret: made.secret };
      },
    }),
  );
}

function addRevoke(builder: Builder): void {
  const input = builder.inputType("RevokeApiKeyInput", {
    description: "Input of `revokeApiKey`.",
    fields: (t) => ({ apiKeyId: t.id({ description: "The API key's id." }) }),
  });
  builder.mutationField("revokeApiKey", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "ApiKey",
      description: "Revokes an API key for good. Revoking a revoked key returns it unchanged.",
      args: { input: t.arg({ type: input, description: "Input of `revokeApiKey`." }) },
      resolve: (_, { input }, context) => revokeApiKey(context.auth, actingOf(context), idOf("apiKey", input.apiKeyId)),
    }),
  );
}
