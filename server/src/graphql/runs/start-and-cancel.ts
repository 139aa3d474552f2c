/** Starting and cancelling runs. */
import { badInput, type FieldCode, type FieldProblem } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { decodeId, type RunDraftId } from "../../lib/ids.ts";
import { cancelRun } from "../../runs/cancel-run.ts";
import { cancelRuns, type CancelTarget } from "../../runs/cancel-runs.ts";
import { DraftNotFound } from "../../runs/run-draft-texts.ts";
import { startRun } from "../../runs/start-run.ts";
import { idOf, listOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { actingOf, callerOf, endWithCredential, type Context } from "../context/context.ts";
import { checkedFilter, type FilterInput, type RunFilterInput } from "./run-filter.ts";
import { IDEMPOTENCY_KEY, keyOf } from "../context/idempotency-key.ts";
import { keepSteps } from "./steps.ts";

export function addStartAndCancel(builder: Builder, filter: RunFilterInput): void {
  addStart(builder);
  addCancel(builder);
  addCancelMany(builder, filter);
}

function addStart(builder: Builder): void {
  const input = builder.inputType("RunAgentInput", {
    description: "Input of `runAgent`.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent's id." }),
      input: t.field({
        type: "JSON",
        required: false,
        description: "The values of the agent's input fields, as an object. Default: an empty object.",
      }),
      idempotencyKey: t.string(IDEMPOTENCY_KEY),
      version: t.string({ required: false, description: "The version to run. Default: the published one." }),
      runDraftId: t.id({
        required: false,
        description:
          "The draft from `draftRunInput` that a person reviewed. `Run.draftText` is then its sentence. The draft must be for this agent, or for none.",
      }),
      runAt: t.field({
        type: "DateTime",
        required: false,
        description: "When to begin. The run is `pending` until then. A time in the past means now.",
      }),
      wait: t.int({
        required: false,
        description: `How many seconds to wait for the run to end or pause before the answer is sent, from 1 to ${LIMITS.waitSeconds}. Default: it is sent at once. Only one field of an operation may wait.`,
      }),
    }),
  });
  builder.mutationField("runAgent", (t) =>
    t.field({
      scope: "runs:start",
      narrowedKeys: true,
      answers: ["Run.input", "Run.draftText", "Run.output", "Run.error", "Run.steps", "Run.stepsConnection"],
      type: "Run",
      description: "Starts a run. The answer is sent when the run is safely on disk.",
      args: { input: t.arg({ type: input, description: "Input of `runAgent`." }) },
      resolve: async (_, { input: given }, context) => {
        const { agentId, input: value, idempotencyKey: key, version, runDraftId, runAt, wait } = given;
        using _watched = wait == null ? undefined : endWithCredential(context, "the run goes on");
        using _lasting = wait == null ? undefined : context.lasting.begin(callerOf(context).organizationId);
        const started = await startRun(context.runs, callerOf(context), {
          agentId: idOf("agent", agentId),
          input: value ?? {},
          idempotencyKey: keyOf(context, key),
          version: version ?? undefined,
          runDraftId: runDraftId == null ? undefined : draftIdOf(runDraftId),
          runAt: runAt ?? undefined,
          waitSeconds: wait == null ? undefined : waitOf(wait, context),
          ending: wait == null ? undefined : context.ending,
        });
        return keepSteps(started.run, started.steps);
      },
    }),
  );
}

/** A malformed id counts as not found. */
function draftIdOf(text: string): RunDraftId {
  const id = decodeId("runDraft", text);
  if (id === undefined) throw new DraftNotFound();
  return id;
}

function waitOf(seconds: number, context: Context): number {
  const fields = (code: FieldCode, message: string): FieldProblem[] => [{ path: "input.wait", code, message }];
  if (seconds < 1 || seconds > LIMITS.waitSeconds) {
    const message = `must be 1 to ${LIMITS.waitSeconds}`;
    throw badInput("invalid_input", `input.wait ${message}`, fields("out_of_range", message));
  }
  if (++context.waits > 1)
    throw badInput("invalid_input", "one field of an operation may wait", fields("repeated", "one field may wait"));
  return seconds;
}

function addCancel(builder: Builder): void {
  builder.mutationField("cancelRun", (t) =>
    t.field({
      scope: "runs:cancel",
      narrowedKeys: true,
      isUrgent: true,
      type: "Run",
      description:
        "Cancels a run at once: calls in flight are aborted, open approvals are withdrawn, and children that it waits for are cancelled, too. " +
        "Cancelling a cancelled run returns it unchanged. CONFLICT if the run is completed or failed.",
      args: { runId: t.arg.id({ description: "The run's id." }) },
      resolve: (_, { runId }, context) => cancelRun(context.runs, callerOf(context), idOf("run", runId)),
    }),
  );
}

function addCancelMany(builder: Builder, filter: RunFilterInput): void {
  const target = builder.inputType("RunTarget", {
    description: "Selects runs in one of three ways.",
    isOneOf: true,
    fields: (t) => ({
      filter: t.field({
        type: filter,
        required: false,
        description: "The runs that match. BAD_USER_INPUT if no field of the filter is given.",
      }),
      runIds: t.idList({
        required: false,
        extensions: { mostItems: LIMITS.runIdsToCancel },
        description: `The runs with these ids, at most ${LIMITS.runIdsToCancel}. NOT_FOUND if one is unknown.`,
      }),
      all: t.boolean({
        required: false,
        description:
          "Every run of the organization or, for a narrowed API key, every run that it reaches. Must be `true`.",
      }),
    }),
  });
  const input = builder.inputType("CancelRunsInput", {
    description: "Input of `cancelRuns`.",
    fields: (t) => ({
      runs: t.field({ type: target, description: "The runs to cancel. Runs that have ended stay as they are." }),
    }),
  });
  builder.objectType("CancelRunsResult", {
    description: "The outcome of `cancelRuns`.",
    fields: (t) => ({
      cancelledCount: t.exposeInt("cancelledCount", {
        scope: "inherited",
        description: "How many open runs were cancelled.",
      }),
    }),
  });
  builder.mutationField("cancelRuns", (t) =>
    t.field({
      scope: "runs:cancel",
      narrowedKeys: true,
      isUrgent: true,
      type: "CancelRunsResult",
      description:
        "Cancels many open runs, each as `cancelRun` does, and returns how many. Children count only if they are selected themselves. " +
        "Runs that start in the meantime are not cancelled: pause the agent first.",
      args: { input: t.arg({ type: input, description: "Input of `cancelRuns`." }) },
      resolve: async (_, { input: { runs } }, context) => {
        const target = await targetOf(context, runs);
        return { cancelledCount: await cancelRuns(context.runs, actingOf(context), target) };
      },
    }),
  );
}

type Target = { filter?: FilterInput | null; runIds?: string[] | null; all?: boolean | null };

async function targetOf(context: Context, { filter, runIds, all }: Target): Promise<CancelTarget> {
  if (filter) return { filter: await checkedFilter(context, filter, "input.runs.filter") };
  if (runIds) {
    const ids = listOf(runIds, "input.runs.runIds", LIMITS.runIdsToCancel);
    return { runIds: ids.map((id) => idOf("run", id)) };
  }
  return { all: all === true };
}
