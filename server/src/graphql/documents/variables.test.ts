/** Variables are refused where the executor would refuse them, and only there: its own verdict is asked for each. */
import { getNamedType, isInputType, isListType, isNonNullType, parse, Kind, type GraphQLInputType } from "graphql";
import { getVariableValues } from "graphql/execution";
import { expect, test } from "vitest";
import { Refusal } from "../../lib/errors.ts";
import { scaled } from "../../../../test/scale.ts";
import { LIMITS } from "../../lib/limits.ts";
import { createSchema } from "../schema.ts";
import { createVariableChecks, type VariableCheck } from "./variables.ts";

const schema = createSchema();
const checks = createVariableChecks(schema);

const definitionsOf = (declared: string) => {
  const [node] = parse(`query(${declared}) { __typename }`).definitions;
  return node?.kind === Kind.OPERATION_DEFINITION ? node.variableDefinitions! : [];
};

const refusalOf = (declared: string, variables: Record<string, unknown>, repeats = new Map<string, number>()) =>
  refusalBy(checks(definitionsOf(declared), repeats), variables);

function refusalBy(check: VariableCheck, variables: Record<string, unknown>): Refusal | undefined {
  try {
    check(variables);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  return undefined;
}

/** Each input type that an argument has, and each type within, once. */
function typesOfArguments(): Map<string, GraphQLInputType> {
  const types = new Map<string, GraphQLInputType>();
  const add = (type: GraphQLInputType): void => {
    if (types.has(String(type))) return;
    types.set(String(type), type);
    if (isNonNullType(type) || isListType(type)) return add(type.ofType);
    if ("getFields" in type) for (const field of Object.values(type.getFields())) add(field.type);
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (isInputType(type) || !("getFields" in type) || type.name.startsWith("__")) continue;
    for (const field of Object.values(type.getFields()))
      if ("args" in field) for (const { type: one } of field.args) add(one);
  }
  return types;
}

const TIME = "2026-11-21T08:30:00Z";
const LEAVES = [null, 1, -1, 1.5, 2 ** 31, "", "1", "x", "running", "approve", TIME, true, [], ["running"], [null], {}];

/** Values for a type: right ones, and each of them with one part made wrong. */
function valuesFor(type: GraphQLInputType): unknown[] {
  const named = getNamedType(type);
  if (!("getFields" in named)) return [...LEAVES, [LEAVES], LEAVES.map((one) => [one])];
  const fields = Object.values(named.getFields());
  const right = rightFor(named) as object;
  const broken = fields.flatMap((field) => [
    ...LEAVES.map((one) => ({ ...right, [field.name]: one })),
    Object.fromEntries(Object.entries(right).filter(([name]) => name !== field.name)),
  ]);
  return [...LEAVES, right, [right], [right, null], { ...right, other: 1 }, { ...right, constructor: 1 }, ...broken];
}

function rightFor(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return rightFor(type.ofType);
  if (isListType(type)) return [rightFor(type.ofType)];
  if ("getFields" in type) {
    const fields = Object.values(type.getFields()).slice(0, type.isOneOf ? 1 : undefined);
    return Object.fromEntries(fields.map((field) => [field.name, rightFor(field.type)]));
  }
  if ("getValues" in type) return type.getValues()[0]!.name;
  return { Int: 1, Float: 1.5, Boolean: true, DateTime: TIME, JSON: { a: 1 } }[type.name] ?? "x";
}

/** One in so many values of all types: coprime to the 16 leaves, so that each leaf is tried. */
const THIN = scaled({ whole: 1, part: 3 });

test("every type of an argument takes and refuses what the executor does", () => {
  let [compared, made] = [0, 0];
  const wrong: string[] = [];
  for (const [name, type] of typesOfArguments()) {
    for (const declared of [`$v: ${name}`, ...(isNonNullType(type) ? [] : [`$v: ${name}!`, `$v: [${name}]`])]) {
      const definitions = definitionsOf(declared);
      const check = checks(definitions, new Map());
      for (const variables of [{}, ...valuesFor(type).map((v) => ({ v }))]) {
        if (made++ % THIN > 0) continue;
        const { errors } = getVariableValues(schema, definitions, variables) as { errors?: unknown[] };
        // No `expect` for each: that would take as long as all the rest.
        if ((refusalBy(check, variables) === undefined) !== (errors === undefined))
          wrong.push(`${declared} ${JSON.stringify(variables)}`);
        compared++;
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(3_000 / THIN);
});

test("a default stands in for what is missing, and not for null", () => {
  expect(refusalOf("$n: Int! = 1", {})).toBeUndefined();
  expect(refusalOf("$n: Int! = 1", { n: null })?.details.fields).toEqual([
    { path: "n", code: "wrong_type", message: "must not be null" },
  ]);
});

test("each problem has its place and says what is expected", () => {
  const input = { input: [], wait: "1", runAt: "tomorrow", version: 1, x: 1 };
  const filter = { status: ["running", "flying"], startedBy: { kind: "nobody", id: [{}] } };
  const refusal = refusalOf("$input: RunAgentInput!, $filter: RunFilter, $id: ID!", { input, filter });
  expect(refusal?.code).toBe("BAD_USER_INPUT");
  expect(refusal?.message).toMatch(/^the variables do not fit: input.agentId is missing; input.version must be text/);
  expect(refusal?.details.fields).toEqual([
    { path: "input.agentId", code: "required", message: "is missing" },
    { path: "input.version", code: "wrong_type", message: "must be text" },
    {
      path: "input.runAt",
      code: "wrong_type",
      message: "must be an RFC 3339 time with a zone, like 2026-11-21T08:30:00.000Z",
    },
    { path: "input.wait", code: "wrong_type", message: "must be a whole number (32 bits)" },
    { path: "input.x", code: "unknown", message: "is not a field of RunAgentInput" },
    { path: "filter.status.1", code: "not_a_choice", message: expect.stringMatching(/^must be one of pending, /) },
    { path: "filter.startedBy.kind", code: "not_a_choice", message: expect.stringMatching(/^must be one of /) },
    { path: "filter.startedBy.id.0", code: "wrong_type", message: "must be an id" },
    { path: "id", code: "required", message: "is missing" },
  ]);
});

test("20 problems are the most, and a long name is cut", () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`${index}${"x".repeat(1_000)}`, 0]));
  const fields = refusalOf("$filter: RunFilter", { filter: many })?.details.fields;
  expect(fields).toHaveLength(20);
  for (const { path, message } of fields!) expect(path.length + message.length).toBeLessThan(250);
  const wrong = Array.from({ length: LIMITS.argumentItems }, () => "flying");
  expect(refusalOf("$filter: RunFilter", { filter: { status: wrong } })?.details.fields).toHaveLength(20);
});

