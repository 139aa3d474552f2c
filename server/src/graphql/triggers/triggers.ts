/** Triggers: what starts runs of an agent by itself. Their keys come from the table of kinds (triggers/kinds/kinds.ts). */
import { encodeId } from "../../lib/ids.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { deleteTrigger, setTriggerStatus, updateTrigger } from "../../triggers/change-trigger.ts";
import { createTrigger } from "../../triggers/create-trigger.ts";
import { keysOf, kindOf, type TriggerType } from "../../triggers/kinds/kinds.ts";
import { rotateToken } from "../../triggers/rotate-token.ts";
import { listTriggers, readTrigger } from "../../triggers/store/list-triggers.ts";
import type { TriggerFilter } from "../../triggers/store/trigger-store.ts";
import { curlOf, urlOf } from "../../triggers/webhooks/webhook-url.ts";
import type { Key, Keys } from "../../triggers/kinds/contract/trigger-kind.ts";
import type { Trigger } from "../../triggers/store/trigger.ts";
import { checkFilter, idOf, listOf, optionalIds, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { actingOf, callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addTriggers(builder: Builder, enums: Enums): void {
  addPolicy(builder, enums);
  addTrigger(builder, enums);
  addConnection(builder, "Trigger");
  addQueries(builder, enums);
  addMutations(builder, enums);
}

/** How a key is shown in the API. One type stands for all: the builder would want to know each. */
const shownAs = (enums: Enums, { api }: Key): "String" => {
  if (api === "TriggerOverlap" || api === "MissedInstants" || api === "WebhookAccept")
    return enums[api] as unknown as "String";
  return (api === "[String]" ? ["String"] : api) as "String";
};

/** A time is kept as text. */
const shownOf = (values: JsonObject, name: string, { api }: Key): unknown => {
  const value = values[name] ?? null;
  return api === "DateTime" && value !== null ? new Date(value as string) : value;
};

function addPolicy(builder: Builder, enums: Enums): void {
  builder.objectType("TriggerPolicy", {
    description:
      "How a trigger fires, in addition to its configuration. A field that is null has its default value or belongs to another type of trigger.",
    extensions: { isPart: true },
    fields: (t) =>
      Object.fromEntries(
        Object.entries(keysOf("policies")).map(([name, key]) => [
          name,
          t.field({
            scope: "inherited",
            type: shownAs(enums, key),
            nullable: true,
            description: key.description,
            resolve: (policy) => shownOf(policy, name, key) as string | null,
          }),
        ]),
      ),
  });
}

/** With its token where the caller may change the trigger. */
async function shownUrl(trigger: Trigger, context: Context): Promise<string | undefined> {
  if (!kindOf(trigger.type).hasUrl) return undefined;
  const token = callerOf(context).scopes.has("triggers:write") ? await context.loaders.token(trigger.id) : undefined;
  return urlOf(context.triggers, trigger, token ?? undefined);
}

function addTrigger(builder: Builder, enums: Enums): void {
  builder.objectType("Trigger", {
    description: "A trigger: it starts runs of an agent automatically.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("trigger", id),
        description: "The trigger's id, `trigger_…`.",
      }),
      name: t.exposeString("name", {
        scope: "inherited",
        description: "The trigger's name, unique among those of its agent.",
      }),
      type: t.expose("type", {
        scope: "inherited",
        type: enums.TriggerType,
        description: "The trigger's type: what starts runs.",
      }),
      status: t.expose("status", {
        scope: "inherited",
        type: enums.TriggerStatus,
        description: "Whether it starts runs.",
      }),
      agent: t.field({
        scope: "inherited",
        type: "Agent",
        description: "The agent whose runs the trigger starts.",
        resolve: ({ agentId }, _, { loaders }) => loaders.agent(agentId),
      }),
      project: t.field({
        scope: "inherited",
        type: "Project",
        description: "The agent's project.",
        resolve: ({ projectId }, _, { loaders }) => loaders.project(projectId),
      }),
      configuration: t.field({
        scope: "agents:read",
        type: "JSON",
        description:
          "The configuration as one object: `{trigger: {type, …}}` with the keys of its type. The token in a `url` is masked without `triggers:write`.",
        resolve: async (trigger, _, context) => {
          const { type, configuration } = trigger;
          return { trigger: { type, ...kindOf(type).show(configuration, await shownUrl(trigger, context)) } };
        },
      }),
      policy: t.expose("policy", {
        scope: "agents:read",
        type: "TriggerPolicy",
        description: "How the trigger fires, in addition to its configuration.",
      }),
      ...Object.fromEntries(
        Object.entries(keysOf("keys")).map(([name, key]) => [
          name,
          t.field({
            scope: "agents:read",
            type: shownAs(enums, key),
            nullable: true,
            description: key.description,
            resolve: ({ configuration }) => shownOf(configuration, name, key) as string | null,
          }),
        ]),
      ),
      url: t.string({
        scope: "agents:read",
        nullable: true,
        description:
          "The URL to call. Its token is masked without `triggers:write`. Null for a type that is not called by URL.",
        resolve: async (trigger, _, context) => (await shownUrl(trigger, context)) ?? null,
      }),
      formerUrlUntil: t.field({
        scope: "agents:read",
        type: "DateTime",
        nullable: true,
        description:
          "Until when the URL before the present one works, too. Null if there was none, or its time is over.",
        resolve: async ({ id, type }, _, { loaders, clock }) => {
          const until = type === "webhook" ? (await loaders.token(id))?.formerUntil : undefined;
          return until && until.getTime() > clock.now() ? until : null;
        },
      }),
      curl: t.string({
        scope: "agents:read",
        nullable: true,
        description:
          "A shell command that calls `url` with a small sample of what the agent needs: `{}` if the policy has a `mapping`, or without `agents:read`. Null for a type that is not called by URL, and where calls must be signed.",
        resolve: async (trigger, _, context) => {
          if (trigger.policy["signature"]) return null;
          const url = await shownUrl(trigger, context);
          if (url === undefined) return null;
          // What a mapping takes is not known, and the agent's form is for those who may read it.
          const hasSample = !trigger.policy["mapping"] && callerOf(context).scopes.has("agents:read");
          const command = curlOf(url, hasSample ? await context.loaders.sample(trigger.agentId) : {});
          context.size.charge(command.length);
          return command;
        },
      }),
      nextDueAt: t.expose("nextDueAt", {
        scope: "inherited",
        type: "DateTime",
        nullable: true,
        description: "When the trigger is due next. Null while it is paused, and for a type without a schedule.",
      }),
      isManaged: t.exposeBoolean("isManaged", {
        scope: "agents:read",
        description:
          "Whether the agent's definition contains the trigger (`document.metadata.triggers`). If so, only publishing changes or deletes it.",
      }),
      createdBy: t.expose("createdBy", {
        scope: "agents:read",
        type: "Actor",
        description: "Who created the trigger.",
      }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the trigger was created.",
      }),
      updatedAt: t.expose("updatedAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the trigger was last changed.",
      }),
    }),
  });
  builder.objectField("Agent", "triggers", (t) =>
    t.field({
      scope: "agents:read",
      type: "TriggerConnection",
      extensions: PAGED,
      description: "The agent's triggers, newest first.",
      args: pageArguments(builder),
      resolve: ({ id }, page, context) =>
        connect(listById("triggers", "trigger", id), page, (request) =>
          listTriggers(context.triggers, callerOf(context), { agentId: [id] }, request),
        ),
    }),
  );
  builder.objectField("Run", "trigger", (t) =>
    t.field({
      scope: "inherited",
      type: "Trigger",
      nullable: true,
      description: "The trigger that started the run. Null if none did, or if it was deleted.",
      resolve: ({ startedBy }, _, { loaders }) =>
        startedBy.kind === "trigger" ? loaders.trigger(startedBy.id as Trigger["id"]) : null,
    }),
  );
}

