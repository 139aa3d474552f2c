import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { compileTemplate, type Template } from "../../expressions/template.ts";
import { formRule } from "../rules/form-rules.ts";
import type { Found, Lint } from "../rules/lint.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";
import { boolean, fixed, object, ref, text, type Properties } from "../schema/schema-words.ts";
import { isWhole, oneLineRule, templateRule } from "../rules/rules-expressions.ts";
import { valueAt } from "../text/problem.ts";
import { assigneeProblem, isRole, namesPeople, tidyAssignee } from "./assignees.ts";
import type { Kind, Named } from "./kind.ts";

type ApprovalTask = { call: string; with: JsonObject };

const ASSIGNEES: SchemaObject = {
  type: ["array", "string"],
  items: text({ minLength: 1, "x-value": "assignee" }),
  minItems: 1,
  maxItems: LIMITS.approvalAssignees,
  "x-value": "assignees",
  "x-say": `write a list of 1 to ${LIMITS.approvalAssignees} e-mails of members and roles such as role:editor, or one expression that yields it`,
};

/** Who is asked, wherever a person is. */
export const ASKED: Properties = {
  assignees: ASSIGNEES,
  excludeStarter: boolean,
  quorum: {
    type: ["integer", "string"],
    minimum: 1,
    maximum: LIMITS.approvalQuorum,
    "x-value": "approvalQuorum",
    "x-say": `write how many have to approve, from 1 to ${LIMITS.approvalQuorum}, or one expression that yields it`,
  },
  notify: { ...boolean, "x-value": "notify" },
  remindAfter: ref("duration"),
  escalate: {
    ...object("escalate", { after: ref("duration"), assignees: ASSIGNEES }, ["after", "assignees"]),
    "x-value": "escalation",
  },
};

/** The linter's rules for their meanings. */
export const ASKED_RULES = {
  assignee: assigneeRule,
  assignees: assigneesRule,
  approvalQuorum: quorumRule,
  notify: notifyRule,
  escalation: escalationRule,
};

export const approvalTask = {
  call: "approval:1.0.0@default",
  properties: {
    question: text({ minLength: 1, "x-value": "template", "x-say": "write the question to the person who decides" }),
    context: { "x-value": "template" },
    assignee: text({ "x-value": "assigneeOrNote" }),
    ...ASKED,
    form: { ...ref("form"), "x-value": "approvalForm" },
    timeout: ref("duration"),
    onReject: fixed(["fail", "continue"]),
  },
  required: ["question"],
  rules: { approvalForm: approvalFormRule, assigneeOrNote: noteRule, ...ASKED_RULES },
  waitsFor: "person",
  blocks: {},
  compile: (task: ApprovalTask, _: Named, reference: string): { arguments: Template } => ({
    arguments: compileTemplate(task.with, (path) =>
      path[0] === "question"
        ? { place: `${reference}/with/question`, so: "so nobody was asked", allowsEmpty: true }
        : undefined,
    ),
  }),
} satisfies Kind;

/** An approval's form may have expressions in its texts and defaults: it is built when the question is asked. */
function approvalFormRule(found: Found, lint: Lint): void {
  formRule(found, lint, (value) => typeof value === "string" && isWhole(value));
  templateRule(found, lint);
}

function assigneeRule(found: Found, lint: Lint): void {
  const { path, value } = found;
  if (typeof value !== "string" || value.includes("${")) return templateRule(found, lint);
  const message = assigneeProblem(value);
  if (message !== undefined) lint.report({ path, at: "value", message });
}

/** A text that is no e-mail and no role binds nobody: definitions have had such notes for long. */
function noteRule(found: Found, lint: Lint): void {
  if (typeof found.value === "string" && namesPeople(found.value)) assigneeRule(found, lint);
  else templateRule(found, lint);
}

/** A text is an expression that yields the whole list. */
function assigneesRule(found: Found, lint: Lint): void {
  if (typeof found.value !== "string") return;
  if (isWhole(found.value)) oneExpression(found, lint);
  else
    lint.report({
      path: found.path,
      at: "value",
      message: "write a list of e-mails and roles here, or one expression that yields it",
    });
}

function oneExpression(found: Found, lint: Lint): void {
  oneLineRule(found, lint);
  templateRule(found, lint);
}

/** Only those who are named are mailed. */
function notifyRule({ path, value }: Found, lint: Lint): void {
  const asked: Json = valueAt(lint.root, path.slice(0, -1)) ?? null;
  if (value !== true || !isObject(asked) || asked["assignees"] !== undefined) return;
  const { assignee } = asked;
  if (typeof assignee === "string" && (assignee.includes("${") || namesPeople(assignee))) return;
  lint.report({ path, at: "value", message: "nobody is mailed: write in `assignees` who is asked" });
}

/** Others can join those who are asked. Anyone may decide what is for nobody: others would only be fewer. */
function escalationRule({ path }: Found, lint: Lint): void {
  const asked: Json = valueAt(lint.root, path.slice(0, -1)) ?? null;
  if (!isObject(asked) || asked["assignees"] !== undefined) return;
  const { assignee } = asked;
  if (typeof assignee === "string" && (assignee.includes("${") || namesPeople(assignee))) return;
  const message = "anyone may decide this, so there is nobody to escalate it from: write assignees beside it";
  lint.report({ path, at: "key", message });
}

/** Where all who are asked are written as e-mails, it shows how many there are. */
function quorumRule(found: Found, lint: Lint): void {
  const { path, value } = found;
  if (typeof value === "string") {
    if (isWhole(value)) return oneExpression(found, lint);
    return lint.report({ path, at: "value", message: "write a whole number, or one expression that yields it" });
  }
  const asked: Json = valueAt(lint.root, path.slice(0, -1)) ?? null;
  const people = isObject(asked) ? writtenPeople(asked) : undefined;
  if (people === undefined || (value as number) <= people) return;
  const message = `${value as number} have to approve, and only ${people === 1 ? "one person is" : `${people} people are`} asked`;
  lint.report({ path, at: "value", message });
}

/** How many people are named; undefined if that depends on roles or expressions, or anyone may decide. */
function writtenPeople({ assignee, assignees = [], escalate }: JsonObject): number | undefined {
  const later = isObject(escalate ?? null) ? ((escalate as JsonObject)["assignees"] ?? []) : [];
  if (!Array.isArray(assignees) || !Array.isArray(later)) return undefined;
  const one = typeof assignee === "string" && (assignee.includes("${") || namesPeople(assignee)) ? [assignee] : [];
  const all = [...one, ...assignees, ...later];
  const isFixed = all.every((each) => typeof each === "string" && !each.includes("${") && !isRole(tidyAssignee(each)));
  if (!isFixed || one.length + assignees.length === 0) return undefined;
  return new Set(all.map((each) => tidyAssignee(each as string))).size;
}
