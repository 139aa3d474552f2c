/** `listen`: waits for events (DSL reference "Listen", "Event Consumption Strategy", "Event Filter"). */
import { LIMITS } from "../../lib/limits.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import { compileExpression, compileTemplate, expressionIn, type Template } from "../../expressions/template.ts";
import { checkFilter } from "../../lib/events/event-filter.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { expressionRule, templateRule } from "../rules/rules-expressions.ts";
import { fixed, list, object, ref, text, variable } from "../schema/schema-words.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";
import { compileTemplateOrExpression, include } from "./program-parts.ts";
import { attribute } from "./emit.ts";
import { variableName, type Kind, type Variable } from "./kind.ts";
import type { ExpressionText, InnerList } from "./written.ts";

type Correlations = Record<string, { from: ExpressionText; expect?: string }>;
type WrittenFilter = { with: JsonObject; correlate?: Correlations };
type Strategy = { one?: WrittenFilter; any?: WrittenFilter[]; all?: WrittenFilter[]; until?: string | Strategy };
type ListenTask = {
  listen: { to: Strategy; read?: Read };
  foreach?: { item?: string; at?: string; do?: InnerList; output?: { as?: Json } };
};

/** `data`: the event's data; `envelope`: with its attributes, as a CloudEvent; `raw`: the data as text. */
type Read = "data" | "envelope" | "raw";

/** An event that a task listens to. Its values are in the task's arguments, in the same order. */
export type EventFilter = {
  /** A condition on the event's data. */
  condition?: Template;
  correlations: readonly Correlation[];
};
export type Correlation = {
  name: string;
  from: Template;
  /** The field of the data, if `from` is only a path to one. */
  path?: readonly string[];
};

/** How many of the filters must have taken an event: the one; any of them; each of them. */
export type Takes = "one" | "any" | "all";
type Listen = {
  takes: Takes;
  filters: readonly EventFilter[];
  /** Until a condition on what was taken, or until these were taken. */
  until?: { condition: Template } | { takes: Takes; filters: readonly EventFilter[] };
  read: Read;
  /** The names of the variables that hold what was read and its position, from 0. */
  item: string;
  at: string;
  /** Makes of each result an item of the output. */
  outputAs?: Template;
  /** The values of the filters, as a list; those of `until` after them. */
  arguments: Template;
};

const ITEM: Variable = { at: ["foreach", "item"], otherwise: "item", knownIn: [["foreach"]] };
const AT: Variable = { at: ["foreach", "at"], otherwise: "index", knownIn: [["foreach"]] };

const CORRELATION_NAME = `^[A-Za-z_]\\w{0,${LIMITS.identifierCharacters - 1}}$`;

const FILTER: SchemaObject = object(
  "an event filter",
  {
    with: object(
      "the event's attributes",
      {
        type: attribute("type"),
        source: attribute("source"),
        subject: attribute("subject"),
        id: attribute("id"),
        data: {
          "x-value": "eventData",
          "x-say":
            "write for each field of the data the values that it accepts, or a condition on the data as an expression",
        },
      },
      ["type"],
    ),
    correlate: {
      type: "object",
      maxProperties: LIMITS.eventFilterFields,
      propertyNames: { type: "string", pattern: CORRELATION_NAME, "x-say": "write a name of letters and digits" },
      additionalProperties: object(
        "a correlation",
        { from: ref("expression"), expect: text({ "x-value": "template" }) },
        ["from"],
      ),
    },
  },
  ["with"],
);
const FILTERS = list(FILTER, {
  minItems: 1,
  maxItems: LIMITS.eventFiltersPerTask,
  "x-say": `write 1 to ${LIMITS.eventFiltersPerTask} events, each as \`- with:\` with its type`,
});

const one = object("to", { one: FILTER }, ["one"]);
const all = object("to", { all: FILTERS }, ["all"]);
const any = (more: Record<string, SchemaObject>): SchemaObject => object("to", { any: FILTERS, ...more }, ["any"]);
const say = "write one, any or all";
const UNTIL: SchemaObject = {
  "x-value": "until",
  "x-choose": "type",
  "x-say": "write a condition on the list of what was taken, or the events that end it under one, any or all",
  oneOf: [text(), { type: "object", "x-choose": "key", "x-say": say, oneOf: [one, any({}), all] }],
};

