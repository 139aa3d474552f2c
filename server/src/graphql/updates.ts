/** Subscriptions: a run as it changes. */
import { watchRun, watchRunEvents } from "../runs/watch-run.ts";
import { idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf } from "./context.ts";

export function addUpdates(builder: Builder): void {
  builder.objectType("RunEvent", {
    description: "What one committed change made of a run or of one of its steps.",
    fields: (t) => ({
      revision: t.exposeInt("revision", { description: "Give the last one seen as `after` to go on behind it." }),
      run: t.field({
        type: "Run",
        nullable: true,
        description: "The run, when it changed.",
        resolve: ({ run }) => run ?? null,
      }),
      step: t.field({
        type: "Step",
        nullable: true,
        description: "The step, when one changed.",
        resolve: ({ step }) => step ?? null,
      }),
    }),
  });
  builder.subscriptionField("runUpdated", (t) =>
    t.field({
      type: "Run",
      description:
        "The run as it is, then as it changes: the newest state, at most one in 50 ms. Completes after the final state, which always comes.",
      args: { runId: t.arg.id({ description: "A TypeID, `run_…`." }) },
      subscribe: (_, { runId }, context) =>
        watchRun(context.runs, callerOf(context).organizationId, idOf("run", runId), context.ending.signal),
      resolve: (run) => run,
    }),
  );
  builder.subscriptionField("runEvents", (t) =>
    t.field({
      type: "RunEvent",
      description:
        "Every change of a run and its steps behind a revision, in order, each in its present state. Completes after the final one.",
      args: {
        runId: t.arg.id({ description: "A TypeID, `run_…`." }),
        after: t.arg.int({ required: false, defaultValue: 0, description: "Only changes behind this revision." }),
      },
      subscribe: (_, { runId, after }, context) =>
        watchRunEvents(
          context.runs,
          callerOf(context).organizationId,
          idOf("run", runId),
          after ?? 0,
          context.ending.signal,
        ),
      resolve: (event) => event,
    }),
  );
}
