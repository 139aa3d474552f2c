/** The models that a project's agents and sentences are asked with. No field has a key. */
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { testConnection } from "../../llm/test-connection.ts";
import { createModelConnection } from "../../models/create-connection.ts";
import { readConnection } from "../../models/find-connection.ts";
import { deleteModelConnection } from "../../models/delete-connection.ts";
import { listModelConnections, readModelConnection } from "../../models/list-connections.ts";
import type { ModelConnection } from "../../models/model-connection.ts";
import { updateModelConnection } from "../../models/update-connection.ts";
import type { Builder } from "../builder/builder.ts";
import type { Enums } from "../builder/enums.ts";
import { addModelSum } from "./model-sums.ts";
import { daysOf } from "./rates.ts";
import { checkFilter, idOf, requireFound } from "../context/arguments.ts";
import { actingOf, callerOf, endWithCredential, type Context } from "../context/context.ts";

export function addModelConnections(builder: Builder, enums: Enums): void {
  addConnectionType(builder, enums);
  addSpend(builder);
  addList(builder);
  const inputs = addInputs(builder);
  addCreate(builder, enums, inputs);
  addUpdate(builder, enums, inputs);
  addDelete(builder);
  addTest(builder, enums);
}

function addConnectionType(builder: Builder, enums: Enums): void {
  builder.objectType("ModelPrices", {
    description: "What a model's tokens cost. What a run costs is worked out from them.",
    fields: (t) => ({
      inputPerMillion: t.exposeFloat("inputPerMillion", {
        scope: "inherited",
        description: "Price of a million input tokens.",
      }),
      outputPerMillion: t.exposeFloat("outputPerMillion", {
        scope: "inherited",
        description: "Price of a million output tokens.",
      }),
      cachedInputPerMillion: t.exposeFloat("cachedInputPerMillion", {
        scope: "inherited",
        nullable: true,
        description: "Price of a million input tokens that the provider had in its cache. Null: `inputPerMillion`.",
      }),
      currency: t.exposeString("currency", {
        scope: "inherited",
        description: "The prices' currency, a code of ISO 4217.",
      }),
    }),
  });
  builder.objectType("ModelLimits", {
    description: "What may be asked over a model connection. A day is one of UTC.",
    fields: (t) => ({
      concurrency: t.exposeInt("concurrency", {
        scope: "inherited",
        nullable: true,
        description: "Maximum of calls at a time.",
      }),
      tokensPerDay: t.exposeFloat("tokensPerDay", {
        scope: "inherited",
        nullable: true,
        description: "Maximum of input and output tokens a day.",
      }),
      costPerDay: t.exposeFloat("costPerDay", {
        scope: "inherited",
        nullable: true,
        description: "Maximum of what calls cost a day, in the currency of the prices.",
      }),
    }),
  });
  builder.objectType("ModelConnection", {
    description: "A language model that a project's agents ask. Its key cannot be read.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("modelConnection", id),
        description: "The connection's id, `model_…`.",
      }),
      name: t.exposeString("name", {
        scope: "inherited",
        description: "The connection's name, unique in its project. Definitions name it.",
      }),
      provider: t.expose("provider", {
        scope: "inherited",
        type: enums.ModelProvider,
        description: "The protocol in which the model is asked.",
      }),
      baseUrl: t.exposeString("baseUrl", {
        scope: "inherited",
        nullable: true,
        description: "Where the model is asked. Null: at the provider's own address.",
      }),
      model: t.exposeString("model", { scope: "inherited", description: "The model's name at the provider." }),
      hasKey: t.exposeBoolean("hasKey", {
        scope: "inherited",
        description: "Whether an API key is sent. It is never shown.",
      }),
      apiKeyHeader: t.exposeString("apiKeyHeader", {
        scope: "inherited",
        nullable: true,
        description: "The header that the key is sent in. Null: as the provider's protocol has it.",
      }),
      isDefault: t.exposeBoolean("isDefault", {
        scope: "inherited",
        description: "Whether agents of the project that name no connection use this one.",
      }),
      prices: t.expose("prices", {
        scope: "inherited",
        type: "ModelPrices",
        nullable: true,
        description: "The model's prices. Null: what a call costs is not known.",
      }),
      limits: t.expose("limits", {
        scope: "inherited",
        type: "ModelLimits",
        nullable: true,
        description: "The connection's own limits. Null: it has none.",
      }),
      updatedAt: t.expose("updatedAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the connection was created or last changed.",
      }),
    }),
  });
}