export const listenTask = {
  properties: {
    listen: object(
      "listen",
      {
        to: { type: "object", "x-choose": "key", "x-say": say, oneOf: [one, any({ until: UNTIL }), all] },
        read: fixed(["data", "envelope", "raw"]),
      },
      ["to"],
    ),
    foreach: object("foreach", {
      item: variable,
      at: variable,
      do: ref("tasks"),
      output: object("output", { as: ref("fromOrAs") }),
    }),
  },
  required: ["listen"],
  rules: { eventData: eventDataRule, until: untilRule },
  variables: [ITEM, AT],
  waitsFor: "event",
  blocks: { do: { at: ["foreach", "do"], way: "items", isOptional: true } },
  compile: (task: ListenTask): Listen => {
    const { to, read } = task.listen;
    const { takes, filters: written } = strategyOf(to);
    const { until } = to;
    const ends = isObject(until) ? strategyOf(until) : undefined;
    return {
      takes,
      filters: written.map(compileFilter),
      ...(typeof until === "string" && { until: { condition: compileExpression(until) } }),
      ...(ends && { until: { takes: ends.takes, filters: ends.filters.map(compileFilter) } }),
      read: read ?? "data",
      item: variableName(task, ITEM),
      at: variableName(task, AT),
      ...include("outputAs", task.foreach?.output?.as, compileTemplateOrExpression),
      arguments: compileTemplate([...written, ...(ends?.filters ?? [])].map(valuesOf)),
    };
  },
} satisfies Kind;

function strategyOf({ one, any, all }: Strategy): { takes: Takes; filters: readonly WrittenFilter[] } {
  if (one) return { takes: "one", filters: [one] };
  return any ? { takes: "any", filters: any } : { takes: "all", filters: all! };
}

const isCondition = (data: Json | undefined): data is string =>
  typeof data === "string" && expressionIn(data) !== undefined;

function compileFilter({ with: { data }, correlate = {} }: WrittenFilter): EventFilter {
  return {
    ...(isCondition(data) && { condition: compileExpression(data) }),
    correlations: Object.entries(correlate).map(([name, { from }]) => ({
      name,
      from: compileExpression(from),
      ...include("path", pathIn(from), (path) => path),
    })),
  };
}

const PATH = /^(?:\.[A-Za-z_]\w*)+$/;
/** Attributes of the event, which its data can't hide. */
export const ATTRIBUTES: ReadonlySet<string> = new Set([
  "specversion",
  "id",
  "source",
  "type",
  "time",
  "subject",
  "datacontenttype",
  "data",
]);

/** `.orderId` or `.data.orderId` as names. */
function pathIn(from: ExpressionText): string[] | undefined {
  const inner = expressionIn(from) ?? from.trim();
  if (!PATH.test(inner)) return undefined;
  const [first, ...rest] = inner.slice(1).split(".") as [string, ...string[]];
  if (first === "data") return rest.length > 0 ? rest : undefined;
  return ATTRIBUTES.has(first) ? undefined : [first, ...rest];
}

/** The part of a filter that is known before an event comes. */
function valuesOf({ with: { data, ...attributes }, correlate = {} }: WrittenFilter): JsonObject {
  const expected = Object.entries(correlate).flatMap(([name, { expect }]) =>
    expect === undefined ? [] : [[name, expect]],
  );
  return {
    ...attributes,
    ...(data !== undefined && { data: isCondition(data) ? { condition: expressionIn(data)! } : { fields: data } }),
    ...(expected.length > 0 && { expect: Object.fromEntries(expected) as JsonObject }),
  };
}

/** A condition on the data, or values of its fields, of which some may be expressions. */
function eventDataRule(found: Found, lint: Lint): void {
  const { path, value } = found;
  if (isCondition(value)) return expressionRule(found, lint);
  if (!isObject(value))
    return lint.report({
      path,
      at: "value",
      message:
        'data is for each field the values that it accepts, such as {status: [paid]}, or a condition on it, such as ${ .status == "paid" }',
    });
  const known = fieldsOf(value, (item) => !isCondition(item));
  checkFilter(known, {
    add: (key, _, message) =>
      lint.report({ path, at: "value", message: `${key.replace(/^filter\.?/, "")} ${message}`.trim() }),
  });
  templateRule(found, lint);
}

/** As a filter of triggers has it: one value is a list of one. */
export function fieldsOf(fields: JsonObject, isKept: (value: Json) => boolean = () => true): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, values]): [string, Json][] => {
      if (isScalar(values)) return isKept(values) ? [[field, [values]]] : [];
      if (!Array.isArray(values)) return [[field, values]];
      const kept = values.filter((value) => isKept(value));
      return kept.length === 0 && values.length > 0 ? [] : [[field, kept]];
    }),
  );
}

function untilRule(found: Found, lint: Lint): void {
  if (typeof found.value === "string") expressionRule(found, lint);
}
