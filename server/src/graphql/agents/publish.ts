/** Saving and publishing what an agent does. */
import { publishAgent } from "../../agents/publish-agent.ts";
import { publishAgentDraft } from "../../agents/publish-agent-draft.ts";
import { publishAgentVersion } from "../../agents/publish-agent-version.ts";
import { saveAgentDraft } from "../../agents/save-agent-draft.ts";
import { idOf, optionalId } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { actingOf, callerOf } from "../context/context.ts";

export function addPublish(builder: Builder): void {
  addSaveDraft(builder);
  addPublishAgent(builder);
  addPublishDraft(builder);
  addPublishVersion(builder);
}

function addSaveDraft(builder: Builder): void {
  const input = builder.inputType("SaveAgentDraftInput", {
    description: "Input of `saveAgentDraft`.",
    fields: (t) => ({
      projectId: t.id({
        required: false,
        description:
          "The project. Default: the agent's project, or the one whose handle is the definition's namespace.",
      }),
      agentId: t.id({
        required: false,
        description: "The agent, which the text must name. Default: the agent that the text names.",
      }),
      definition: t.string({
        description:
          "YAML or JSON text. It may contain mistakes, but without `agentId` it must have `document.namespace` and `document.name`.",
      }),
      expectedRevision: t.int({
        required: false,
        description:
          "The `revision` of the draft to replace, or 0 if there is none. CONFLICT with the present draft if it was changed. Default: replace any draft.",
      }),
    }),
  });
  builder.mutationField("saveAgentDraft", (t) =>
    t.field({
      scope: "agents:write",
      narrowedKeys: true,
      type: "Agent",
      description:
        "Saves a text as the draft of the agent that it names, replacing the previous draft. Creates the agent, with status `draft`, if it does not exist. " +
        "The published version stays. Saving the text of the published version removes the draft.",
      args: { input: t.arg({ type: input, description: "Input of `saveAgentDraft`." }) },
      resolve: (_, { input: { projectId, agentId, definition, expectedRevision } }, context) =>
        saveAgentDraft(context.agents, callerOf(context), {
          ...optionalId("projectId", "project", projectId),
          ...optionalId("agentId", "agent", agentId),
          definition,
          expectedRevision: expectedRevision ?? undefined,
          signal: context.ending.signal,
        }),
    }),
  );
}

function addPublishAgent(builder: Builder): void {
  const input = builder.inputType("PublishAgentInput", {
    description: "Input of `publishAgent`.",
    fields: (t) => ({
      projectId: t.id({
        required: false,
        description: "The project. Default: the one whose handle is the definition's namespace.",
      }),
      definition: t.string({ description: "The definition, as YAML or JSON." }),
    }),
  });
  builder.mutationField("publishAgent", (t) =>
    t.field({
      scope: "agents:write",
      narrowedKeys: true,
      type: "Agent",
      description:
        "Publishes a definition as a version of the agent that it names. Creates the agent if it does not exist. " +
        "An existing version is published again if the text is the same; otherwise CONFLICT. Removes a draft with the same text.",
      args: { input: t.arg({ type: input, description: "Input of `publishAgent`." }) },
      resolve: (_, { input: { projectId, definition } }, context) =>
        publishAgent(context.agents, actingOf(context), {
          ...optionalId("projectId", "project", projectId),
          definition,
          signal: context.ending.signal,
        }),
    }),
  );
}

function addPublishDraft(builder: Builder): void {
  const input = builder.inputType("PublishAgentDraftInput", {
    description: "Input of `publishAgentDraft`.",
    fields: (t) => ({ agentId: t.id({ description: "The agent's id." }) }),
  });
  builder.mutationField("publishAgentDraft", (t) =>
    t.field({
      scope: "agents:write",
      narrowedKeys: true,
      type: "Agent",
      description:
        "Publishes an agent's draft, as `publishAgent` does with its text, and removes the draft. CONFLICT if there is no draft.",
      args: { input: t.arg({ type: input, description: "Input of `publishAgentDraft`." }) },
      resolve: (_, { input }, context) =>
        publishAgentDraft(context.agents, actingOf(context), {
          agentId: idOf("agent", input.agentId),
          signal: context.ending.signal,
        }),
    }),
  );
}

function addPublishVersion(builder: Builder): void {
  const input = builder.inputType("PublishAgentVersionInput", {
    description: "Input of `publishAgentVersion`.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent's id." }),
      version: t.string({ description: "The version to publish." }),
    }),
  });
  builder.mutationField("publishAgentVersion", (t) =>
    t.field({
      scope: "agents:write",
      narrowedKeys: true,
      type: "Agent",
      description: "Publishes an existing version of an agent again. Open runs keep the version that they have.",
      args: { input: t.arg({ type: input, description: "Input of `publishAgentVersion`." }) },
      resolve: (_, { input: { agentId, version } }, context) =>
        publishAgentVersion(context.agents, actingOf(context), { agentId: idOf("agent", agentId), version }),
    }),
  );
}
