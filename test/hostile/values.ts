/** Values at the edges of what the API takes, as JSON and as GraphQL literals, by the type that is asked for. */
import {
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
} from "graphql";
import { DEFINITIONS } from "../agents.ts";
import type { Random } from "../faults/random.ts";
import { NAUGHTY } from "./naughty.ts";

/** Ids of the caller's organization and of another, by their kind's prefix, and cursors. */
export type Ids = Readonly<Record<string, readonly string[]>>;

/** `literal`: as it stands in a document. */
export type Value = { json: unknown; literal: string };

type Slot = { name: string; ids: Ids };

const INTEGERS = [
  0,
  1,
  2,
  3,
  30,
  49,
  50,
  199,
  200,
  201,
  1000,
  1001,
  2 ** 31 - 1,
  -1,
  -(2 ** 31),
  2 ** 31,
  2 ** 53,
  1.5,
];
const TIMES = ["2026-11-22T10:00:00Z", "2026-11-22T10:00:00+14:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"];
const WRONG_TIMES = ["2026-02-30T00:00:00Z", "+275760-09-13T00:00:00Z", "292278994-08-17T07:12:55Z", "yesterday", ""];
const LONG = [1_000, 20_000, 100_000];

/** Which id an argument wants, by its name. */
const WANTED: [RegExp, string][] = [
  [/^runId$/, "run"],
  [/^agentId$/, "agent"],
  [/^projectId$/, "project"],
  [/^approvalId$/, "approval"],
  [/^apiKeyId$/, "key"],
  [/^organizationId$/, "org"],
];

export const text = (random: Random): string => {
  const dice = random.next();
  if (dice < 0.6) return random.pick(NAUGHTY);
  if (dice < 0.9) return random.pick(["a", "three", "1.0.0", "test@example.org", "correct horse battery", "ü"]);
  return random.pick(NAUGHTY.filter((one) => one !== "")).repeat(random.pick(LONG) / 10);
};

function idFor(random: Random, { name, ids }: Slot): string {
  const dice = random.next();
  if (dice < 0.08) return text(random);
  if (dice < 0.16) return random.pick(Object.values(ids).flat());
  const kind = WANTED.find(([pattern]) => pattern.test(name))?.[1];
  const wanted = ids[kind ?? random.pick(["run", "step", "agent", "project", "approval", "key", "user", "org"])];
  return wanted && wanted.length > 0 ? random.pick(wanted) : "run_01kb3v0000000000000000000";
}

function textFor(random: Random, { name, ids }: Slot): string {
  if (name === "after" && random.next() < 0.7) return random.pick(ids["cursor"]!);
  if (name === "definition" && random.next() < 0.7) return random.pick(Object.values(DEFINITIONS));
  return text(random);
}

/** Lists and objects by chance; sometimes one that is nested deep or long. */
export function anyJson(random: Random, depth = 0): unknown {
  const dice = random.next();
  if (depth === 0 && dice < 0.05) return nested(random.pick([10, 63, 64, 65, 200, 2_000]), random.next() < 0.5);
  if (depth === 0 && dice < 0.1) return Array.from({ length: random.pick([100, 5_000, 50_000]) }, () => 0);
  if (depth === 0 && dice < 0.15) return Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key${n}`, n]));
  if (depth > 3 || dice < 0.5) {
    return random.pick<() => unknown>([
      () => null,
      () => random.next() < 0.5,
      () => random.pick(INTEGERS),
      () => random.pick([1e308, 5e-324, -0, 0.1, 1e21]),
      () => text(random),
    ])();
  }
  const length = random.between(0, 5);
  if (dice < 0.7) return Array.from({ length }, () => anyJson(random, depth + 1));
  return Object.fromEntries(Array.from({ length }, () => [text(random).slice(0, 50), anyJson(random, depth + 1)]));
}

export function nested(depth: number, asObject: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = asObject ? { a: value } : [value];
  return value;
}

const asLiteral = (value: unknown, depth = 0): string => {
  // Deeper than any parser goes; this one recurses too.
  if (depth > 500) return "null";
  if (typeof value === "string") return JSON.stringify(value).replaceAll(/[\ud800-\udfff]/g, "?");
  if (Array.isArray(value)) return `[${value.map((one) => asLiteral(one, depth + 1)).join(" ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const fields = Object.entries(value).filter(([name]) => /^[_a-z]\w*$/i.test(name));
  return `{${fields.map(([name, one]) => `${name}: ${asLiteral(one, depth + 1)}`).join(" ")}}`;
};

const both = (json: unknown): Value => ({ json, literal: asLiteral(json) });

/** `wild`: the chance that a value is not of its type at all. */
export function valueOf(random: Random, type: GraphQLInputType, slot: Slot, wild = 0.03): Value {
  if (random.next() < wild) return both(anyJson(random, 1));
  if (isNonNullType(type)) return present(random, type.ofType, slot, wild);
  // An argument that may be null is often null.
  if (random.next() < 0.15) return both(null);
  return present(random, type, slot, wild);
}

function present(random: Random, type: GraphQLInputType, slot: Slot, wild: number): Value {
  if (isListType(type)) {
    if (random.next() < 0.1) return valueOf(random, type.ofType, slot, wild);
    const items = Array.from({ length: random.pick([0, 1, 2, 7, 100]) }, () => valueOf(random, type.ofType, slot, 0));
    return { json: items.map(({ json }) => json), literal: `[${items.map(({ literal }) => literal).join(" ")}]` };
  }
  if (isEnumType(type)) {
    const { name } = random.pick(type.getValues());
    return { json: name, literal: name };
  }
  if (isInputObjectType(type)) return objectOf(random, Object.values(type.getFields()), slot, wild);
  switch ((type as { name: string }).name) {
    case "Int":
    case "Float":
      return both(random.next() < 0.6 ? random.pick([1, 2, 10, 50, 200]) : random.pick(INTEGERS));
    case "Boolean":
      return both(random.next() < 0.5);
    case "ID":
      return both(idFor(random, slot));
    case "DateTime":
      return both(random.next() < 0.8 ? random.pick(TIMES) : random.pick(WRONG_TIMES));
    case "JSON":
      return both(random.next() < 0.5 ? { n: random.between(0, 9) } : anyJson(random));
    default:
      return both(textFor(random, slot));
  }
}

function objectOf(random: Random, fields: readonly GraphQLInputField[], { ids }: Slot, wild: number): Value {
  const given = fields
    .filter((field) => (isRequired(field) ? random.next() > wild : random.next() < 0.4))
    .map((field) => [field.name, valueOf(random, field.type, { name: field.name, ids }, wild)] as const);
  if (random.next() < wild + 0.04) given.push(...unknownNames(random).map((name) => [name, both(1)] as const));
  return {
    json: Object.fromEntries(given.map(([name, { json }]) => [name, json])),
    literal: `{${given.map(([name, { literal }]) => `${name}: ${literal}`).join(", ")}}`,
  };
}

/** Many, or long: a refusal that repeats them, or all of the value for each of them, is dear. */
export const unknownNames = (random: Random): string[] =>
  Array.from({ length: random.pick([1, 30, 600, 6_000, 20_000]) }, (_, n) => `u${n}`).concat(
    random.next() < 0.2 ? [`u${"x".repeat(random.pick(LONG))}`] : [],
  );

export const isRequired = (input: GraphQLInputField | GraphQLArgument): boolean =>
  isNonNullType(input.type) && input.defaultValue === undefined;