const SPEND_DAYS = 7;

function addSpend(builder: Builder): void {
  builder.objectType("ModelSpend", {
    description: "What calls over a model connection used on one day (UTC), in one currency.",
    extensions: { isPart: true },
    fields: (t) => ({
      date: t.exposeString("date", { scope: "inherited", description: "The day, as YYYY-MM-DD." }),
    }),
  });
  addModelSum(builder, "ModelSpend", {
    tokens: "Tokens in and out, as far as they count for `tokensPerDay`.",
    cost: "What they cost, as far as it counts for `costPerDay`. Null: the connection had no prices.",
  });
  builder.objectField("ModelConnection", "spend", (t) =>
    t.field({
      scope: "inherited",
      type: ["ModelSpend"],
      nullable: true,
      extensions: { cost: { most: SPEND_DAYS, argument: "days" } },
      description:
        "What was used over the connection on its last days, today first. Days without calls are left out; a day with prices in two currencies is there twice.",
      args: {
        days: t.arg.int({
          required: false,
          defaultValue: SPEND_DAYS,
          description: `Look at this many days, from 1 to ${LIMITS.usageDays}.`,
        }),
      },
      resolve: ({ id }, { days }, { loaders }) =>
        loaders.modelSpend({ connectionId: id, days: daysOf(days ?? SPEND_DAYS) }),
    }),
  );
}

export const findModelConnection = async (context: Context, id: string): Promise<ModelConnection> =>
  requireFound(
    "modelConnection",
    await readModelConnection(context.models, callerOf(context).organizationId, idOf("modelConnection", id)),
  );

function addList(builder: Builder): void {
  builder.queryField("modelConnections", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: false,
      type: ["ModelConnection"],
      extensions: { cost: { most: LIMITS.modelConnectionsPerProject } },
      description: `The model connections of a project by name, at most ${LIMITS.modelConnectionsPerProject}. NOT_FOUND for an unknown project.`,
      args: { projectId: t.arg.id({ description: "The project's id." }) },
      resolve: async (_, { projectId }, context) => {
        const caller = callerOf(context);
        const id = idOf("project", projectId);
        await checkFilter(context, caller, { projectId: [id] });
        return listModelConnections(context.models, caller.organizationId, id);
      },
    }),
  );
}

type Inputs = ReturnType<typeof addInputs>;

function addInputs(builder: Builder) {
  return {
    prices: builder.inputType("ModelPricesInput", {
      description: "A model's prices.",
      fields: (t) => ({
        inputPerMillion: t.float({ description: "Price of a million input tokens." }),
        outputPerMillion: t.float({ description: "Price of a million output tokens." }),
        cachedInputPerMillion: t.float({
          required: false,
          description:
            "Price of a million input tokens that the provider had in its cache. Default: `inputPerMillion`.",
        }),
        currency: t.string({ description: "The prices' currency, a code of ISO 4217 such as `EUR`." }),
      }),
    }),
    limits: builder.inputType("ModelLimitsInput", {
      description: "The limits of a model connection. What is left out is not limited.",
      fields: (t) => ({
        concurrency: t.int({
          required: false,
          description: `Maximum of calls at a time, 1 to ${LIMITS.modelConcurrency}.`,
        }),
        tokensPerDay: t.float({ required: false, description: "Maximum of input and output tokens a day." }),
        costPerDay: t.float({
          required: false,
          description: "Maximum of what calls cost a day, in the currency of the prices.",
        }),
      }),
    }),
  };
}

const KEY = `The API key, at most ${LIMITS.modelKeyCharacters} characters. Send it as a variable.`;
const KEY_HEADER = `The header that the key is sent in, alone, such as \`api-key\`: for gateways that take it in no other. At most ${LIMITS.modelKeyHeaderCharacters} characters.`;
const BASE_URL =
  "Where the model is asked, such as `https://models.example.com/v1`. A query, such as `?api-version=1`, goes with each request.";
const NAME = `The connection's name: 1 to ${LIMITS.identifierCharacters} letters, digits, dots, hyphens and underscores, beginning with a letter or underscore.`;

