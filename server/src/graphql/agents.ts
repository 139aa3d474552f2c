/** Agents: listed and read. */
import type { Agent } from "../agents/agent.ts";
import { listAgents, pageOfAgents } from "../agents/list-agents.ts";
import { published, readAgent, type Published } from "../agents/published.ts";
import { decodeId, encodeId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { listRuns } from "../runs/list-runs.ts";
import { found, idOf, optionalId } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { addConnection, connectionOf, pageArguments, PAGED, pageRequest } from "./connection.ts";
import { callerOf, callerWith, type Context } from "./context.ts";
import type { Enums } from "./enums.ts";
import { fieldsOf } from "./form-fields.ts";
import { runCursor, runPage } from "./runs.ts";

export function addAgents(builder: Builder, enums: Enums): void {
  addInputFields(builder, enums);
  addAgent(builder, enums);
  addLists(builder);
  addConnection(builder, "Agent");
  addQueries(builder, enums);
}

function addInputFields(builder: Builder, enums: Enums): void {
  builder.objectType("InputFieldChoice", {
    description: "One of the values of a choice.",
    fields: (t) => ({
      value: t.exposeString("value", { description: "What to send." }),
      title: t.exposeString("title", { description: "What to show." }),
    }),
  });
  builder.objectType("InputField", {
    description: "One field of a form.",
    extensions: { isPart: true },
    fields: (t) => ({
      name: t.exposeString("name", { description: "Its key in the object." }),
      type: t.expose("type", { type: enums.InputFieldType, description: "What to show for it." }),
      title: t.exposeString("title", { description: "Its label." }),
      description: t.exposeString("description", { nullable: true, description: "A sentence of help." }),
      required: t.exposeBoolean("required", { description: "Whether it must be given." }),
      choices: t.expose("choices", {
        type: ["InputFieldChoice"],
        nullable: true,
        description: "The values it may have.",
      }),
      default: t.expose("default", { type: "JSON", nullable: true, description: "What it is when it is not given." }),
    }),
  });
}

const publishedOf = ({ organizationId, id }: Agent, { agents }: Context): Promise<Published | undefined> =>
  published(agents, organizationId, id);

function addAgent(builder: Builder, enums: Enums): void {
  builder.objectType("Agent", {
    description: "A named automation in a project.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => encodeId("agent", id), description: "A TypeID, `agent_…`." }),
      name: t.exposeString("name", { description: "For people: the definition's title." }),
      handle: t.exposeString("handle", { description: "For programs: the definition's name, unique in its project." }),
      description: t.exposeString("description", { nullable: true, description: "The definition's summary." }),
      status: t.expose("status", { type: enums.AgentStatus, description: "Whether it can be run." }),
      version: t.string({
        description: "The published version; before the first its draft's, empty when that has none.",
        resolve: ({ publishedVersion, draftVersion }) => publishedVersion ?? draftVersion ?? "",
      }),
      project: t.field({
        type: "Project",
        description: "Where it is.",
        resolve: ({ projectId }, _, { loaders }) => loaders.project(projectId),
      }),
      inputSchema: t.field({
        type: "JSON",
        nullable: true,
        description: "JSON schema of the input; null: any object.",
        resolve: async (agent, _, context) => (await publishedOf(agent, context))?.inputSchema ?? null,
      }),
      inputFields: t.field({
        type: ["InputField"],
        description: "The same, for showing a form.",
        resolve: async (agent, _, context) => fieldsOf(context, (await publishedOf(agent, context))?.inputSchema),
      }),
      definition: t.string({
        nullable: true,
        description: "Text of the published version, YAML or JSON.",
        resolve: async (agent, _, context) => (await publishedOf(agent, context))?.source ?? null,
      }),
      concurrency: t.exposeInt("concurrencyLimit", {
        nullable: true,
        description:
          "How many of its runs may have begun and not ended at the same time, waiting and paused ones too; what comes over it queues as `pending`. Null: any number.",
      }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was made." }),
      updatedAt: t.expose("updatedAt", {
        type: "DateTime",
        description: "When it was last published, its draft saved, or it was given a status or a limit.",
      }),
    }),
  });
}

const agentCursor = ({ id }: Agent): string => encodeId("agent", id);

function addLists(builder: Builder): void {
  builder.objectField("Agent", "runs", (t) =>
    t.field({
      type: "RunConnection",
      extensions: PAGED,
      description: "Its runs, the newest first.",
      args: pageArguments(builder),
      resolve: async ({ organizationId, id }, page, context) => {
        callerWith(context, "runs:read");
        return connectionOf(await listRuns(context.runs, organizationId, { agentId: id }, runPage(page)), runCursor);
      },
    }),
  );
}

export async function findAgent(context: Context, id: string): Promise<Agent> {
  return found("agent", await readAgent(context.agents, callerOf(context).organizationId, idOf("agent", id)));
}

function addQueries(builder: Builder, enums: Enums): void {
  builder.queryField("agent", (t) =>
    t.field({
      type: "Agent",
      nullable: true,
      description: "One agent. NOT_FOUND when there is none of that id.",
      args: { id: t.arg.id({ description: "A TypeID, `agent_…`." }) },
      resolve: (_, { id }, context) => findAgent(context, id),
    }),
  );
  builder.queryField("agents", (t) =>
    t.field({
      type: ["Agent"],
      extensions: { cost: { most: LIMITS.agentsListed } },
      description: `Agents by name, without archived ones, ${LIMITS.agentsListed} at most.`,
      args: { projectId: t.arg.id({ required: false, description: "Only those of this project." }) },
      resolve: (_, { projectId }, context) =>
        listAgents(context.agents, callerOf(context), optionalId("projectId", "project", projectId)),
    }),
  );
  builder.queryField("agentsConnection", (t) =>
    t.field({
      type: "AgentConnection",
      extensions: PAGED,
      description: "Agents, newest first, archived ones too.",
      args: {
        projectId: t.arg.id({ required: false, description: "Only those of this project." }),
        status: t.arg({
          type: [enums.AgentStatus],
          required: false,
          description: "Only those in one of these states.",
        }),
        ...pageArguments(builder),
      },
      resolve: async (_, { projectId, status, ...page }, context) => {
        const request = pageRequest(page, (cursor) => decodeId("agent", cursor));
        const filter = { ...optionalId("projectId", "project", projectId), ...(status && { status }) };
        return connectionOf(await pageOfAgents(context.agents, callerOf(context), request, filter), agentCursor);
      },
    }),
  );
}