const TRIGGERS = listById("triggers", "trigger");

export const findTrigger = async (context: Context, id: string): Promise<Trigger> =>
  requireFound("trigger", await readTrigger(context.triggers, callerOf(context), idOf("trigger", id)));

function addQueries(builder: Builder, enums: Enums): void {
  builder.queryField("trigger", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "Trigger",
      nullable: true,
      description: "The trigger with this id. NOT_FOUND if there is none.",
      args: { id: t.arg.id({ description: "The trigger's id." }) },
      resolve: (_, { id }, context) => findTrigger(context, id),
    }),
  );
  const filter = builder.inputType("TriggerFilter", {
    description:
      "Selects the triggers that match every field given. A list selects the triggers that match any of its values; an empty list selects none.",
    fields: (t) => ({
      projectId: t.idList({ required: false, description: "Of agents in any of these projects." }),
      agentId: t.idList({ required: false, description: "Of any of these agents." }),
      type: t.field({ type: [enums.TriggerType], required: false, description: "Of any of these types." }),
      status: t.field({ type: [enums.TriggerStatus], required: false, description: "With any of these statuses." }),
    }),
  });
  builder.queryField("triggers", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "TriggerConnection",
      extensions: PAGED,
      description: "The organization's triggers, newest first.",
      args: {
        filter: t.arg({ type: filter, required: false, description: "Default: all triggers." }),
        ...pageArguments(builder),
      },
      resolve: async (_, { filter: given, ...page }, context) => {
        const wanted = given ? await checkedFilter(context, given) : {};
        return connect(TRIGGERS, page, (request) => listTriggers(context.triggers, callerOf(context), wanted, request));
      },
    }),
  );
}

