/** Listing and reading agents. */
import type { Agent } from "../../agents/agent.ts";
import { findAgent as findByHandle } from "../../agents/find-agent.ts";
import { listAgents, pageOfAgents } from "../../agents/list-agents.ts";
import { published, readAgent, type Published } from "../../agents/published.ts";
import type { AgentFilter } from "../../agents/store.ts";
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { checkFilter, idOf, listOf, optionalId, optionalIds, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";
import { fieldsOf } from "../context/form-fields.ts";

export function addAgents(builder: Builder, enums: Enums): void {
  addInputFields(builder, enums);
  addAgent(builder, enums);
  addConnection(builder, "Agent");
  addQueries(builder);
  addConnectionQuery(builder, enums);
}

function addInputFields(builder: Builder, enums: Enums): void {
  builder.objectType("InputFieldChoice", {
    description: "A value to choose from.",
    fields: (t) => ({
      value: t.exposeString("value", { scope: "inherited", description: "The value to send." }),
      title: t.exposeString("title", { scope: "inherited", description: "The text to show." }),
    }),
  });
  builder.objectType("InputField", {
    description: "A field of a form.",
    extensions: { isPart: true },
    fields: (t) => ({
      name: t.exposeString("name", { scope: "inherited", description: "The field's key in the object." }),
      type: t.expose("type", {
        scope: "inherited",
        type: enums.InputFieldType,
        description: "The kind of control to show.",
      }),
      title: t.exposeString("title", { scope: "inherited", description: "The label to show." }),
      description: t.exposeString("description", {
        scope: "inherited",
        nullable: true,
        description: "A sentence that helps to fill in the field.",
      }),
      required: t.exposeBoolean("required", { scope: "inherited", description: "Whether a value is required." }),
      choices: t.expose("choices", {
        scope: "inherited",
        type: ["InputFieldChoice"],
        nullable: true,
        description: "The values to choose from. Null for a field without choices.",
      }),
      default: t.expose("default", {
        scope: "inherited",
        type: "JSON",
        nullable: true,
        description: "The value that is used when none is sent.",
      }),
      maxLength: t.exposeInt("maxLength", {
        scope: "inherited",
        nullable: true,
        description: "The maximum length of a text, in characters. Null if the field sets none.",
      }),
    }),
  });
}

const publishedOf = ({ id }: Agent, context: Context): Promise<Published | undefined> =>
  published(context.agents, callerOf(context), id);

function addAgent(builder: Builder, enums: Enums): void {
  builder.objectType("Agent", {
    description: "An agent: a named automation in a project.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("agent", id),
        description: "The agent's id, `agent_…`.",
      }),
      name: t.exposeString("name", { scope: "inherited", description: "The agent's name: the definition's title." }),
      handle: t.exposeString("handle", {
        scope: "inherited",
        description: "The agent's handle: the definition's name, unique in its project.",
      }),
      description: t.exposeString("description", {
        scope: "inherited",
        nullable: true,
        description: "The definition's summary. Null if it has none.",
      }),
      status: t.expose("status", { scope: "inherited", type: enums.AgentStatus, description: "Current status." }),
      version: t.string({
        scope: "inherited",
        description:
          "The published version. For an agent that was never published: the draft's version, or an empty text if the draft has none.",
        resolve: ({ publishedVersion, draftVersion }) => publishedVersion ?? draftVersion ?? "",
      }),
      project: t.field({
        scope: "inherited",
        type: "Project",
        description: "The project that the agent belongs to.",
        resolve: ({ projectId }, _, { loaders }) => loaders.project(projectId),
      }),
      inputSchema: t.field({
        scope: "agents:read",
        type: "JSON",
        nullable: true,
        description: "JSON schema of the input. Null if the agent takes any object.",
        resolve: async (agent, _, context) => (await publishedOf(agent, context))?.inputSchema ?? null,
      }),
      inputFields: t.field({
        scope: "agents:read",
        type: ["InputField"],
        description: "The input schema as the fields of a form.",
        resolve: async (agent, _, context) => fieldsOf(context, (await publishedOf(agent, context))?.inputSchema),
      }),
      definition: t.string({
        scope: "agents:read",
        nullable: true,
        description: "The text of the published version, as YAML or JSON. Null if the agent was never published.",
        resolve: async (agent, _, context) => (await publishedOf(agent, context))?.source ?? null,
      }),
      concurrency: t.exposeInt("concurrencyLimit", {
        scope: "inherited",
        nullable: true,
        description:
          "How many runs of the agent may be under way at the same time, including those that wait or are paused. Further runs stay `pending` until there is room. Null if there is no limit.",
      }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the agent was created.",
      }),
      updatedAt: t.expose("updatedAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the agent was last published, or its draft, status or limit last changed.",
      }),
    }),
  });
}

