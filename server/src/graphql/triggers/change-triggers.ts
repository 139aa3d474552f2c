/** The mutations of triggers. The keys that they take come from the table of kinds (triggers/kinds/kinds.ts). */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { deleteTrigger, setTriggerStatus, updateTrigger } from "../../triggers/change-trigger.ts";
import { createTrigger } from "../../triggers/create-trigger.ts";
import type { Keys } from "../../triggers/kinds/contract/trigger-kind.ts";
import { keysOf, type TriggerType } from "../../triggers/kinds/kinds.ts";
import { rotateToken } from "../../triggers/rotate-token.ts";
import type { Builder } from "../builder/builder.ts";
import type { Enums } from "../builder/enums.ts";
import { idOf } from "../context/arguments.ts";
import { actingOf } from "../context/context.ts";
import { shownAs } from "./trigger-keys.ts";

export function addTriggerMutations(builder: Builder, enums: Enums): void {
  const inputs = addKeys(builder, enums);
  addCreate(builder, inputs);
  addUpdate(builder, inputs);
  addSetStatus(builder, enums);
  addRotate(builder);
  addDelete(builder);
}

function addKeys(builder: Builder, enums: Enums) {
  const fieldsOf = (keys: Keys) => (t: Parameters<Parameters<typeof builder.inputType>[1]["fields"]>[0]) =>
    Object.fromEntries(
      Object.entries(keys).map(([name, key]) => [
        name,
        t.field({ type: shownAs(enums, key), required: false, description: key.description }),
      ]),
    );
  const configuration = builder.inputType("TriggerConfigurationInput", {
    description: "The configuration of a trigger: `type`, and keys of that type. A key of another type is refused.",
    fields: (t) => ({
      type: t.field({ type: enums.TriggerType, description: "What starts runs." }),
      ...fieldsOf(keysOf("keys"))(t),
    }),
  });
  const policy = builder.inputType("TriggerPolicyInput", {
    description: "How a trigger fires, in addition to its configuration. A key of another type is refused.",
    fields: fieldsOf(keysOf("policies")),
  });
  return { configuration, policy };
}
type Inputs = ReturnType<typeof addKeys>;

/** The caller's input, and the changed trigger. */
const WRITTEN = ["Trigger.configuration", "Trigger.policy", "Trigger.url", "Trigger.formerUrlUntil", "Trigger.curl"];

function addCreate(builder: Builder, { configuration, policy }: Inputs): void {
  const input = builder.inputType("CreateTriggerInput", {
    description: "Input of `createTrigger`.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent whose runs the trigger starts." }),
      name: t.string({
        description: `The trigger's name, unique among those of the agent: at most ${LIMITS.nameCharacters} characters.`,
      }),
      trigger: t.field({ type: configuration, description: "The trigger's configuration." }),
      policy: t.field({
        type: policy,
        required: false,
        description: "How the trigger fires. Default: the default of each key.",
      }),
    }),
  });
  builder.mutationField("createTrigger", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      answers: WRITTEN,
      type: "Trigger",
      description:
        "Creates a trigger, which starts runs from then on. CONFLICT if the agent is archived or already has a trigger of that name, or if a limit on triggers is reached.",
      args: { input: t.arg({ type: input, description: "Input of `createTrigger`." }) },
      resolve: (_, { input }, context) =>
        createTrigger(context.triggers, actingOf(context), {
          agentId: idOf("agent", input.agentId),
          name: input.name,
          ...configurationOf(input.trigger),
          policy: givenOf(input.policy ?? {}),
        }),
    }),
  );
}

