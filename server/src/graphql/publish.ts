/** Saving and publishing what an agent does. */
import { publishAgent } from "../agents/publish-agent.ts";
import { publishDraft } from "../agents/publish-draft.ts";
import { publishVersion } from "../agents/publish-version.ts";
import { saveAgentDraft } from "../agents/save-agent-draft.ts";
import { idOf, optionalId } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf } from "./context.ts";

export function addPublish(builder: Builder): void {
  addSaveDraft(builder);
  addPublishAgent(builder);
  addPublishDraft(builder);
  addPublishVersion(builder);
}

function addSaveDraft(builder: Builder): void {
  const input = builder.inputType("SaveAgentDraftInput", {
    description: "A text to keep.",
    fields: (t) => ({
      projectId: t.id({ description: "The project; its handle is the definition's namespace." }),
      agentId: t.id({
        required: false,
        description: "The agent that the text must be of; without it the one that it names.",
      }),
      definition: t.string({
        description: "YAML or JSON text. It may be broken, but must have `document.namespace` and `document.name`.",
      }),
    }),
  });
  builder.mutationField("saveAgentDraft", (t) =>
    t.field({
      type: "Agent",
      description:
        "Keeps a text as the draft of the agent it names, in place of the one before, and makes the agent, with status `draft`, when there is none. " +
        "What is published stays; with the text of the published version there is no draft any more.",
      args: { input: t.arg({ type: input, description: "A text to keep." }) },
      resolve: (_, { input: { projectId, agentId, definition } }, context) =>
        saveAgentDraft(context.agents, callerOf(context), {
          projectId: idOf("project", projectId),
          ...optionalId("agentId", "agent", agentId),
          definition,
        }),
    }),
  );
}

function addPublishAgent(builder: Builder): void {
  const input = builder.inputType("PublishAgentInput", {
    description: "A definition and where it belongs.",
    fields: (t) => ({
      projectId: t.id({ description: "The project; its handle is the definition's namespace." }),
      definition: t.string({ description: "YAML or JSON text." }),
    }),
  });
  builder.mutationField("publishAgent", (t) =>
    t.field({
      type: "Agent",
      description:
        "Makes a definition the published version of the agent it names, and makes the agent when there is none. " +
        "A version that exists is published again when the text is the same, CONFLICT otherwise. A draft of the same text is done with.",
      args: { input: t.arg({ type: input, description: "A definition and where it belongs." }) },
      resolve: (_, { input: { projectId, definition } }, context) =>
        publishAgent(context.agents, callerOf(context), { projectId: idOf("project", projectId), definition }),
    }),
  );
}

function addPublishDraft(builder: Builder): void {
  const input = builder.inputType("PublishDraftInput", {
    description: "Whose draft.",
    fields: (t) => ({ agentId: t.id({ description: "The agent." }) }),
  });
  builder.mutationField("publishDraft", (t) =>
    t.field({
      type: "Agent",
      description:
        "Publishes an agent's draft, as `publishAgent` with its text does; then it has none any more. CONFLICT when it has none.",
      args: { input: t.arg({ type: input, description: "Whose draft." }) },
      resolve: (_, { input }, context) =>
        publishDraft(context.agents, callerOf(context), { agentId: idOf("agent", input.agentId) }),
    }),
  );
}

function addPublishVersion(builder: Builder): void {
  const input = builder.inputType("PublishVersionInput", {
    description: "Which version of an agent.",
    fields: (t) => ({
      agentId: t.id({ description: "The agent." }),
      version: t.string({ description: "One of its versions." }),
    }),
  });
  builder.mutationField("publishVersion", (t) =>
    t.field({
      type: "Agent",
      description:
        "Makes a version that an agent has the published one again. Its open runs keep the version they have.",
      args: { input: t.arg({ type: input, description: "Which version of an agent." }) },
      resolve: (_, { input: { agentId, version } }, context) =>
        publishVersion(context.agents, callerOf(context), { agentId: idOf("agent", agentId), version }),
    }),
  );
}
