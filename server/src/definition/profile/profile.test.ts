import { Validator } from "@cfworker/json-schema";
import { validate } from "@serverlessworkflow/sdk";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { scaled } from "../../../../test/scale.ts";
import { isObject, isScalar, type Json } from "../../lib/json/json.ts";
import { newId } from "../../lib/ids.ts";
import { createLog } from "../../lib/log/log.ts";
import { checkDefinition } from "../check-definition.ts";
import { documented, examples, EVERYTHING } from "../definitions.fixture.ts";
import { createExpressions } from "../../expressions/expressions.ts";
import { parseDefinition } from "../parse-definition.ts";
import { PROFILE } from "./profile.ts";
import { SchemaWalk } from "../schema/schema-walk.ts";

/** The DSL's own schema, as its SDK has it; it knows its own version of the language only. */
function acceptedByTheSdk(definition: unknown): true | string {
  const { document, ...rest } = withoutArguments(definition as Json) as { document: object };
  try {
    const whole = withParameters(withSources(rest)) as object;
    validate("Workflow", { document: { ...document, dsl: "1.0.3" }, ...whole } as never);
    validate("Workflow", { document: { ...document, dsl: "1.0.3" }, ...(eachAsFor(whole as Json) as object) } as never);
    return true;
  } catch (error) {
    return String(error);
  }
}

/** The standard's arguments of a script are a list of texts, as of a process; ours are its variables. */
function withoutArguments(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutArguments);
  if (isScalar(value)) return value;
  const { script, ...rest } = value;
  const others = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, withoutArguments(inner)]));
  if (script === undefined || isScalar(script) || Array.isArray(script))
    return script === undefined ? others : { ...others, script };
  const { arguments: _, ...kept } = script;
  return { ...others, script: "language" in script ? kept : withoutArguments(script) };
}

/** A source is any text here, as it is a reference in CloudEvents; the DSL's schema wants a URI with a host. `emit` may leave it out. */
function withSources(value: Json): Json {
  if (Array.isArray(value)) return value.map(withSources);
  if (isScalar(value)) return value;
  const all = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withSources(inner)]));
  const given = all["with"];
  const isEvent = isObject(given) && "type" in given && !("call" in all);
  return isEvent ? { ...all, with: { ...given, source: "https://example.com/source" } } : all;
}

/** Parameters of an operation may be one expression here, as headers and a query may be; the DSL's schema has an object alone. */
function withParameters(value: Json): Json {
  if (Array.isArray(value)) return value.map(withParameters);
  if (isScalar(value)) return value;
  const all = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withParameters(inner)]));
  const given = all["with"];
  const isExpression = all["call"] === "openapi" && isObject(given) && typeof given["parameters"] === "string";
  return isExpression ? { ...all, with: { ...given, parameters: {} } } : all;
}

/** To the SDK the arguments of a call of the catalogue are any data; as a loop it looks at the tasks in them. */
function eachAsFor(value: Json): Json {
  if (Array.isArray(value)) return value.map(eachAsFor);
  if (isScalar(value)) return value;
  const { call, with: given, ...rest } = value;
  if (call === "each:1.0.0@default" && typeof given === "object" && given !== null) {
    const { in: list, item = "item", do: tasks } = given as { [key: string]: Json };
    return eachAsFor({ ...rest, for: { in: list!, each: item }, do: tasks! });
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, eachAsFor(inner)]));
}

/** Few enough to try every change. */
const FLOW: Json = {
  document: { dsl: "1.0.3", namespace: "demo", name: "flow", version: "1.0.0" },
  do: (parse(EVERYTHING) as { do: Json[] }).do.filter((item) =>
    ["items", "both", "child"].includes(Object.keys(item as object)[0]!),
  ),
};

/** One in so many changes is tried: coprime to the 16 of each key, so that every kind of change is among them. */
const THIN = scaled({ whole: 1, part: 5 });

const GOOD: [string, string][] = [["everything", EVERYTHING], ...examples(), ...documented()];

describe("what the profile takes, the standard takes too", () => {
  const expressions = createExpressions({ log: createLog("silent") });
  afterAll(() => expressions[Symbol.asyncDispose]());

  test.each(GOOD)("%s", async (_, text) => {
    const { problems } = await checkDefinition(text, (expression) => expressions.check(expression, newId()));
    expect(problems).toEqual([]);
    expect(acceptedByTheSdk(parse(text))).toBe(true);
  });

  test.each([
    { of: "everything", whole: parse(EVERYTHING) as Json, nth: 4 * THIN, least: 200 / THIN },
    { of: "branches, items and children", whole: FLOW, nth: THIN, least: 100 / THIN },
  ])("also after any one change that the profile takes: $of", ({ whole, nth, least }) => {
    let taken = 0;
    for (const changed of sampled(mutants(whole), nth)) {
      if (new SchemaWalk(PROFILE).check(changed).violations.length > 0) continue;
      const { problems, workflow } = parseDefinition(JSON.stringify(changed));
      if (problems.length > 0) continue;
      taken++;
      expect(acceptedByTheSdk(workflow), JSON.stringify(changed)).toBe(true);
    }
    expect(taken).toBeGreaterThan(least);
  });
});

test("the walk and @cfworker/json-schema agree about every changed definition", () => {
  const validator = new Validator(PROFILE as never, "2020-12", true);
  let refused = 0;
  for (const changed of sampled(mutants(parse(EVERYTHING) as Json), 7 * THIN)) {
    const fits = new SchemaWalk(PROFILE).check(changed).violations.length === 0;
    expect(fits, JSON.stringify(changed)).toBe(validator.validate(changed).valid);
    if (!fits) refused++;
  }
  expect(refused).toBeGreaterThan(300 / THIN);
});

const ODD: Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  "",
  "text",
  "${ .a }",
  "PT1S",
  "https://example.com",
  [],
  {},
  ["a"],
  { a: 1 },
  { use: "a" },
];

/** Both validators are slow: of thousands, each nth will do. */
function* sampled(values: Iterable<Json>, nth: number): Generator<Json> {
  let count = 0;
  for (const value of values) if (count++ % nth === 0) yield value;
}

/** The value with one part left out, replaced by something odd, or with an odd key next to it. */
function* mutants(value: Json): Generator<Json> {
  if (typeof value !== "object" || value === null) return;
  const keys = Object.keys(value);
  for (const key of keys) {
    yield changedAt(value, key, undefined);
    for (const odd of ODD) yield changedAt(value, key, odd);
    for (const inner of mutants((value as Record<string, Json>)[key]!)) yield changedAt(value, key, inner);
  }
  if (!Array.isArray(value)) yield { ...value, odd: 1 };
}

function changedAt(value: object, key: string, part: Json | undefined): Json {
  if (Array.isArray(value)) return part === undefined ? value.toSpliced(Number(key), 1) : value.with(Number(key), part);
  const { [key]: _, ...rest } = value as Record<string, Json>;
  return part === undefined ? rest : { ...rest, [key]: part };
}
