/** The versions of an agent, and the differences between its texts. */
import { diffAgent } from "../../agents/diff-agent.ts";
import type { AgentVersion } from "../../agents/agent.ts";
import { listVersions, readVersion } from "../../agents/versions.ts";
import { encodeId, type AgentId, type AgentVersionId } from "../../lib/ids.ts";
import { idOf, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";
import { fieldsOf } from "../context/form-fields.ts";
import type { List } from "../builder/objects.ts";

export function addAgentVersions(builder: Builder): void {
  addVersion(builder);
  addConnection(builder, "AgentVersion");
  addLists(builder);
  addDiff(builder);
}

function addVersion(builder: Builder): void {
  builder.objectType("AgentVersion", {
    description: "A version of an agent: one definition, which never changes.",
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("agentVersion", id),
        description: "The version's id, `version_…`.",
      }),
      agent: t.field({
        scope: "inherited",
        type: "Agent",
        description: "The agent.",
        resolve: ({ agentId }, _, { loaders }) => loaders.agent(agentId),
      }),
      version: t.exposeString("version", {
        scope: "inherited",
        description: "The version, such as `1.2.0` (semantic versioning).",
      }),
      definition: t.string({
        scope: "agents:read",
        description: "The text as it was published, as YAML or JSON.",
        resolve: ({ id }, _, context) => readText(context, id),
      }),
      inputFields: t.field({
        scope: "agents:read",
        type: ["InputField"],
        description: "The input schema as the fields of a form.",
        resolve: async ({ agentId, version }, _, context) =>
          fieldsOf(context, (await context.loaders.compiled({ agentId, version })).inputSchema),
      }),
      createdBy: t.expose("createdBy", {
        scope: "agents:read",
        type: "Actor",
        description: "Who first published the version.",
      }),
      createdAt: t.expose("createdAt", {
        scope: "inherited",
        type: "DateTime",
        description: "When the version was first published.",
      }),
    }),
  });
}

async function readText({ loaders, size }: Context, id: AgentVersionId): Promise<string> {
  const text = await loaders.source(id);
  // All texts together would be larger than an answer may be: this refuses it.
  if (text === null) size.charge(Number.POSITIVE_INFINITY);
  return text!;
}

export async function findVersion(context: Context, id: string): Promise<AgentVersion> {
  return requireFound("agentVersion", await readVersion(context.agents, callerOf(context), idOf("agentVersion", id)));
}

const versionsOf = (agentId: AgentId): List<AgentVersion> => ({
  name: `versions ${agentId}`,
  write: ({ version }) => version,
  read: (version) => version,
});

function addLists(builder: Builder): void {
  builder.objectField("Agent", "versions", (t) =>
    t.field({
      scope: "agents:read",
      type: "AgentVersionConnection",
      extensions: PAGED,
      description: "The agent's versions, newest first.",
      args: pageArguments(builder),
      resolve: ({ organizationId, id }, page, { agents }) =>
        connect(versionsOf(id), page, (request) => listVersions(agents, organizationId, id, request)),
    }),
  );
  builder.objectField("Agent", "agentVersion", (t) =>
    t.field({
      scope: "agents:read",
      type: "AgentVersion",
      nullable: true,
      description: "One version. Null if the agent does not have it.",
      args: {
        version: t.arg.string({ required: false, description: "Semantic version. Default: the published one." }),
      },
      resolve: async ({ id, publishedVersion }, { version }, { loaders }) => {
        const wanted = version ?? publishedVersion;
        return wanted === null ? null : loaders.version({ agentId: id, version: wanted });
      },
    }),
  );
  builder.objectField("Run", "agentVersion", (t) =>
    t.field({
      scope: "inherited",
      type: "AgentVersion",
      description: "The version of the agent that the run executes.",
      resolve: async ({ agentId, version }, _, { loaders }) =>
        requireFound("agentVersion", (await loaders.version({ agentId, version })) ?? undefined),
    }),
  );
}

function addDiff(builder: Builder): void {
  builder.queryField("agentDiff", (t) =>
    t.string({
      scope: "agents:read",
      narrowedKeys: true,
      description:
        "The differences between two texts of an agent, in the format of `diff -u` with three lines of context; empty if there are none. " +
        "Without `from` and `to`, the published version is compared with the draft.",
      args: {
        agentId: t.arg.id({ description: "The agent's id." }),
        from: t.arg.string({ required: false, description: "A version. Default: the published one." }),
        to: t.arg.string({
          required: false,
          description: "A version. Default: the draft, or the published version if there is no draft.",
        }),
      },
      resolve: (_, { agentId, from, to }, context) =>
        diffAgent(
          context.agents,
          callerOf(context),
          { agentId: idOf("agent", agentId), from: from ?? undefined, to: to ?? undefined },
          context.ending.signal,
        ),
    }),
  );
}
