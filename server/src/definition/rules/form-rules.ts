/** Rules that the schema of forms cannot express: limits in order, defaults that fit, `required` names that exist. */
import { compareNumbers } from "../../lib/json/exact-number.ts";
import { isNumber, type Json, type JsonObject } from "../../lib/json/json.ts";
import { hint } from "../../lib/did-you-mean.ts";
import { compileField } from "../form/field-check.ts";
import { choicesOf, propertiesOf, typeOfField } from "../form/form.ts";
import type { Found, Lint } from "./lint.ts";
import { quote, type Path } from "../text/problem.ts";

/** `isEvaluated`: whether a default is an expression, which cannot be checked yet. */
export function formRule(
  { path, value }: Found,
  lint: Lint,
  isEvaluated: (value: Json) => boolean = () => false,
): void {
  const form = value as JsonObject;
  const properties = propertiesOf(form);
  const names = Object.keys(properties);
  const required = form["required"];
  for (const [index, name] of (Array.isArray(required) ? required : []).entries()) {
    if (lint.isFull()) return;
    if (typeof name !== "string" || names.includes(name)) continue;
    lint.report({
      path: [...path, "required", index],
      at: "value",
      message: `there is no field ${quote(name)} under properties${hint(name, names)}`,
    });
  }
  for (const [name, field] of Object.entries(properties)) {
    const at = [...path, "properties", name];
    if (lint.isSound(at)) fieldRule(at, field, isEvaluated, lint);
  }
}

const LIMIT_PAIRS = [
  ["minLength", "maxLength"],
  ["minItems", "maxItems"],
  ["minimum", "maximum"],
] as const;

function fieldRule(path: Path, field: JsonObject, isEvaluated: (value: Json) => boolean, lint: Lint): void {
  const report = (key: string, message: string, at: "key" | "value" = "value"): void =>
    lint.report({ path: [...path, key], at, message });
  for (const [least, most] of LIMIT_PAIRS) {
    const [low, high] = [field[least], field[most]];
    const isTooMuch = isNumber(low) && isNumber(high) && compareNumbers(low, high) > 0;
    if (isTooMuch) report(least, `"${least}" is more than "${most}"`);
  }
  const type = typeOfField(field);
  if (field["enum"] !== undefined && field["oneOf"] !== undefined)
    report("oneOf", "write enum or oneOf, not both", "key");
  if (type === "choice" && field["format"] !== undefined)
    report("format", "a choice has no format; leave it out", "key");
  const values = choicesOf(field)?.map((choice) => choice.value) ?? [];
  if (new Set(values).size < values.length) report("oneOf", "a choice is listed twice; keep one");
  const value = field["default"];
  const refusal = value === undefined || isEvaluated(value) ? undefined : compileField(field)(value);
  if (refusal) report("default", `the default does not fit: it ${refusal.message}`);
  if (type === "list") fieldRule([...path, "items"], field["items"] as JsonObject, isEvaluated, lint);
}
