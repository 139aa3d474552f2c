/** `call: approval:1.0.0@default`: a question to a person (docs/definitions.md). */
import { compileField } from "../definition/form/field-check.ts";
import { propertiesOf } from "../definition/form/form.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";

export type Question = {
  question: string;
  context?: Json;
  assignee?: string;
  /** A flat schema like that of an agent's form. */
  form?: JsonObject;
  /** A duration of the DSL. */
  timeout?: Json;
};

/** Makes the question from the evaluated `with`. Throws a `validation` error. */
export function prepareApproval(values: JsonObject): Question {
  const { question, context, assignee, form, timeout } = values;
  if (typeof question !== "string" || question.trim() === "")
    throw WorkflowError.of("validation", "`question` must be text");
  if (question.length > LIMITS.descriptionCharacters) {
    throw WorkflowError.of("validation", `\`question\` has at most ${LIMITS.descriptionCharacters} characters`);
  }
  if (assignee !== undefined && assignee !== null && typeof assignee !== "string") {
    throw WorkflowError.of("validation", "`assignee` must be text");
  }
  if (question.includes("\0") || assignee?.includes("\0"))
    throw WorkflowError.of("validation", "a text to be shown must not contain NUL");
  return {
    question,
    ...(context === undefined ? {} : { context }),
    ...(typeof assignee === "string" ? { assignee } : {}),
    ...(isObject(form) ? { form: withDefaults(form) } : {}),
    ...(timeout === undefined ? {} : { timeout }),
  };
}

/** A default may come from an expression: null means none, and one that the field would refuse is an error. */
function withDefaults(form: JsonObject): JsonObject {
  const properties: JsonObject = {};
  for (const [name, field] of Object.entries(propertiesOf(form))) {
    const { default: value, ...rest } = field;
    properties[name] = rest;
    if (value === undefined || value === null) continue;
    const refusal = compileField(rest)(value);
    if (refusal) throw WorkflowError.of("validation", `the default of ${name} ${refusal.message}`);
    properties[name] = field;
  }
  return { ...form, properties };
}
