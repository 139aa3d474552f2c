/** A run's input from a sentence, to be reviewed. */
import { draftRunInput } from "../../run-drafts/draft-run-input.ts";
import { encodeId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { optionalId } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf, endWithCredential } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addRunDrafts(builder: Builder, enums: Enums): void {
  addDraftField(builder);
  addDraft(builder, enums);
  addDraftRunInput(builder);
}

function addDraftField(builder: Builder): void {
  builder.objectType("RunDraftField", {
    description: "What a sentence says about a field.",
    fields: (t) => ({
      name: t.exposeString("name", { scope: "inherited", description: "The field's key in the input." }),
      value: t.expose("value", {
        scope: "inherited",
        type: "JSON",
        nullable: true,
        description: "The value, as in `RunDraft.input`. Null if it is uncertain.",
      }),
      source: t.exposeString("source", { scope: "inherited", description: "The words that it was read from." }),
      sure: t.exposeBoolean("sure", {
        scope: "inherited",
        description: "Whether the value was certain enough to use. If not, a person fills in the field.",
      }),
      reason: t.exposeString("reason", {
        scope: "inherited",
        nullable: true,
        description: "Why the value is uncertain, as a sentence.",
      }),
    }),
  });
}

function addDraft(builder: Builder, enums: Enums): void {
  builder.objectType("RunDraft", {
    description:
      "A run's input as it was read from a sentence. Nothing starts until a person has reviewed it and calls `runAgent`.",
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("runDraft", id),
        description: "The draft's id, `draft_…`.",
      }),
      agent: t.field({
        scope: "inherited",
        type: "Agent",
        nullable: true,
        description: "The agent that was given or found. Null if no agent fits the sentence, or more than one does.",
        resolve: ({ agent }) => agent,
      }),
      agentSource: t.exposeString("agentSource", {
        scope: "inherited",
        nullable: true,
        description: "The words by which the agent was found. Null if `agentId` was given, or no agent was found.",
      }),
      input: t.expose("input", {
        scope: "inherited",
        type: "JSON",
        description: "The fields that were understood, as an object.",
      }),
      fields: t.field({
        scope: "inherited",
        type: ["RunDraftField"],
        description: "Every field that the sentence says something about, in the form's order.",
        extensions: { cost: { most: LIMITS.formFields } },
        resolve: ({ fields }) => fields,
      }),
      missing: t.exposeStringList("missing", {
        scope: "inherited",
        description: "The names of the required fields that have no value.",
      }),
      unread: t.exposeStringList("unread", {
        scope: "inherited",
        description: "The parts of the sentence that were not used.",
      }),
      reader: t.expose("reader", {
        scope: "inherited",
        type: enums.RunDraftReader,
        description: "Who read the sentence.",
      }),
      modelProblem: t.expose("modelProblem", {
        scope: "inherited",
        type: enums.LlmProblem,
        nullable: true,
        description: "Why the language model did not read it. Null if it did, and if none is configured.",
      }),
      text: t.exposeString("text", { scope: "inherited", description: "The sentence." }),
      expiresAt: t.expose("expiresAt", {
        scope: "inherited",
        type: "DateTime",
        description: `When the draft expires: ${LIMITS.runDraftHours} hours after it was created.`,
      }),
    }),
  });
}

function addDraftRunInput(builder: Builder): void {
  const input = builder.inputType("DraftInput", {
    description: "Input of `draftRunInput`.",
    fields: (t) => ({
      agentId: t.id({
        required: false,
        description: "The agent. Default: the active agent that the sentence names.",
      }),
      text: t.string({
        description: `What to do, in at most ${LIMITS.runDraftCharacters} characters: "the report of last month for Europe". In English, unless a language model is configured.`,
      }),
      timezone: t.string({ description: "The IANA time zone of the days in the sentence, such as `Europe/Berlin`." }),
    }),
  });
  builder.mutationField("draftRunInput", (t) =>
    t.field({
      scope: "runs:start",
      narrowedKeys: true,
      type: "RunDraft",
      description: "Reads a run's input from a sentence. Starts nothing. Uncertain values stay empty and are marked.",
      args: { input: t.arg({ type: input, description: "Input of `draftRunInput`." }) },
      resolve: async (_, { input: { agentId, text, timezone } }, context) => {
        // Rules answer at once.
        using _watched = endWithCredential(context, "there is no draft");
        return await draftRunInput(
          context.runDrafts,
          callerOf(context),
          {
            ...optionalId("agentId", "agent", agentId),
            text,
            timezone,
          },
          context.ending.signal,
        );
      },
    }),
  );
}
