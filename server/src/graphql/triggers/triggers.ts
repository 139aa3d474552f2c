/** Triggers: what starts runs of an agent by itself. Their keys come from the table of kinds (triggers/kinds/kinds.ts). */
import { encodeId } from "../../lib/ids.ts";
import { keysOf, kindOf } from "../../triggers/kinds/kinds.ts";
import { listTriggers, readTrigger } from "../../triggers/store/list-triggers.ts";
import type { TriggerFilter } from "../../triggers/store/trigger-store.ts";
import { curlOf, urlOf } from "../../triggers/webhooks/webhook-url.ts";
import type { Trigger } from "../../triggers/store/trigger.ts";
import { checkFilter, idOf, listOf, optionalIds, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import { shownAs, shownOf } from "./trigger-keys.ts";

export function addTriggers(builder: Builder, enums: Enums): void {
  addPolicy(builder, enums);
  addTrigger(builder, enums);
  addToOthers(builder);
  addConnection(builder, "Trigger");
  addQueries(builder, enums);
}

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
        description: "When the previous URL stops working. Null if there is none that still works.",
        resolve: async ({ id, type }, _, { loaders, clock }) => {
          const until = kindOf(type).hasUrl ? (await loaders.token(id))?.formerUntil : undefined;
          return until && until.getTime() > clock.now() ? until : null;
        },
      }),
      curl: t.string({
        scope: "agents:read",
        nullable: true,
        description:
          "A shell command that calls `url` with a small sample of what the agent needs: `{}` if the policy has a `mapping`, or without `agents:read`. Null for a type that is not called by URL, and if calls must be signed.",
        resolve: async (trigger, _, context) => {
          if (trigger.policy["signature"]) return null;
          const url = await shownUrl(trigger, context);
          if (url === undefined) return null;
          // The input of a mapping is not known, and the agent's form is for those who may read it.
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
}

function addToOthers(builder: Builder): void {
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
