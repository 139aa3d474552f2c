import type { JsonObject } from "../../lib/json/json.ts";
import { parseMailbox } from "../../lib/mail/email-address.ts";
import { LIMITS } from "../../lib/limits.ts";
import { compileTemplate, type Template } from "../../expressions/template.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { templateRule } from "../rules/rules-expressions.ts";
import { text, type Properties } from "../schema/schema-words.ts";
import type { Kind, Named } from "./kind.ts";

type EmailTask = { call: string; with: JsonObject };

const template = text({ "x-value": "template" });
const ADDRESSES = {
  type: ["string", "array"],
  "x-value": "emailAddresses",
  "x-say": "write an address, a list of addresses, or one expression that yields them",
};

/** Sends a mail by the operator's SMTP server. */
export const emailTask = {
  call: "email:1.0.0@default",
  properties: {
    to: ADDRESSES,
    cc: ADDRESSES,
    bcc: ADDRESSES,
    replyTo: ADDRESSES,
    subject: text({ minLength: 1, "x-value": "template" }),
    text: template,
    html: template,
    attachments: {
      type: ["string", "array"],
      maxItems: LIMITS.emailAttachments,
      "x-value": "template",
      "x-say": "write a list of attachments, each with name, type and content, or one expression that yields it",
    },
  } satisfies Properties,
  required: ["to", "subject"],
  rules: { emailAddresses: addressesRule },
  waitsFor: "nothing",
  blocks: {},
  isEffect: true,
  compile: (task: EmailTask, _: Named, reference: string): { arguments: Template } => ({
    arguments: compileTemplate(task.with, (path) =>
      path[0] === "subject" || path[0] === "text" || path[0] === "html"
        ? { place: `${reference}/with/${path[0]}`, so: "so nothing was sent", allowsEmpty: path[0] !== "subject" }
        : undefined,
    ),
  }),
} satisfies Kind;

/** Addresses that are written out are checked when the agent is published. */
function addressesRule(found: Found, lint: Lint): void {
  templateRule(found, lint);
  const { path, value } = found;
  const isList = Array.isArray(value);
  for (const [index, address] of (isList ? value : [value]).entries())
    if (typeof address === "string" && !address.includes("${") && !parseMailbox(address))
      lint.report({
        path: isList ? [...path, index] : path,
        at: "value",
        message: "this is no e-mail address; write ada@example.com or Ada <ada@example.com>",
      });
}
