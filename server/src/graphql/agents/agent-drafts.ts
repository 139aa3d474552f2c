/** Drafts: an agent's next version in the making. */
import type { Draft } from "../../agents/draft-store.ts";
import { readDraftForm } from "../../agents/drafts.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf, type Context } from "../context/context.ts";
import { fieldsOf } from "../context/form-fields.ts";

export function addAgentDrafts(builder: Builder): void {
  builder.objectType("AgentDraft", {
    description: "A definition that was saved but not published yet.",
    fields: (t) => ({
      definition: t.string({
        scope: "agents:read",
        description: "The text as it was saved. It may contain mistakes.",
        resolve: (draft, _, context) => textOf(draft, context),
      }),
      revision: t.exposeInt("revision", {
        scope: "inherited",
        description:
          "How many times a draft of this agent has been saved, including before the last publish. Pass it as `expectedRevision` to replace only this draft.",
      }),
      savedAt: t.expose("savedAt", { scope: "inherited", type: "DateTime", description: "When the draft was saved." }),
      savedBy: t.expose("savedBy", { scope: "agents:read", type: "Actor", description: "Who saved the draft." }),
      inputFields: t.field({
        scope: "agents:read",
        type: ["InputField"],
        description: "The draft's input schema as the fields of a form. Empty while it contains mistakes.",
        resolve: async (draft, _, context) => {
          const { organizationId } = callerOf(context);
          const text = textOf(draft, context);
          return fieldsOf(context, await readDraftForm(context.agents, organizationId, text, context.ending.signal));
        },
      }),
    }),
  });
  builder.objectField("Agent", "draft", (t) =>
    t.field({
      scope: "agents:read",
      type: "AgentDraft",
      nullable: true,
      description: "The unpublished draft. Null if there is none.",
      resolve: ({ id }, _, { loaders }) => loaders.draft(id),
    }),
  );
}

function textOf({ text }: Draft, { size }: Context): string {
  // The answer, or what it is made of, would be larger than an answer may be: this refuses it.
  if (text === null) size.charge(Number.POSITIVE_INFINITY);
  return text!;
}
