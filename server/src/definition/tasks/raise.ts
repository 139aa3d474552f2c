import { compileTemplate, type Template } from "../../expressions/template.ts";
import { object, ref } from "../schema/schema-words.ts";
import type { ErrorDefinition } from "./written.ts";
import type { Kind, Named } from "./kind.ts";

type RaiseTask = { raise: { error: ErrorDefinition | string } };

export const raiseTask = {
  properties: {
    raise: object(
      "raise",
      {
        error: {
          type: ["string", "object"],
          "x-say": "write an error with type and status, or the name of one under use.errors",
          "x-choose": "type",
          oneOf: [
            { type: "string", "x-value": "use.errors" },
            { type: "object", ...ref("error") },
          ],
        },
      },
      ["error"],
    ),
  },
  required: ["raise"],
  waitsFor: "nothing",
  mayLeadElsewhere: true,
  blocks: {},
  compile: ({ raise }: RaiseTask, named: Named): { error: Template } => ({
    error: compileTemplate(named("errors", raise.error)),
  }),
} satisfies Kind;
