/** Runs that repeat others. */
import { rerunRun } from "../runs/rerun-run.ts";
import { retryRun } from "../runs/retry-run.ts";
import { idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf } from "./context.ts";
import { IDEMPOTENCY_KEY, keyOf } from "./idempotency-key.ts";

export function addRerunAndRetry(builder: Builder): void {
  addRerun(builder);
  addRetry(builder);
}

function addRerun(builder: Builder): void {
  const input = builder.inputType("RerunRunInput", {
    description: "Which run to do again.",
    fields: (t) => ({ runId: t.id({ description: "The run." }), idempotencyKey: t.string(IDEMPOTENCY_KEY) }),
  });
  builder.mutationField("rerunRun", (t) =>
    t.field({
      type: "Run",
      description:
        "Starts a new run with the input of another, from the beginning and on the agent's published version.",
      args: { input: t.arg({ type: input, description: "Which run to do again." }) },
      resolve: (_, { input: { runId, idempotencyKey } }, context) =>
        rerunRun(context.runs, callerOf(context), { runId: idOf("run", runId), ...keyOf(context, idempotencyKey) }),
    }),
  );
}

function addRetry(builder: Builder): void {
  const input = builder.inputType("RetryRunInput", {
    description: "Which run to go on with, and from where.",
    fields: (t) => ({
      runId: t.id({ description: "A run that has ended." }),
      fromStep: t.int({
        required: false,
        description: "Number of the first step that is done again; without it the one that failed or was cancelled.",
      }),
      version: t.string({
        required: false,
        description:
          "Another version than the run's: CONFLICT, naming the step, when it has other tasks before that one.",
      }),
      idempotencyKey: t.string(IDEMPOTENCY_KEY),
    }),
  });
  builder.mutationField("retryRun", (t) =>
    t.field({
      type: "Run",
      description:
        "Starts a new run that keeps the results and approvals another one had before a step, and goes on from there. " +
        "Its `retryOf` is the old one. CONFLICT while that is open.",
      args: { input: t.arg({ type: input, description: "Which run to go on with, and from where." }) },
      resolve: (_, { input: { runId, fromStep, version, idempotencyKey } }, context) =>
        retryRun(context.runs, callerOf(context), {
          runId: idOf("run", runId),
          ...(fromStep != null && { fromStep }),
          ...(version != null && { version }),
          ...keyOf(context, idempotencyKey),
        }),
    }),
  );
}
