/** Runs that repeat others. */
import { rerunRun } from "../../runs/rerun-run.ts";
import { retryRun } from "../../runs/retry-run.ts";
import { idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf } from "../context/context.ts";
import { IDEMPOTENCY_KEY, keyOf } from "../context/idempotency-key.ts";

export function addRerunAndRetry(builder: Builder): void {
  addRerun(builder);
  addRetry(builder);
}

function addRerun(builder: Builder): void {
  const input = builder.inputType("RerunRunInput", {
    description: "Input of `rerunRun`.",
    fields: (t) => ({ runId: t.id({ description: "The run's id." }), idempotencyKey: t.string(IDEMPOTENCY_KEY) }),
  });
  builder.mutationField("rerunRun", (t) =>
    t.field({
      scope: "runs:start",
      narrowedKeys: true,
      type: "Run",
      description:
        "Starts a new run from the beginning, with the input of an earlier run and the agent's published version.",
      args: { input: t.arg({ type: input, description: "Input of `rerunRun`." }) },
      resolve: (_, { input: { runId, idempotencyKey } }, context) =>
        rerunRun(context.runs, callerOf(context), {
          runId: idOf("run", runId),
          idempotencyKey: keyOf(context, idempotencyKey),
        }),
    }),
  );
}

function addRetry(builder: Builder): void {
  const input = builder.inputType("RetryRunInput", {
    description: "Input of `retryRun`.",
    fields: (t) => ({
      runId: t.id({ description: "The id of a run that has ended." }),
      fromStep: t.int({
        required: false,
        description: "The number of the first step to execute again. Default: the step that failed or was cancelled.",
      }),
      fromTask: t.string({
        required: false,
        description:
          "The first step to execute again, by the name of its task. BAD_USER_INPUT, naming the steps, if several steps have it.",
      }),
      version: t.string({
        required: false,
        description:
          "The version to run. Default: the earlier run's version. CONFLICT, naming the step, if the tasks before that step differ.",
      }),
      idempotencyKey: t.string(IDEMPOTENCY_KEY),
    }),
  });
  builder.mutationField("retryRun", (t) =>
    t.field({
      scope: "runs:start",
      narrowedKeys: true,
      type: "Run",
      description:
        "Starts a new run that takes over an earlier run's results and approvals up to a step, and continues from there. " +
        "Its `retryOf` is the earlier run. CONFLICT while the earlier run is open, and for a completed run without `fromStep` or `fromTask`.",
      args: { input: t.arg({ type: input, description: "Input of `retryRun`." }) },
      resolve: (_, { input: { runId, fromStep, fromTask, version, idempotencyKey } }, context) =>
        retryRun(context.runs, callerOf(context), {
          runId: idOf("run", runId),
          ...(fromStep != null && { fromStep }),
          ...(fromTask != null && { fromTask }),
          ...(version != null && { version }),
          idempotencyKey: keyOf(context, idempotencyKey),
        }),
    }),
  );
}