function addCreate(builder: Builder, enums: Enums, { prices, limits }: Inputs): void {
  const input = builder.inputType("CreateModelConnectionInput", {
    description: "Input of `createModelConnection`.",
    fields: (t) => ({
      projectId: t.id({ description: "The project whose agents may use the connection." }),
      name: t.string({ description: NAME }),
      provider: t.field({ type: enums.ModelProvider, description: "The protocol in which the model is asked." }),
      baseUrl: t.string({
        required: false,
        description: `${BASE_URL} Default: the provider's own address; \`openai_compatible\` has none.`,
      }),
      model: t.string({ description: "The model's name at the provider." }),
      apiKey: t.string({ required: false, description: KEY }),
      apiKeyHeader: t.string({
        required: false,
        description: `${KEY_HEADER} Default: as the provider's protocol has it.`,
      }),
      isDefault: t.boolean({
        required: false,
        description: "Whether agents of the project that name no connection use this one. Default: false.",
      }),
      prices: t.field({ type: prices, required: false, description: "The model's prices." }),
      limits: t.field({ type: limits, required: false, description: "The connection's limits." }),
    }),
  });
  builder.mutationField("createModelConnection", (t) =>
    t.field({
      scope: "secrets:write",
      narrowedKeys: false,
      type: "ModelConnection",
      description:
        "Creates a model connection. If it is the default, the project's former default is one no longer. " +
        `CONFLICT if the project has a connection of this name, or ${LIMITS.modelConnectionsPerProject} connections.`,
      args: { input: t.arg({ type: input, description: "Input of `createModelConnection`." }) },
      resolve: (_, { input: { projectId, baseUrl, apiKey, apiKeyHeader, isDefault, ...given } }, context) =>
        createModelConnection(context.models, actingOf(context), {
          ...given,
          projectId: idOf("project", projectId),
          baseUrl: baseUrl ?? null,
          apiKey: apiKey ?? null,
          apiKeyHeader: apiKeyHeader ?? null,
          isDefault: isDefault ?? false,
          prices: pricesOf(given.prices),
          limits: limitsOf(given.limits),
        }),
    }),
  );
}

function addUpdate(builder: Builder, enums: Enums, { prices, limits }: Inputs): void {
  const input = builder.inputType("UpdateModelConnectionInput", {
    description: "Input of `updateModelConnection`. What is left out stays as it is.",
    fields: (t) => ({
      modelConnectionId: t.id({ description: "The connection's id." }),
      name: t.string({ required: false, description: NAME }),
      provider: t.field({
        type: enums.ModelProvider,
        required: false,
        description: "The protocol in which the model is asked.",
      }),
      baseUrl: t.string({ required: false, description: `${BASE_URL} Null: the provider's own address.` }),
      model: t.string({ required: false, description: "The model's name at the provider." }),
      apiKey: t.string({
        required: false,
        description: `${KEY} Null: none. Required when another server or header is named and there is a key.`,
      }),
      apiKeyHeader: t.string({
        required: false,
        description: `${KEY_HEADER} Null: as the provider's protocol has it.`,
      }),
      isDefault: t.boolean({
        required: false,
        description: "Whether agents of the project that name no connection use this one.",
      }),
      prices: t.field({ type: prices, required: false, description: "The model's prices. Null: none." }),
      limits: t.field({ type: limits, required: false, description: "The connection's limits. Null: none." }),
    }),
  });
  builder.mutationField("updateModelConnection", (t) =>
    t.field({
      scope: "secrets:write",
      narrowedKeys: false,
      type: "ModelConnection",
      description:
        "Changes a model connection for calls that begin from then on. If it becomes the default, the project's former default is one no longer. " +
        "CONFLICT if the project has another connection of this name.",
      args: { input: t.arg({ type: input, description: "Input of `updateModelConnection`." }) },
      resolve: (_, { input: { modelConnectionId, ...given } }, context) =>
        updateModelConnection(context.models, actingOf(context), idOf("modelConnection", modelConnectionId), {
          // Null stands for "none" where there may be none, and changes nothing elsewhere.
          ...(given.name != null && { name: given.name }),
          ...(given.provider != null && { provider: given.provider }),
          ...(given.baseUrl !== undefined && { baseUrl: given.baseUrl }),
          ...(given.model != null && { model: given.model }),
          ...(given.apiKey !== undefined && { apiKey: given.apiKey }),
          ...(given.apiKeyHeader !== undefined && { apiKeyHeader: given.apiKeyHeader }),
          ...(given.isDefault != null && { isDefault: given.isDefault }),
          ...(given.prices !== undefined && { prices: pricesOf(given.prices) }),
          ...(given.limits !== undefined && { limits: limitsOf(given.limits) }),
        }),
    }),
  );
}

