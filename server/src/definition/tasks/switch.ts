import type { Json } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";
import { compileExpression, type Template } from "../../expressions/template.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { include } from "./program-parts.ts";
import { quote } from "../text/problem.ts";
import { list, object, ref } from "../schema/schema-words.ts";
import { nameOf } from "../rules/rules-tasks.ts";
import type { ExpressionText, FlowDirective } from "./written.ts";
import type { Kind } from "./kind.ts";

type WrittenCase = { when?: ExpressionText; then: FlowDirective };
type SwitchTask = { switch: Record<string, WrittenCase>[] };

/** A case without `when` is taken if no other is. */
export type Case = { name: string; when?: Template; then: string };

export const switchTask = {
  properties: {
    switch: list(
      {
        type: "object",
        minProperties: 1,
        maxProperties: 1,
        propertyNames: ref("taskName"),
        additionalProperties: object("a case", { when: ref("expression"), then: ref("then") }, ["then"]),
        "x-say": "write one case per list item, with its name before it",
      },
      { minItems: 1, "x-value": "cases", "x-say": "write at least one case" },
    ),
  },
  required: ["switch"],
  rules: { cases: casesRule },
  waitsFor: "nothing",
  mayLeadElsewhere: true,
  blocks: {},
  compile: (task: SwitchTask): { cases: Case[] } => ({ cases: task.switch.map(compileCase) }),
} satisfies Kind;

function compileCase(item: Record<string, WrittenCase>): Case {
  const [name, value] = Object.entries(item)[0]!;
  return { name, ...include("when", value.when, compileExpression), then: value.then };
}

function casesRule({ path, value }: Found, lint: Lint): void {
  const seen = new Set<string>();
  let fallback: string | undefined;
  for (const [index, item] of (value as Json[]).entries()) {
    const name = nameOf(item);
    if (name === undefined) continue;
    const report = (message: string): void => lint.report({ path: [...path, index, name], at: "key", message });
    if (seen.has(name)) report(`there is another case ${quote(name)} in this switch; give each its own name`);
    seen.add(name);
    const body = (item as Record<string, Json>)[name];
    if (!isObject(body) || Object.hasOwn(body, "when")) continue;
    if (fallback !== undefined)
      report(`only one case may be without when, and ${quote(fallback)} is; write a when here`);
    fallback ??= name;
  }
}
