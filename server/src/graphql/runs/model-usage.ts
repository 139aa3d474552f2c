/** The use of language models by steps and runs. */
import { LIMITS } from "../../lib/limits.ts";
import { usageOfRun } from "../../runs/read/model-usage.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf } from "../context/context.ts";

/** A sum over a tree of runs, or over all steps of one, takes longer than a field. All steps that a list has may ask for theirs. */
const SUM_COST = { cost: { most: 20 } };

export function addModelUsage(builder: Builder): void {
  builder.objectType("ModelUsage", {
    description: "The tokens that language models counted, and what they cost.",
    extensions: { isPart: true },
    fields: (t) => ({
      inputTokens: t.exposeInt("inputTokens", { scope: "inherited", description: "Tokens that were sent." }),
      outputTokens: t.exposeInt("outputTokens", { scope: "inherited", description: "Tokens of the answers." }),
      cachedInputTokens: t.exposeInt("cachedInputTokens", {
        scope: "inherited",
        description: "Those of the input tokens that the provider had cached.",
      }),
      cost: t.exposeFloat("cost", {
        scope: "inherited",
        nullable: true,
        description:
          "What they cost by the prices of their connections. Null if a connection had no prices, or they have several currencies.",
      }),
      currency: t.exposeString("currency", {
        scope: "inherited",
        nullable: true,
        description: "The currency of the cost, a code of ISO 4217.",
      }),
    }),
  });
  builder.objectField("Step", "usage", (t) =>
    t.field({
      scope: "inherited",
      type: "ModelUsage",
      nullable: true,
      description:
        "What the step used of language models, questions asked once more included. Null if it was answered by none.",
      resolve: ({ runId, number }, _, { loaders }) => loaders.stepUsage({ runId, number }),
    }),
  );
  builder.objectField("Step", "totalUsage", (t) =>
    t.field({
      scope: "inherited",
      type: "ModelUsage",
      nullable: true,
      extensions: SUM_COST,
      description: `What the step, all steps inside it and the runs that they started used of language models, such as all questions of an assistant. Null if none was answered by one. Of more than ${LIMITS.runUsageRuns} runs below the steps of a run that are read together, only so many are counted.`,
      resolve: ({ runId, number }, _, { loaders }) => loaders.totalStepUsage({ runId, number }),
    }),
  );
  builder.objectField("Run", "usage", (t) =>
    t.field({
      scope: "inherited",
      type: "ModelUsage",
      nullable: true,
      extensions: SUM_COST,
      description: `What the run and all runs below it used of language models. Null if none was answered by one. Of more than ${LIMITS.runUsageRuns} runs, only so many are counted.`,
      resolve: ({ id }, _, context) => usageOfRun(context.runs, callerOf(context).organizationId, id),
    }),
  );
}
