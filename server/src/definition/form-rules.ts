/** What the schema of forms cannot say: limits in order, defaults that fit, `required` names that are there. */
import type { JsonObject } from "../lib/json.ts";
import { hint } from "./did-you-mean.ts";
import { compileField } from "./field-check.ts";
import { choicesOf, propertiesOf, typeOfField } from "./form.ts";
import type { Found, Lint } from "./lint.ts";
import { quoted, type Path } from "./problem.ts";
import { isWhole, templateRule } from "./rules-expressions.ts";

export function formRule({ path, value, means }: Found, lint: Lint): void {
  const form = value as JsonObject;
  const properties = propertiesOf(form);
  const names = Object.keys(properties);
  const required = form["required"];
  for (const [index, name] of (Array.isArray(required) ? required : []).entries()) {
    if (typeof name !== "string" || names.includes(name)) continue;
    lint.report({
      path: [...path, "required", index],
      at: "value",
      message: `there is no field ${quoted(name)} under properties${hint(name, names)}`,
    });
  }
  for (const [name, field] of Object.entries(properties)) {
    const at = [...path, "properties", name];
    if (lint.isSound(at)) fieldRule(at, field, means === "approvalForm", lint);
  }
}

/** An approval's form may have expressions in its texts and defaults: it is made when the question is asked. */
export function approvalFormRule(found: Found, lint: Lint): void {
  formRule(found, lint);
  templateRule(found, lint);
}

const LIMIT_PAIRS = [
  ["minLength", "maxLength"],
  ["minItems", "maxItems"],
  ["minimum", "maximum"],
] as const;

function fieldRule(path: Path, field: JsonObject, isEvaluated: boolean, lint: Lint): void {
  const report = (key: string, message: string, at: "key" | "value" = "value"): void =>
    lint.report({ path: [...path, key], at, message });
  for (const [least, most] of LIMIT_PAIRS) {
    if ((field[least] as number) > (field[most] as number)) report(least, `"${least}" is more than "${most}"`);
  }
  const type = typeOfField(field);
  if (field["enum"] !== undefined && field["oneOf"] !== undefined)
    report("oneOf", "write enum or oneOf, not both", "key");
  if (type === "choice" && field["format"] !== undefined)
    report("format", "a choice has no format; leave it out", "key");
  const values = choicesOf(field)?.map((choice) => choice.value) ?? [];
  if (new Set(values).size < values.length) report("oneOf", "a choice stands here twice; keep one");
  const value = field["default"];
  const isExpression = isEvaluated && typeof value === "string" && isWhole(value);
  const refusal = value === undefined || isExpression ? undefined : compileField(field)(value);
  if (refusal) report("default", `the default does not fit: it ${refusal.message}`);
  if (type === "list") fieldRule([...path, "items"], field["items"] as JsonObject, isEvaluated, lint);
}
