/** Checking a definition without publishing it. */
import { validateDefinition } from "../agents/validate-definition.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Builder } from "./builder.ts";
import { callerOf } from "./context.ts";

export function addDefinitions(builder: Builder): void {
  builder.objectType("DefinitionProblem", {
    description: "One mistake in a definition.",
    fields: (t) => ({
      path: t.exposeString("path", { description: "JSON pointer to the place, like `/do/0/fetch/with/endpoint`." }),
      line: t.exposeInt("line", { description: "From 1." }),
      column: t.exposeInt("column", { description: "From 1." }),
      message: t.exposeString("message", { description: "One sentence." }),
    }),
  });
  builder.objectType("DefinitionCheck", {
    description: "What is wrong with a definition.",
    fields: (t) => ({
      valid: t.exposeBoolean("valid", { description: "Whether it could be published." }),
      problems: t.expose("problems", {
        type: ["DefinitionProblem"],
        extensions: { cost: { most: LIMITS.definitionProblems } },
        description: "All mistakes found, in the order of the text.",
      }),
    }),
  });
  const input = builder.inputType("ValidateDefinitionInput", {
    description: "A definition to check.",
    fields: (t) => ({ definition: t.string({ description: "YAML or JSON text." }) }),
  });
  builder.mutationField("validateDefinition", (t) =>
    t.field({
      type: "DefinitionCheck",
      description: "Finds the mistakes of a definition; changes nothing.",
      args: { input: t.arg({ type: input, description: "A definition to check." }) },
      resolve: (_, { input: { definition } }, context) =>
        validateDefinition(context.agents, callerOf(context).organizationId, { definition }),
    }),
  );
}