function addUpdate(builder: Builder, { configuration, policy }: Inputs): void {
  const input = builder.inputType("UpdateTriggerInput", {
    description: "Input of `updateTrigger`. What is left out stays as it is.",
    fields: (t) => ({
      triggerId: t.id({ description: "The trigger's id." }),
      name: t.string({
        required: false,
        description: `The trigger's new name, of at most ${LIMITS.nameCharacters} characters.`,
      }),
      trigger: t.field({
        type: configuration,
        required: false,
        description: "Replaces the whole configuration; the type must stay the same. A webhook keeps its URL.",
      }),
      policy: t.field({ type: policy, required: false, description: "Replaces the whole policy." }),
    }),
  });
  builder.mutationField("updateTrigger", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      answers: WRITTEN,
      type: "Trigger",
      description: "Changes a trigger. CONFLICT if the agent has another trigger of that name.",
      args: { input: t.arg({ type: input, description: "Input of `updateTrigger`." }) },
      resolve: (_, { input: { triggerId, name, trigger, policy: given } }, context) =>
        updateTrigger(context.triggers, actingOf(context), {
          triggerId: idOf("trigger", triggerId),
          name: name ?? undefined,
          trigger: trigger ? configurationOf(trigger) : undefined,
          policy: given ? givenOf(given) : undefined,
        }),
    }),
  );
}

function addSetStatus(builder: Builder, enums: Enums): void {
  const input = builder.inputType("SetTriggerStatusInput", {
    description: "Input of `setTriggerStatus`.",
    fields: (t) => ({
      triggerId: t.id({ description: "The trigger's id." }),
      status: t.field({ type: enums.TriggerStatus, description: "The trigger's new status." }),
    }),
  });
  builder.mutationField("setTriggerStatus", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      type: "Trigger",
      description: "Pauses or resumes a trigger. Setting the status that it already has changes nothing.",
      args: { input: t.arg({ type: input, description: "Input of `setTriggerStatus`." }) },
      resolve: (_, { input: { triggerId, status } }, context) =>
        setTriggerStatus(context.triggers, actingOf(context), { triggerId: idOf("trigger", triggerId), status }),
    }),
  );
}

function addRotate(builder: Builder): void {
  const input = builder.inputType("RotateWebhookTokenInput", {
    description: "Input of `rotateWebhookToken`.",
    fields: (t) => ({
      triggerId: t.id({ description: "The trigger's id." }),
      overlapMinutes: t.int({
        description: `For how many minutes the present URL keeps working beside the new one: 0 to ${LIMITS.tokenOverlapMinutes}.`,
      }),
    }),
  });
  builder.mutationField("rotateWebhookToken", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      answers: WRITTEN,
      type: "Trigger",
      description:
        "Replaces a webhook's URL. A URL that was replaced earlier and still worked stops working. CONFLICT for a trigger that has no URL.",
      args: { input: t.arg({ type: input, description: "Input of `rotateWebhookToken`." }) },
      resolve: (_, { input: { triggerId, overlapMinutes } }, context) =>
        rotateToken(context.triggers, actingOf(context), { triggerId: idOf("trigger", triggerId), overlapMinutes }),
    }),
  );
}

function addDelete(builder: Builder): void {
  const input = builder.inputType("DeleteTriggerInput", {
    description: "Input of `deleteTrigger`.",
    fields: (t) => ({ triggerId: t.id({ description: "The trigger's id." }) }),
  });
  builder.mutationField("deleteTrigger", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      type: "Trigger",
      description: "Deletes a trigger for good. The runs that it started stay.",
      args: { input: t.arg({ type: input, description: "Input of `deleteTrigger`." }) },
      resolve: (_, { input }, context) =>
        deleteTrigger(context.triggers, actingOf(context), idOf("trigger", input.triggerId)),
    }),
  );
}

type GivenKeys = Record<string, unknown>;

const configurationOf = ({
  type,
  ...keys
}: { type: TriggerType } & GivenKeys): { type: TriggerType; keys: JsonObject } => ({
  type,
  keys: givenOf(keys),
});

/** Times as they are kept. */
const givenOf = (given: GivenKeys): JsonObject =>
  Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, value instanceof Date ? value.toISOString() : (value as Json)]),
  );
