/** Starting and cancelling runs. */
import { badInput } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { cancelRun } from "../runs/cancel-run.ts";
import { cancelRuns } from "../runs/cancel-runs.ts";
import { startRun } from "../runs/start-run.ts";
import { idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf, type Context } from "./context.ts";
import { checkedFilter, type RunFilterInput } from "./run-filter.ts";
import { IDEMPOTENCY_KEY, keyOf } from "./idempotency-key.ts";
import { keepSteps } from "./steps.ts";

export function addStartAndCancel(builder: Builder, filter: RunFilterInput): void {
  addStart(builder);
  addCancel(builder);
  addCancelMany(builder, filter);
}

function addStart(builder: Builder): void {
  const input = builder.inputType("RunAgentInput", {
    description: "What to run, with what.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent." }),
      input: t.field({
        type: "JSON",
        required: false,
        description: "An object whose keys are the agent's input fields; an empty one without it.",
      }),
      idempotencyKey: t.string(IDEMPOTENCY_KEY),
      version: t.string({ required: false, description: "Run this version instead of the published one." }),
      runAt: t.field({
        type: "DateTime",
        required: false,
        description: "When it is to begin; it is `pending` until then. A time that has passed is now.",
      }),
      wait: t.int({
        required: false,
        description: `Seconds, 1 to ${LIMITS.waitSeconds}: answer when the run ends or pauses, or after that time. One field of an operation may wait.`,
      }),
    }),
  });
  builder.mutationField("runAgent", (t) =>
    t.field({
      type: "Run",
      description: "Starts a run. Answered when the run is on disk.",
      args: { input: t.arg({ type: input, description: "What to run, with what." }) },
      resolve: async (_, { input: { agentId, input: value, idempotencyKey: key, version, runAt, wait } }, context) => {
        const started = await startRun(context.runs, callerOf(context), {
          agentId: idOf("agent", agentId),
          input: value ?? {},
          ...keyOf(context, key),
          ...(version != null && { version }),
          ...(runAt != null && { runAt }),
          ...(wait != null && { waitSeconds: waitOf(wait, context) }),
        });
        return keepSteps(started.run, started.steps);
      },
    }),
  );
}

function waitOf(seconds: number, context: Context): number {
  const fields = (code: string, message: string) => [{ path: "input.wait", code, message }];
  if (seconds < 1 || seconds > LIMITS.waitSeconds) {
    const message = `must be 1 to ${LIMITS.waitSeconds}`;
    throw badInput(`input.wait ${message}`, fields("out_of_range", message));
  }
  if (++context.waits > 1)
    throw badInput("one field of an operation may wait", fields("repeated", "one field may wait"));
  return seconds;
}

function addCancel(builder: Builder): void {
  builder.mutationField("cancelRun", (t) =>
    t.field({
      type: "Run",
      description:
        "Stops a run: `cancelled` is committed at once, what is in flight is aborted, open approvals are withdrawn. " +
        "Again: the same answer. CONFLICT on a run that is completed or failed.",
      args: { runId: t.arg.id({ description: "A TypeID, `run_…`." }) },
      resolve: (_, { runId }, context) => cancelRun(context.runs, callerOf(context).organizationId, idOf("run", runId)),
    }),
  );
}

function addCancelMany(builder: Builder, filter: RunFilterInput): void {
  const input = builder.inputType("CancelRunsInput", {
    description: "Which runs to cancel.",
    fields: (t) => ({
      filter: t.field({
        type: filter,
        description: "Those that fit and are open; `{}` is every open run of the organization.",
      }),
    }),
  });
  builder.mutationField("cancelRuns", (t) =>
    t.int({
      description:
        "Cancels every open run that fits a filter, as `cancelRun` does, and answers how many; children that do not fit themselves are not counted. " +
        "What starts meanwhile is left alone: pause the agent first.",
      args: { input: t.arg({ type: input, description: "Which runs to cancel." }) },
      resolve: async (_, { input }, context) =>
        cancelRuns(context.runs, callerOf(context).organizationId, await checkedFilter(context, input.filter)),
    }),
  );
}
