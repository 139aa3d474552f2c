/** Subscriptions: a run as it changes. */
import { randomUUID } from "node:crypto";
import { Kind, type GraphQLResolveInfo, type SelectionSetNode } from "graphql";
import { encodeId } from "../../lib/ids.ts";
import { watchRunEvents, type RunEvent } from "../../runs/watch/watch-run-events.ts";
import { watchRun } from "../../runs/watch/watch-run.ts";
import { idOf } from "../context/arguments.ts";
import type { Repeated } from "../context/repeated.ts";
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
      textDelta: t.field({
        scope: "runs:read",
        type: "TextDelta",
        nullable: true,
        description:
          "More of the text that a model is writing. Such an event changes nothing: its revision is the last one that was sent before it.",
        resolve: ({ textDelta }) => textDelta ?? null,
      }),
    }),
  });
  builder.objectType("TextDelta", {
    description:
      "A part of a text that a model is writing, at most 25 times a second. Parts are not kept: a new subscription gets the text so far first, and the whole text is the step's output.",
    fields: (t) => ({
      runId: t.id({ scope: "inherited", description: "The run's id.", resolve: ({ runId }) => encodeId("run", runId) }),
      stepNumber: t.exposeInt("stepNumber", { scope: "inherited", description: "The number of the step that writes." }),
      offset: t.exposeInt("offset", {
        scope: "inherited",
        description:
          "How many UTF-16 code units of the step's text stand before this part. What was sent from there on before is replaced: a text that begins again, as after a failed attempt, has 0.",
      }),
      text: t.exposeString("text", {
        scope: "inherited",
        description:
          "The part. A text that repeats a credential ends with `[redacted]` in its place, and goes on in the step's output alone.",
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
        "Sends what changed in a run and its steps after a revision, in order, each in its state at that moment, and what models write meanwhile if `textDelta` is selected. No final state is missed. Completes after the final state of the run.",
      args: {
        runId: t.arg.id({ description: "The run's id." }),
        after: t.arg.int({ required: false, defaultValue: 0, description: "Send changes after this revision." }),
      },
      subscribe: async (_, { runId, after }, context, info) => {
        const which = { runId: idOf("run", runId), after: after ?? 0, withTexts: selects(info, "textDelta") };
        const source = await watchRunEvents(context.runs, callerOf(context), which, context.ending.signal);
        context.repeated = { source, ...TEXT_DELTAS };
        return source;
      },
      resolve: (event) => event,
    }),
  );
}

const { revision, ...marks } = {
  revision: 2_147_483_001,
  stepNumber: 2_147_483_002,
  offset: 2_147_483_003,
  text: randomUUID(),
};

/** Most events of a run whose models write are parts of their texts. */
const TEXT_DELTAS: Omit<Repeated<RunEvent>, "source"> = {
  valuesOf: ({ revision: last, textDelta }) => textDelta && { revision: last, ...textDelta },
  marks: { revision, ...marks },
  marked: ({ textDelta }) => ({ revision, textDelta: { ...textDelta!, ...marks } }),
};

/** Whether the field that is resolved is asked for a field of its object, through fragments too. Fields that `@skip` leaves out count. */
function selects({ fieldNodes, fragments }: GraphQLResolveInfo, name: string): boolean {
  const walked = new Set<string>();
  const has = ({ selections }: SelectionSetNode): boolean =>
    selections.some((selection) => {
      if (selection.kind === Kind.FIELD) return selection.name.value === name;
      if (selection.kind === Kind.INLINE_FRAGMENT) return has(selection.selectionSet);
      const fragment = selection.name.value;
      if (walked.has(fragment)) return false;
      walked.add(fragment);
      return has(fragments[fragment]!.selectionSet);
    });
  return fieldNodes.some(({ selectionSet }) => selectionSet !== undefined && has(selectionSet));
}
