/** How often the organization may ask, and what it used. */
import { LIMITS } from "../../lib/limits.ts";
import { WINDOW_MS } from "../../fairness/rate-window.ts";
import type { Builder } from "../builder/builder.ts";
import { badInput } from "../../lib/errors.ts";
import { callerOf } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import { addModelSum } from "./model-sums.ts";

export function addRates(builder: Builder, enums: Enums): void {
  addRateLimit(builder, enums);
  addUsage(builder);
}

function addRateLimit(builder: Builder, enums: Enums): void {
  builder.objectType("RateLimit", {
    description: `How many requests the organization may send in any ${WINDOW_MS / 1_000} seconds. All of its API keys and access tokens share it.`,
    extensions: { isPart: true },
    fields: (t) => ({
      plan: t.expose("plan", { scope: "inherited", type: enums.Plan, description: "The organization's plan." }),
      limit: t.exposeInt("limit", {
        scope: "inherited",
        nullable: true,
        description: "The maximum number of requests. Null if there is no limit.",
      }),
      remaining: t.exposeInt("remaining", {
        scope: "inherited",
        nullable: true,
        description: "How many requests are left now. Null if there is no limit.",
      }),
      resetAt: t.expose("resetAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description:
          "When one more request becomes available. Null if there is no limit, or if no recent request counts.",
      }),
    }),
  });
  builder.queryField("rateLimit", (t) =>
    t.field({
      scope: null,
      narrowedKeys: true,
      type: "RateLimit",
      description:
        "The organization's request limit, and what is left of it. A query that asks for nothing else does not count.",
      resolve: (_, _arguments, context) => context.rates.look(callerOf(context).organizationId),
    }),
  );
}

const USAGE_DAYS = 30;

function addUsage(builder: Builder): void {
  builder.objectType("UsageDay", {
    description: "What an organization used on one day. Days begin and end in UTC.",
    extensions: { isPart: true },
    fields: (t) => ({
      date: t.exposeString("date", { scope: "inherited", description: "The day, as YYYY-MM-DD." }),
      requests: t.exposeInt("requests", {
        scope: "inherited",
        description: "Requests with API keys and access tokens. Requests of the web UI do not count.",
      }),
      refused: t.exposeInt("refused", {
        scope: "inherited",
        description: "Further requests that were refused with RATE_LIMITED.",
      }),
      runs: t.exposeInt("runs", { scope: "inherited", description: "Runs that were started, by anyone or anything." }),
      steps: t.exposeInt("steps", {
        scope: "inherited",
        description: "Steps that completed or failed. Each visit of a task counts.",
      }),
      modelTokens: t.exposeInt("modelTokens", {
        scope: "inherited",
        description: "Tokens that the language model read and wrote, as it reports them. 0 if it reports none.",
      }),
      modelCost: t.float({
        scope: "inherited",
        nullable: true,
        description:
          "What questions to language models cost. Null if a connection had no prices, or they have several currencies.",
        resolve: async ({ date }, _, context) =>
          (await context.rates.usage.modelCost(callerOf(context).organizationId, date)).cost,
      }),
      modelCostCurrency: t.string({
        scope: "inherited",
        nullable: true,
        description: "The currency of `modelCost`, as in ISO 4217. Null without questions, and if `modelCost` is null.",
        resolve: async ({ date }, _, context) =>
          (await context.rates.usage.modelCost(callerOf(context).organizationId, date)).currency,
      }),
    }),
  });
  addAgentUse(builder);
  addConnectionUse(builder);
  builder.queryField("usage", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: ["UsageDay"],
      extensions: { cost: { most: USAGE_DAYS, argument: "days" } },
      description: "What the organization used on each of the last days, today first. Days without usage have zeros.",
      args: {
        days: t.arg.int({
          required: false,
          defaultValue: USAGE_DAYS,
          description: `Return this many days, from 1 to ${LIMITS.usageDays}.`,
        }),
      },
      resolve: (_, { days }, context) =>
        context.rates.usage.read(callerOf(context).organizationId, daysOf(days ?? USAGE_DAYS)),
    }),
  );
}

const TOKENS = "Tokens in and out, as the models count them.";

function addAgentUse(builder: Builder): void {
  builder.objectType("AgentModelUse", {
    description: "What an agent used of language models on one day.",
    extensions: { isPart: true },
    fields: (t) => ({
      agent: t.field({
        scope: "agents:read",
        type: "Agent",
        nullable: true,
        description:
          "The agent. Null for tests of model connections, and for sentences before it is known which agent they are for.",
        resolve: ({ agentId }, _, { loaders }) => agentId && loaders.agent(agentId),
      }),
    }),
  });
  addModelSum(builder, "AgentModelUse", {
    tokens: TOKENS,
    cost: "What they cost. Null if a connection had no prices, or they have several currencies.",
  });
  builder.objectField("UsageDay", "agents", (t) =>
    t.field({
      scope: "inherited",
      type: ["AgentModelUse"],
      nullable: true,
      extensions: { cost: { most: LIMITS.usageAgents } },
      description: `The agents that used language models on this day, those with the most tokens first, at most ${LIMITS.usageAgents}.`,
      resolve: ({ date }, _, context) => context.rates.usage.agentModelUse(callerOf(context).organizationId, date),
    }),
  );
}

function addConnectionUse(builder: Builder): void {
  builder.objectType("ConnectionModelUse", {
    description: "What was used over a model connection on one day, in one currency or without prices.",
    extensions: { isPart: true },
    fields: (t) => ({
      name: t.exposeString("name", {
        scope: "inherited",
        description: "The connection's name at the time. The operator's own is `server`.",
      }),
      isOperators: t.exposeBoolean("isOperators", {
        scope: "inherited",
        description: "Whether it is the operator's own: a project may have a connection named `server` as well.",
      }),
      project: t.field({
        scope: "agents:read",
        type: "Project",
        nullable: true,
        description: "The project for which the model was asked. Null for sentences before it is known.",
        resolve: ({ projectId }, _, { loaders }) => projectId && loaders.project(projectId),
      }),
    }),
  });
  addModelSum(builder, "ConnectionModelUse", {
    tokens: TOKENS,
    cost: "What they cost. Null if the connection had no prices.",
  });
  builder.objectField("UsageDay", "connections", (t) =>
    t.field({
      scope: "inherited",
      type: ["ConnectionModelUse"],
      nullable: true,
      extensions: { cost: { most: LIMITS.usageConnections } },
      description: `The model connections that were used on this day, those with the most tokens first, at most ${LIMITS.usageConnections}.`,
      resolve: ({ date }, _, context) => context.rates.usage.connectionModelUse(callerOf(context).organizationId, date),
    }),
  );
}

export function daysOf(days: number): number {
  if (days >= 1 && days <= LIMITS.usageDays) return days;
  const message = `must be between 1 and ${LIMITS.usageDays}`;
  throw badInput("invalid_input", `days ${message}`, [{ path: "days", code: "out_of_range", message }]);
}
