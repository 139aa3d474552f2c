import type { JsonObject } from "../../lib/json/json.ts";
import { compileTemplate, type Template } from "../../expressions/template.ts";
import { isDateTime } from "../../lib/calendar.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { expressionRule, isWhole } from "../rules/rules-expressions.ts";
import { object, refused, text, type Properties } from "../schema/schema-words.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";
import type { Kind } from "./kind.ts";

/** A name of at most 255 characters, or an expression that yields one. */
export const attribute = (what: string): SchemaObject =>
  text({ minLength: 1, "x-value": "template", "x-say": `write the event's ${what} as a text, or an expression` });

type EmitTask = { emit: { event: { with: JsonObject } } };

const ATTRIBUTES: Properties = {
  id: attribute("id"),
  source: attribute("source"),
  type: attribute("type"),
  time: text({ "x-value": "eventTime", "x-say": "write an RFC 3339 time, or an expression" }),
  subject: attribute("subject"),
  data: { "x-value": "template" },
  datacontenttype: {
    type: "string",
    enum: ["application/json"],
    "x-say": "write application/json, or leave it out: an event's data is JSON",
  },
  dataschema: refused("dataschema is not kept: an event's data has no schema here; leave it out"),
};

/** Publishes an event. */
export const emitTask = {
  properties: {
    emit: object("emit", { event: object("event", { with: object("the event", ATTRIBUTES, ["type"]) }, ["with"]) }, [
      "event",
    ]),
  },
  required: ["emit"],
  rules: { eventTime: eventTimeRule },
  waitsFor: "nothing",
  blocks: {},
  compile: ({ emit }: EmitTask): { arguments: Template } => ({ arguments: compileTemplate(emit.event.with) }),
} satisfies Kind;

function eventTimeRule(found: Found, lint: Lint): void {
  const { path, value } = found;
  if (isWhole(value as string)) return expressionRule(found, lint);
  if (isDateTime(value as string)) return;
  lint.report({ path, at: "value", message: "write an RFC 3339 time with a zone, like 2026-11-21T08:30:00Z" });
}
