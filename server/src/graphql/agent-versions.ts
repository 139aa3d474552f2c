/** The texts of an agent: its versions, its draft, and what differs between them. */
import { diffAgent } from "../agents/diff-agent.ts";
import { listVersions } from "../agents/list-agents.ts";
import { idOf } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { addConnection, connectionOf, pageArguments, PAGED, pageRequest } from "./connection.ts";
import { callerOf } from "./context.ts";

export function addAgentVersions(builder: Builder): void {
  addVersion(builder);
  addConnection(builder, "AgentVersion");
  addTexts(builder);
  addDiff(builder);
}

function addVersion(builder: Builder): void {
  builder.objectType("AgentVersion", {
    description: "One immutable definition of an agent.",
    fields: (t) => ({
      version: t.exposeString("version", { description: "Semantic version." }),
      definition: t.exposeString("source", { description: "The text as it was published, YAML or JSON." }),
      createdBy: t.field({
        type: "User",
        nullable: true,
        description: "Who published it; null for what came with Autograph.",
        resolve: async ({ createdBy: id }, _, { loaders }) => id && { id, name: await loaders.userName(id) },
      }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was first published." }),
    }),
  });
}

function addTexts(builder: Builder): void {
  builder.objectField("Agent", "draft", (t) =>
    t.string({
      nullable: true,
      description: "The text that is being worked on, as it was saved; null when all of it is published.",
      resolve: ({ id }, _, { loaders }) => loaders.draft(id),
    }),
  );
  builder.objectField("Agent", "versions", (t) =>
    t.field({
      type: "AgentVersionConnection",
      extensions: PAGED,
      description: "All versions, the newest first.",
      args: pageArguments(builder),
      resolve: async ({ organizationId, id }, page, { agents }) => {
        const request = pageRequest(page, (cursor) => cursor);
        return connectionOf(await listVersions(agents, organizationId, id, request), ({ version }) => version);
      },
    }),
  );
}

function addDiff(builder: Builder): void {
  builder.queryField("agentDiff", (t) =>
    t.string({
      description:
        "What differs between two texts of an agent, as `diff -u` writes it, with three lines around each change; empty when nothing does. " +
        "Without `from` and `to`: what its draft changes of the published version.",
      args: {
        agentId: t.arg.id({ description: "A TypeID, `agent_…`." }),
        from: t.arg.string({ required: false, description: "A version; the published one without it." }),
        to: t.arg.string({
          required: false,
          description: "A version; without it the draft, or the published version when there is none.",
        }),
      },
      resolve: (_, { agentId, from, to }, context) =>
        diffAgent(context.agents, callerOf(context).organizationId, {
          agentId: idOf("agent", agentId),
          from: from ?? undefined,
          to: to ?? undefined,
        }),
    }),
  );
}
