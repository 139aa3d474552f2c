import { compileTemplate, type Template } from "../../expressions/template.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { templateRule } from "../rules/rules-expressions.ts";
import type { TemplateJson } from "./written.ts";
import type { Kind } from "./kind.ts";

type SetTask = { set: TemplateJson };

export const setTask = {
  properties: {
    set: {
      type: ["object", "string"],
      minProperties: 1,
      "x-value": "set",
      "x-say": 'write the data to set, or one expression such as "${ . + {done: true} }"',
    },
  },
  required: ["set"],
  rules: { set: setRule },
  waitsFor: "nothing",
  blocks: {},
  compile: ({ set }: SetTask): { value: Template } => ({ value: compileTemplate(set) }),
} satisfies Kind;

function setRule(found: Found, lint: Lint): void {
  const isPlainText = typeof found.value === "string" && !found.value.includes("${");
  if (isPlainText)
    lint.report({
      path: found.path,
      at: "value",
      message: 'a text alone cannot be set; write a key before it, or one expression such as "${ . }"',
    });
  else templateRule(found, lint);
}
