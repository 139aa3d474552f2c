/** `call: approval:1.0.0@default`: a question to a person (docs/definitions.md). */
import { assigneeProblem, isRole, namesPeople, tidyAssignee } from "../definition/tasks/assignees.ts";
import { compileField } from "../definition/form/field-check.ts";
import { propertiesOf } from "../definition/form/form.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";

export type Question = {
  question: string;
  context?: Json;
  assignee?: string;
  /** E-mails in lower case and roles as `role:editor`, each once. Null: anyone may decide who has the scope. */
  assignees: readonly string[] | null;
  /** Those who started what is asked about may not decide. */
  excludesStarter: boolean;
  /** How many have to approve. */
  quorum: number;
  /** Whether they are mailed. */
  notifies: boolean;
  /** A flat schema like that of an agent's form. */
  form?: JsonObject;
  /** Durations of the DSL. */
  timeout?: Json;
  remindAfter?: Json;
  /** Those who are asked as well, after so long. */
  escalate?: { after: Json; assignees: string[] };
};

/** Makes the question from the evaluated `with`. Throws a `validation` error. */
export function prepareApproval(values: JsonObject): Question {
  const { question, context, assignee, form, timeout, remindAfter } = values;
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
    ...askedOf(values),
    ...(isObject(form) ? { form: withDefaults(form) } : {}),
    ...(timeout === undefined ? {} : { timeout }),
    ...(remindAfter === undefined ? {} : { remindAfter }),
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

/** Throws a `validation` error if there is nobody who could decide by what is written. */
function askedOf(
  values: JsonObject,
): Pick<Question, "assignees" | "excludesStarter" | "quorum" | "notifies" | "escalate"> {
  const { assignee, excludeStarter } = values;
  const one = typeof assignee === "string" && namesPeople(assignee) ? [tidyAssignee(assignee)] : [];
  const named = [...new Set([...one, ...assigneesOf(values["assignees"], "assignees")])];
  const quorum = values["quorum"] ?? 1;
  const escalate = escalationOf(values["escalate"], named);
  const all = new Set([...named, ...(escalate?.assignees ?? [])]);
  if (all.size > LIMITS.approvalAssignees)
    throw WorkflowError.of(
      "validation",
      `an approval has at most ${LIMITS.approvalAssignees} assignees, with those that it is escalated to`,
    );
  if (typeof quorum !== "number" || !Number.isInteger(quorum) || quorum < 1 || quorum > LIMITS.approvalQuorum)
    throw WorkflowError.of("validation", `\`quorum\` must be a whole number from 1 to ${LIMITS.approvalQuorum}`);
  if (all.size > 0 && all.size < quorum && ![...all].some(isRole))
    throw WorkflowError.of("validation", `${quorum} have to approve, and only ${all.size} are asked`);
  const assignees = named.length > 0 ? named : null;
  const notifies = values["notify"] === true;
  return { assignees, excludesStarter: excludeStarter === true, quorum, notifies, ...(escalate && { escalate }) };
}

function escalationOf(given: Json | undefined, named: readonly string[]): Question["escalate"] {
  if (!isObject(given)) return undefined;
  if (named.length === 0)
    throw WorkflowError.of(
      "validation",
      "anyone may decide, so there is nobody to escalate it from: `assignees` is missing",
    );
  const assignees = [...new Set(assigneesOf(given["assignees"], "escalate.assignees"))];
  return { after: given["after"] ?? null, assignees };
}

/** An empty list is a mistake, and so is null: anyone could decide. */
function assigneesOf(given: Json | undefined, what: string): string[] {
  if (given === undefined) return [];
  const invalid = (problem: string): WorkflowError => WorkflowError.of("validation", `\`${what}\` ${problem}`);
  if (!Array.isArray(given) || given.length === 0) throw invalid("must be a list of e-mails and roles");
  return given.map((each) => {
    if (typeof each !== "string") throw invalid("must be a list of texts");
    const problem = assigneeProblem(each);
    if (problem !== undefined) throw invalid(`has ${JSON.stringify(each)}: ${problem}`);
    return tidyAssignee(each);
  });
}
