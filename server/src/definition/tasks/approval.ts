import type { JsonObject } from "../../lib/json/json.ts";
import { compileTemplate, type Template } from "../../expressions/template.ts";
import { formRule } from "../rules/form-rules.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { fixed, ref, text } from "../schema/schema-words.ts";
import { isWhole, templateRule } from "../rules/rules-expressions.ts";
import type { Kind, Named } from "./kind.ts";

type ApprovalTask = { call: string; with: JsonObject };

export const approvalTask = {
  call: "approval:1.0.0@default",
  properties: {
    question: text({ minLength: 1, "x-value": "template", "x-say": "write the question to the person who decides" }),
    context: { "x-value": "template" },
    assignee: text({ "x-value": "template" }),
    form: { ...ref("form"), "x-value": "approvalForm" },
    timeout: ref("duration"),
    onReject: fixed(["fail", "continue"]),
  },
  required: ["question"],
  rules: { approvalForm: approvalFormRule },
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