function addTest(builder: Builder, enums: Enums): void {
  builder.objectType("ModelTest", {
    description: "The result of asking a model two short questions.",
    fields: (t) => ({
      duration: t.exposeInt("durationMs", {
        scope: "inherited",
        description: "How many milliseconds the model took to answer or fail.",
      }),
      answeredBy: t.exposeString("answeredBy", {
        scope: "inherited",
        nullable: true,
        description: "The model's name as the endpoint gave it. Null if it gave none.",
      }),
      hasTools: t.exposeBoolean("hasTools", {
        scope: "inherited",
        nullable: true,
        description: "Whether it called a function that it was offered. Null if the test failed before.",
      }),
      hasStructuredOutput: t.exposeBoolean("hasStructuredOutput", {
        scope: "inherited",
        nullable: true,
        description: "Whether it takes a JSON Schema for its answer. Null if the test failed before.",
      }),
      problem: t.expose("problem", {
        scope: "inherited",
        type: enums.LlmProblem,
        nullable: true,
        description: "Why the test failed. Null if it did not.",
      }),
      detail: t.exposeString("detail", {
        scope: "inherited",
        nullable: true,
        description: "The problem as a sentence, with the HTTP status.",
      }),
    }),
  });
  const input = builder.inputType("TestModelConnectionInput", {
    description: "Input of `testModelConnection`.",
    fields: (t) => ({ modelConnectionId: t.id({ description: "The connection's id." }) }),
  });
  builder.mutationField("testModelConnection", (t) =>
    t.field({
      scope: "secrets:write",
      narrowedKeys: false,
      type: "ModelTest",
      description: `Asks the connection's model two short questions. RATE_LIMITED beyond ${LIMITS.llmTestsPerMinute} a minute.`,
      args: { input: t.arg({ type: input, description: "Input of `testModelConnection`." }) },
      resolve: async (_, { input: { modelConnectionId } }, context) => {
        const { organizationId } = callerOf(context);
        const connection = requireFound(
          "modelConnection",
          await readConnection(context.models, organizationId, idOf("modelConnection", modelConnectionId)),
        );
        using _watched = endWithCredential(context, "the test ended");
        const { signal } = context.ending;
        return await testConnection(context.runDrafts.llm, connection, { organizationId, signal, asksForTools: true });
      },
    }),
  );
}

type GivenPrices = {
  inputPerMillion: number;
  outputPerMillion: number;
  cachedInputPerMillion?: number | null | undefined;
  currency: string;
};
type GivenLimits = {
  concurrency?: number | null | undefined;
  tokensPerDay?: number | null | undefined;
  costPerDay?: number | null | undefined;
};

const pricesOf = (given: GivenPrices | null | undefined): ModelConnection["prices"] =>
  given ? { ...given, cachedInputPerMillion: given.cachedInputPerMillion ?? null } : null;

const limitsOf = (given: GivenLimits | null | undefined): ModelConnection["limits"] =>
  given
    ? {
        concurrency: given.concurrency ?? null,
        tokensPerDay: given.tokensPerDay ?? null,
        costPerDay: given.costPerDay ?? null,
      }
    : null;

function addDelete(builder: Builder): void {
  const input = builder.inputType("DeleteModelConnectionInput", {
    description: "Input of `deleteModelConnection`.",
    fields: (t) => ({ modelConnectionId: t.id({ description: "The connection's id." }) }),
  });
  builder.mutationField("deleteModelConnection", (t) =>
    t.field({
      scope: "secrets:write",
      narrowedKeys: false,
      type: "ModelConnection",
      description: "Deletes a model connection for good. Calls that name it fail from then on.",
      args: { input: t.arg({ type: input, description: "Input of `deleteModelConnection`." }) },
      resolve: (_, { input: { modelConnectionId } }, context) =>
        deleteModelConnection(context.models, actingOf(context), idOf("modelConnection", modelConnectionId)),
    }),
  );
}