test("of a @oneOf one field is given, and not as null", () => {
  const problem = {
    path: "input.runs",
    code: "invalid",
    message: "must have exactly one field, which is not null: filter, runIds or all",
  };
  for (const runs of [{}, { all: null }, { all: true, runIds: ["x"] }, { all: true, filter: null }])
    expect(refusalOf("$input: CancelRunsInput!", { input: { runs } })?.details.fields).toEqual([problem]);
  expect(refusalOf("$input: CancelRunsInput!", { input: { runs: { all: true } } })).toBeUndefined();
});

test("a list has a length", () => {
  const states = (length: number) => ({ filter: { status: Array.from({ length }, () => "running") } });
  expect(refusalOf("$filter: RunFilter", states(LIMITS.argumentItems))).toBeUndefined();
  expect(refusalOf("$filter: RunFilter", states(LIMITS.argumentItems + 1))?.details.fields).toEqual([
    { path: "filter.status", code: "too_many", message: `must have at most ${LIMITS.argumentItems} items` },
  ]);
  const named = (length: number) => ({ input: { runs: { runIds: Array.from({ length }, () => "run_x") } } });
  expect(refusalOf("$input: CancelRunsInput!", named(LIMITS.runIdsToCancel))).toBeUndefined();
  expect(refusalOf("$input: CancelRunsInput!", named(LIMITS.runIdsToCancel + 1))?.details.fields).toEqual([
    { path: "input.runs.runIds", code: "too_many", message: `must have at most ${LIMITS.runIdsToCancel} items` },
  ]);
});

test("what stands within values again and again is weighed as often, a default too", () => {
  const half = "x".repeat(LIMITS.bodyBytes / 2 - 2);
  const twice = new Map([["v", 2]]);
  expect(refusalOf("$v: JSON", { v: half }, twice)).toBeUndefined();
  expect(refusalOf("$v: JSON", { v: `${half}x` }, twice)?.details.fields).toMatchObject([
    { path: "v", code: "too_large" },
  ]);
  const both = new Map([
    ["v", 1],
    ["w", 1],
  ]);
  expect(refusalOf("$v: JSON, $w: JSON", { v: half, w: half }, both)).toBeUndefined();
  expect(refusalOf("$v: JSON, $w: JSON", { v: half, w: `${half}x` }, both)?.details.fields).toMatchObject([
    { path: "w", code: "too_large" },
  ]);
  const repeats = new Map([["v", 900]]);
  expect(refusalOf(`$v: JSON = "${"x".repeat(1_000)}"`, {}, repeats)).toBeUndefined();
  expect(refusalOf(`$v: JSON = "${"x".repeat(2_000)}"`, {}, repeats)?.code).toBe("BAD_USER_INPUT");
});