/** A cursor of one order is none of the other. */
const AGENTS = { newest: listById("agents", "agent"), name: listById("agents by name", "agent") };

export async function findAgent(context: Context, id: string): Promise<Agent> {
  return requireFound("agent", await readAgent(context.agents, callerOf(context), idOf("agent", id)));
}

function addQueries(builder: Builder): void {
  builder.queryField("agent", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "Agent",
      nullable: true,
      description: "The agent with this id. NOT_FOUND if there is none.",
      args: { id: t.arg.id({ description: "The agent's id." }) },
      resolve: (_, { id }, context) => findAgent(context, id),
    }),
  );
  builder.queryField("agents", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: ["Agent"],
      extensions: { cost: { most: LIMITS.agentsListed } },
      description: `The agents that are not archived, by name, ${LIMITS.agentsListed} at most. \`agentsConnection\` has all.`,
      args: { projectId: t.arg.id({ required: false, description: "Return only agents of this project." }) },
      resolve: (_, { projectId }, context) =>
        listAgents(context.agents, callerOf(context), optionalId("projectId", "project", projectId)),
    }),
  );
  builder.queryField("agentByHandle", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "Agent",
      nullable: true,
      description: "The agent with this handle in a project, or NOT_FOUND.",
      args: {
        project: t.arg.string({ description: "The project's handle." }),
        agent: t.arg.string({ description: "The agent's handle." }),
      },
      resolve: async (_, { project, agent }, context) =>
        requireFound("agent", await findByHandle(context.agents, callerOf(context), project, agent)),
    }),
  );
}

function addConnectionQuery(builder: Builder, enums: Enums): void {
  const filter = builder.inputType("AgentFilter", {
    description:
      "Selects the agents that match every field given. A list selects the agents that match any of its values; an empty list selects none.",
    fields: (t) => ({
      projectId: t.idList({ required: false, description: "In any of these projects." }),
      status: t.field({ type: [enums.AgentStatus], required: false, description: "With any of these statuses." }),
      text: t.string({
        required: false,
        description: `With this text in the name or the handle, ignoring case. At most ${LIMITS.nameCharacters} characters.`,
      }),
    }),
  });
  builder.queryField("agentsConnection", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "AgentConnection",
      extensions: PAGED,
      description: "All agents, newest first unless `order` says otherwise.",
      args: {
        filter: t.arg({ type: filter, required: false, description: "Default: all agents." }),
        order: t.arg({
          type: enums.AgentOrder,
          required: false,
          defaultValue: "newest",
          description: "The order of the list. A cursor is valid only in the order that it came from.",
        }),
        ...pageArguments(builder),
      },
      resolve: async (_, { filter: given, order: wantedOrder, ...page }, context) => {
        const order = wantedOrder ?? "newest";
        const wanted = given ? await checkedFilter(context, given) : {};
        return connect(AGENTS[order], page, (request) =>
          pageOfAgents(context.agents, callerOf(context), request, wanted, order),
        );
      },
    }),
  );
}

type FilterInput = {
  projectId?: readonly string[] | null | undefined;
  status?: AgentFilter["status"] | null;
  text?: string | null | undefined;
};

/** Throws NOT_FOUND for a project that the organization does not have, BAD_USER_INPUT for a list that is too long. */
async function checkedFilter(context: Context, { projectId, status, text }: FilterInput): Promise<AgentFilter> {
  const projects = optionalIds("projectId", "project", projectId, "filter");
  await checkFilter(context, callerOf(context), projects);
  return { ...projects, ...(status && { status: listOf(status, "filter.status") }), text: text ?? undefined };
}
