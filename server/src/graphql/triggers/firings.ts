/** Firings: each time that a trigger was due or called, and what came of it. */
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { replayFiring } from "../../triggers/replay-firing.ts";
import { watchFirings, type FiringFilter } from "../../triggers/firings/watch-firings.ts";
import { fireTrigger } from "../../triggers/fire-trigger.ts";
import { listFirings, readFiring } from "../../triggers/store/list-firings.ts";
import { readTrigger } from "../../triggers/store/list-triggers.ts";
import type { Firing } from "../../triggers/store/trigger.ts";
import { checkFilter, idOf, listOf, optionalId, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import { findRelative } from "../context/find-relative.ts";

export function addFirings(builder: Builder, enums: Enums): void {
  addFieldProblem(builder);
  addFiring(builder, enums);
  addConnection(builder, "Firing");
  addLists(builder, enums);
  addFire(builder);
  addChanges(builder);
}

function addFieldProblem(builder: Builder): void {
  builder.objectType("FieldProblem", {
    description: "What is wrong with a field of an input.",
    fields: (t) => ({
      path: t.exposeString("path", { scope: "inherited", description: "Where it is, in dots: `input.when`." }),
      code: t.exposeString("code", {
        scope: "inherited",
        description: "What is wrong with it: a field code, as in `extensions.fields` of an error.",
      }),
      message: t.exposeString("message", { scope: "inherited", description: "The problem as a sentence." }),
    }),
  });
}

function addFiring(builder: Builder, enums: Enums): void {
  builder.objectType("Firing", {
    description: `A firing: one time that a trigger was due or called. It is kept for ${LIMITS.firingDays} days.`,
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("firing", id),
        description: "The firing's id, `firing_…`.",
      }),
      trigger: t.field({
        scope: "inherited",
        type: "Trigger",
        nullable: true,
        description: "The trigger. Null if it was deleted.",
        resolve: ({ triggerId }, _, { loaders }) => loaders.trigger(triggerId),
      }),
      at: t.expose("at", { scope: "inherited", type: "DateTime", description: "When it happened." }),
      dueAt: t.expose("dueAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the trigger was due. Null if it was called.",
      }),
      outcome: t.expose("outcome", {
        scope: "inherited",
        type: enums.FiringOutcome,
        description: "The firing's outcome.",
      }),
      run: t.field({
        scope: "inherited",
        type: "Run",
        nullable: true,
        description:
          "The run that was started or, for a duplicate, the run that the first firing started. Null if none was.",
        resolve: ({ runId }, _, context) => runId && findRelative(context, runId),
      }),
      policy: t.exposeString("policy", {
        scope: "inherited",
        nullable: true,
        description:
          "Why the firing was skipped: the name of the policy, or `changed` or `paused`. Null if it was not.",
      }),
      code: t.exposeString("code", {
        scope: "inherited",
        nullable: true,
        description: "The error code of the refusal. Null if there was none.",
      }),
      message: t.exposeString("message", {
        scope: "inherited",
        nullable: true,
        description: "The refusal as a sentence. Null if there was none.",
      }),
      fields: t.field({
        scope: "inherited",
        type: ["FieldProblem"],
        extensions: { cost: { most: LIMITS.firingFields } },
        description: `The first ${LIMITS.firingFields} of the fields that the agent's form refused.`,
        resolve: ({ fields }) => fields,
      }),
      skipped: t.exposeInt("skipped", {
        scope: "inherited",
        nullable: true,
        description: "How many instants this skipped firing stands for.",
      }),
      firedBy: t.expose("firedBy", {
        scope: "inherited",
        type: "Actor",
        nullable: true,
        description: "Who fired the trigger by hand. Null if nobody did.",
      }),
      delivery: t.exposeString("delivery", {
        scope: "runs:read",
        nullable: true,
        description: "The name that the sender gave to the delivery.",
      }),
      payload: t.field({
        scope: "runs:read",
        type: "JSON",
        nullable: true,
        description: "Everything that was received. Null if nothing was.",
        resolve: ({ id, payload }, _, { size, loaders }) => {
          if (payload === null) return null;
          size.charge(payload.bytes);
          return payload instanceof JsonText ? payload : loaders.firingPayload(id);
        },
      }),
      request: t.field({
        scope: "runs:read",
        type: "JSON",
        nullable: true,
        description:
          "What the trigger's mapping saw of the call besides its body, `{headers, query}`, without credentials. Null if the mapping uses neither.",
        resolve: ({ id, requestBytes }, _, { size, loaders }) => {
          if (requestBytes === 0) return null;
          size.charge(requestBytes);
          return loaders.firingRequest(id);
        },
      }),
      replayOf: t.field({
        scope: "runs:read",
        type: "Firing",
        nullable: true,
        description: "The firing that this one replays. Null if it replays none, or if that one is no longer kept.",
        resolve: ({ replayOf }, _, { loaders }) => replayOf && loaders.firing(replayOf),
      }),
    }),
  });
}

