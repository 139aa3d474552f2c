/** Subscriptions: a run as it changes. */
import { watchRun, watchRunEvents } from "../../runs/watch/watch-run.ts";
import { idOf } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf } from "../context/context.ts";

export function addUpdates(builder: Builder): void {
  builder.objectType("RunEvent", {
    description: "A change to a run or one of its steps.",
    fields: (t) => ({
      revision: t.exposeInt("revision", {
        scope: "inherited",
        description:
          "The run's revision after the change. Pass the last one that you have seen as `after` to continue from there.",
      }),
      run: t.field({
        scope: "runs:read",
        type: "Run",
        nullable: true,
        description: "The run, if it changed.",
        resolve: ({ run }) => run ?? null,
      }),
      step: t.field({
        scope: "runs:read",
        type: "Step",
        nullable: true,
        description: "The step, if one changed.",
        resolve: ({ step }) => step ?? null,
      }),
    }),
  });
  builder.subscriptionField("runUpdated", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Run",
      description:
        "Sends a run as it is, then again when it changes, at most every 50 ms. Completes after the final state, which is always sent.",
      args: { runId: t.arg.id({ description: "The run's id." }) },
      subscribe: (_, { runId }, context) =>
        watchRun(context.runs, callerOf(context), idOf("run", runId), context.ending.signal),
      resolve: (run) => run,
    }),
  );
  builder.subscriptionField("runEvents", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "RunEvent",
      description:
        "Sends what changed in a run and its steps after a revision, in order, each in its state at that moment. No final state is missed. Completes after the final state of the run.",
      args: {
        runId: t.arg.id({ description: "The run's id." }),
        after: t.arg.int({ required: false, defaultValue: 0, description: "Send changes after this revision." }),
      },
      subscribe: (_, { runId, after }, context) =>
        watchRunEvents(context.runs, callerOf(context), idOf("run", runId), after ?? 0, context.ending.signal),
      resolve: (event) => event,
    }),
  );
}