type Ids = readonly string[] | null | undefined;
type FilterInput = {
  projectId?: Ids;
  agentId?: Ids;
  type?: TriggerFilter["type"] | null;
  status?: TriggerFilter["status"] | null;
};

/** Throws NOT_FOUND for a project or an agent that the organization does not have, BAD_USER_INPUT for a list that is too long. */
async function checkedFilter(
  context: Context,
  { projectId, agentId, type, status }: FilterInput,
): Promise<TriggerFilter> {
  const ids = {
    ...optionalIds("projectId", "project", projectId, "filter"),
    ...optionalIds("agentId", "agent", agentId, "filter"),
  };
  await checkFilter(context, callerOf(context), ids);
  return {
    ...ids,
    ...(type && { type: listOf(type, "filter.type") }),
    ...(status && { status: listOf(status, "filter.status") }),
  };
}

type GivenKeys = Record<string, unknown>;

/** What the caller gave, and what came of it. */
const WRITTEN = ["Trigger.configuration", "Trigger.policy", "Trigger.url", "Trigger.formerUrlUntil", "Trigger.curl"];

function addMutations(builder: Builder, enums: Enums): void {
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
  const create = builder.inputType("CreateTriggerInput", {
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
  const update = builder.inputType("UpdateTriggerInput", {
    description: "Input of `updateTrigger`. What is left out stays as it is.",
    fields: (t) => ({
      triggerId: t.id({ description: "The trigger's id." }),
      name: t.string({ required: false, description: "The trigger's new name." }),
      trigger: t.field({
        type: configuration,
        required: false,
        description: "Replaces the whole configuration; the type must stay the same. A webhook keeps its URL.",
      }),
      policy: t.field({ type: policy, required: false, description: "Replaces the whole policy." }),
    }),
  });
  const setStatus = builder.inputType("SetTriggerStatusInput", {
    description: "Input of `setTriggerStatus`.",
    fields: (t) => ({
      triggerId: t.id({ description: "The trigger's id." }),
      status: t.field({ type: enums.TriggerStatus, description: "The trigger's new status." }),
    }),
  });
  const remove = builder.inputType("DeleteTriggerInput", {
    description: "Input of `deleteTrigger`.",
    fields: (t) => ({ triggerId: t.id({ description: "The trigger's id." }) }),
  });
  builder.mutationField("createTrigger", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      answers: WRITTEN,
      type: "Trigger",
      description:
        "Creates a trigger, which starts runs from then on. CONFLICT if the agent is archived or already has a trigger of that name, or if a limit on triggers is reached.",
      args: { input: t.arg({ type: create, description: "Input of `createTrigger`." }) },
      resolve: (_, { input }, context) =>
        createTrigger(context.triggers, actingOf(context), {
          agentId: idOf("agent", input.agentId),
          name: input.name,
          ...configurationOf(input.trigger),
          policy: givenOf(input.policy ?? {}),
        }),
    }),
  );
  builder.mutationField("updateTrigger", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      answers: WRITTEN,
      type: "Trigger",
      description: "Changes a trigger. CONFLICT if the agent has another trigger of that name.",
      args: { input: t.arg({ type: update, description: "Input of `updateTrigger`." }) },
      resolve: (_, { input: { triggerId, name, trigger, policy: given } }, context) =>
        updateTrigger(context.triggers, actingOf(context), {
          triggerId: idOf("trigger", triggerId),
          name: name ?? undefined,
          trigger: trigger ? configurationOf(trigger) : undefined,
          policy: given ? givenOf(given) : undefined,
        }),
    }),
  );
  builder.mutationField("setTriggerStatus", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      type: "Trigger",
      description: "Pauses or resumes a trigger. Setting the status that it already has changes nothing.",
      args: { input: t.arg({ type: setStatus, description: "Input of `setTriggerStatus`." }) },
      resolve: (_, { input: { triggerId, status } }, context) =>
        setTriggerStatus(context.triggers, actingOf(context), { triggerId: idOf("trigger", triggerId), status }),
    }),
  );
  const rotate = builder.inputType("RotateWebhookTokenInput", {
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
      args: { input: t.arg({ type: rotate, description: "Input of `rotateWebhookToken`." }) },
      resolve: (_, { input: { triggerId, overlapMinutes } }, context) =>
        rotateToken(context.triggers, actingOf(context), { triggerId: idOf("trigger", triggerId), overlapMinutes }),
    }),
  );
  builder.mutationField("deleteTrigger", (t) =>
    t.field({
      scope: "triggers:write",
      narrowedKeys: true,
      type: "Trigger",
      description: "Deletes a trigger for good. The runs that it started stay.",
      args: { input: t.arg({ type: remove, description: "Input of `deleteTrigger`." }) },
      resolve: (_, { input }, context) =>
        deleteTrigger(context.triggers, actingOf(context), idOf("trigger", input.triggerId)),
    }),
  );
}

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