export const findFiring = async (context: Context, id: string): Promise<Firing> =>
  requireFound("firing", await readFiring(context.triggers, callerOf(context), idOf("firing", id)));

function addLists(builder: Builder, enums: Enums): void {
  builder.objectField("Trigger", "firings", (t) =>
    t.field({
      scope: "runs:read",
      type: "FiringConnection",
      extensions: PAGED,
      description: "The trigger's firings, newest first.",
      args: {
        outcome: t.arg({
          type: [enums.FiringOutcome],
          required: false,
          description: "Return only firings with any of these outcomes.",
        }),
        ...pageArguments(builder),
      },
      resolve: (trigger, { outcome, ...page }, context) => {
        const wanted = outcome ? listOf(outcome, "outcome") : undefined;
        return connect(listById("firings", "firing", trigger.id), page, (request) =>
          wanted === undefined && request.after === undefined
            ? context.loaders.newestFirings("trigger_id", request.first)(trigger.id)
            : listFirings(context.triggers, trigger, request, wanted),
        );
      },
    }),
  );
  builder.objectField("Run", "firing", (t) =>
    t.field({
      scope: "runs:read",
      type: "Firing",
      nullable: true,
      description: "The firing that started the run. Null if none did, or if it is no longer kept.",
      resolve: ({ id, startedBy }, _, { loaders }) => (startedBy.kind === "trigger" ? loaders.firingOfRun(id) : null),
    }),
  );
}

function addFire(builder: Builder): void {
  const input = builder.inputType("FireTriggerInput", {
    description: "Input of `fireTrigger`.",
    fields: (t) => ({
      triggerId: t.id({ description: "The trigger's id." }),
      payload: t.field({
        type: "JSON",
        required: false,
        description: "What the trigger would have received, as an object: the body of a webhook's request.",
      }),
    }),
  });
  builder.mutationField("fireTrigger", (t) =>
    t.field({
      scope: "runs:start",
      narrowedKeys: true,
      type: "Firing",
      description:
        "Fires a trigger by hand, even a paused one. If the run is refused, this is not an error: the firing has the outcome `refused`, with its code and sentence.",
      args: { input: t.arg({ type: input, description: "Input of `fireTrigger`." }) },
      resolve: (_, { input: { triggerId, payload } }, context) =>
        fireTrigger(context.triggers, callerOf(context), {
          triggerId: idOf("trigger", triggerId),
          payload: payload ?? undefined,
        }),
    }),
  );
  const replay = builder.inputType("ReplayFiringInput", {
    description: "Input of `replayFiring`.",
    fields: (t) => ({ firingId: t.id({ description: "The firing's id." }) }),
  });
  builder.mutationField("replayFiring", (t) =>
    t.field({
      scope: "runs:start",
      narrowedKeys: true,
      type: "Firing",
      description:
        "Fires a trigger again with what an earlier firing received, even if it is paused. The trigger is used as it is now. Returns the new firing, as `fireTrigger` does.",
      args: { input: t.arg({ type: replay, description: "Input of `replayFiring`." }) },
      resolve: (_, { input: { firingId } }, context) =>
        replayFiring(context.triggers, callerOf(context), idOf("firing", firingId)),
    }),
  );
}

type Which = { [Name in "projectId" | "agentId" | "triggerId"]?: string | null | undefined };

function addChanges(builder: Builder): void {
  builder.subscriptionField("firingsChanged", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Firing",
      description:
        "Sends firings as they happen. Sends nothing at first and never completes: read `Trigger.firings` once the subscription is open. Ends with UNAVAILABLE when too many are waiting to be read, or some may have been missed.",
      args: {
        projectId: t.arg.id({ required: false, description: "Send only firings of triggers in this project." }),
        agentId: t.arg.id({ required: false, description: "Send only firings of this agent's triggers." }),
        triggerId: t.arg.id({ required: false, description: "Send only firings of this trigger." }),
      },
      subscribe: async (_, which, context) =>
        watchFirings(context.triggers, callerOf(context), await checkedWhich(context, which), context.ending.signal),
      resolve: (firing) => firing,
    }),
  );
}

/** Throws NOT_FOUND for what is not reached. */
async function checkedWhich(context: Context, { projectId, agentId, triggerId }: Which): Promise<FiringFilter> {
  const filter = {
    ...optionalId("projectId", "project", projectId),
    ...optionalId("agentId", "agent", agentId),
    ...optionalId("triggerId", "trigger", triggerId),
  };
  await checkFilter(context, callerOf(context), {
    ...(filter.projectId && { projectId: [filter.projectId] }),
    ...(filter.agentId && { agentId: [filter.agentId] }),
  });
  if (filter.triggerId)
    requireFound("trigger", await readTrigger(context.triggers, callerOf(context), filter.triggerId));
  return filter;
}
