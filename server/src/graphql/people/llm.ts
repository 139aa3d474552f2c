/** The language model that the operator configured: what it is, and whether it answers. */
import { conflict } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { testConnection } from "../../llm/test-connection.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf, endWithCredential, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import type { ShownLlm } from "../builder/objects.ts";

export function addLlm(builder: Builder, enums: Enums): void {
  addTestResult(builder, enums);
  addSettings(builder);
  addFields(builder);
}

function addTestResult(builder: Builder, enums: Enums): void {
  builder.objectType("LlmTest", {
    description: "The result of asking the language model a test question.",
    extensions: { isPart: true },
    fields: (t) => ({
      duration: t.exposeInt("durationMs", {
        scope: "inherited",
        description: "How many milliseconds the language model took to answer or fail.",
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
        description:
          "The problem as a sentence, with the HTTP status. Null except for the operator's own organization.",
      }),
    }),
  });
}

function addSettings(builder: Builder): void {
  builder.objectType("Llm", {
    description:
      "The language model that reads sentences for `draftRunInput`. The operator configures it, for the whole server. Only the operator's own organization, which is the first one, sees what it is: for all others, `host`, `model` and `hasKey` are null.",
    extensions: { isPart: true },
    fields: (t) => ({
      isConfigured: t.exposeBoolean("isConfigured", {
        scope: "inherited",
        description: "Whether a language model is configured.",
      }),
      host: t.exposeString("host", {
        scope: "inherited",
        nullable: true,
        description: "The host and port that the questions are sent to.",
      }),
      model: t.exposeString("model", {
        scope: "inherited",
        nullable: true,
        description: "The model's name at that host.",
      }),
      hasKey: t.exposeBoolean("hasKey", {
        scope: "inherited",
        nullable: true,
        description: "Whether an API key is sent with the questions. It is never shown.",
      }),
      test: t.field({
        scope: "inherited",
        type: "LlmTest",
        nullable: true,
        description: "The result of the test. Null except in the answer of `testLlm`.",
        resolve: ({ test }) => test,
      }),
    }),
  });
}

function addFields(builder: Builder): void {
  builder.queryField("llm", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "Llm",
      description: "The language model that the operator configured, if any.",
      resolve: (_, _arguments, context) => connectionOf(context, null),
    }),
  );
  builder.mutationField("testLlm", (t) =>
    t.field({
      scope: "admin",
      narrowedKeys: false,
      type: "Llm",
      description: `Asks the language model a short question. CONFLICT if none is configured, RATE_LIMITED beyond ${LIMITS.llmTestsPerMinute} a minute.`,
      resolve: async (_, _arguments, context) => {
        const { organizationId } = callerOf(context);
        const { llm } = context.runDrafts;
        if (!llm.own)
          throw conflict("wrong_state", "no model is configured: set LLM_BASE_URL and LLM_MODEL, and start again");
        using _watched = endWithCredential(context, "the test ended");
        const { signal } = context.ending;
        const test = await testConnection(llm, llm.own, { organizationId, signal, asksForTools: false });
        return await connectionOf(context, test);
      },
    }),
  );
}

async function connectionOf(context: Context, test: ShownLlm["test"]): Promise<ShownLlm> {
  const { llm } = context.runDrafts;
  const nothing = { host: null, model: null, hasKey: null };
  if (!llm.own) return { isConfigured: false, ...nothing, test };
  if (!(await llm.isOperator(callerOf(context).organizationId)))
    return { isConfigured: true, ...nothing, test: test && { ...test, detail: null } };
  const { baseUrl, model, apiKey } = llm.own;
  return { isConfigured: true, host: new URL(baseUrl).host, model, hasKey: apiKey !== undefined, test };
}
