/** Checking a definition without publishing it. */
import { validateDefinition } from "../../agents/validate-definition.ts";
import { LIMITS } from "../../lib/limits.ts";
import { optionalId } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

export function addDefinitions(builder: Builder, enums: Enums): void {
  builder.objectType("DefinitionProblem", {
    description: "A problem of a definition.",
    fields: (t) => ({
      path: t.exposeString("path", {
        scope: "inherited",
        description: "JSON pointer to the place, such as `/do/0/fetch/with/endpoint`.",
      }),
      line: t.exposeInt("line", { scope: "inherited", description: "Counted from 1." }),
      column: t.exposeInt("column", { scope: "inherited", description: "Counted from 1." }),
      message: t.exposeString("message", { scope: "inherited", description: "The problem as a sentence." }),
      severity: t.expose("severity", {
        scope: "inherited",
        type: enums.ProblemSeverity,
        description: "Whether the problem prevents the definition from being published.",
      }),
    }),
  });
  builder.objectType("DefinitionCheck", {
    description: "The result of checking a definition.",
    fields: (t) => ({
      valid: t.exposeBoolean("valid", {
        scope: "inherited",
        description: "Whether the definition can be published: it has no error.",
      }),
      problems: t.expose("problems", {
        scope: "inherited",
        type: ["DefinitionProblem"],
        extensions: { cost: { most: LIMITS.definitionProblems } },
        description: "The problems found: errors, then warnings, each in the order of the text.",
      }),
    }),
  });
  builder.queryField("validateDefinition", (t) =>
    t.field({
      scope: "agents:read",
      narrowedKeys: true,
      type: "DefinitionCheck",
      description: "Checks a definition without publishing it.",
      args: {
        definition: t.arg.string({ description: "YAML or JSON text." }),
        projectId: t.arg.id({
          required: false,
          description: "The project that the definition's namespace must name.",
        }),
      },
      resolve: (_, { definition, projectId }, context) =>
        validateDefinition(context.agents, callerOf(context), {
          definition,
          ...optionalId("projectId", "project", projectId),
          signal: context.ending.signal,
        }),
    }),
  );
}
