/** The contract is a file, and the rules of the schema hold for every type in it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isNonNullType,
  isObjectType,
  isScalarType,
  type GraphQLArgument,
  type GraphQLNamedType,
  type GraphQLObjectType,
} from "graphql";
import { expect, test } from "vitest";
import { accessText } from "./print-access.ts";
import { limitsText } from "./print-limits.ts";
import { ACCESS_FILE, LIMITS_FILE, schemaText } from "./print-schema.ts";
import { createSchema } from "./schema.ts";

const schema = createSchema();
const types = Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type));
const rootTypes = [schema.getQueryType()!, schema.getMutationType()!, schema.getSubscriptionType()!];
const fieldsOf = (type: GraphQLNamedType) =>
  isObjectType(type) || isInterfaceType(type) || isInputObjectType(type) ? Object.values(type.getFields()) : [];

test("an input type has the fields of the contract, and inherits none", () => {
  for (const type of types.filter(isInputObjectType)) expect(Object.getPrototypeOf(type.getFields())).toBeNull();
});

test("schema.graphql is what the code says; `npm run schema` writes it", () => {
  expect(readFileSync(join(import.meta.dirname, "../../../schema.graphql"), "utf8")).toBe(schemaText());
});

test("docs/access.md is what the tables say; `npm run schema` writes it", () => {
  expect(readFileSync(ACCESS_FILE, "utf8")).toBe(accessText(schema));
});

test("docs/limits.md is what the tables say; `npm run schema` writes it", () => {
  expect(readFileSync(LIMITS_FILE, "utf8")).toBe(limitsText());
});

const signatureOf = (type: GraphQLNamedType, name: string): string => {
  const field = (type as GraphQLObjectType).getFields()[name]!;
  const given = Array.from(field.args, (one) => `${one.name}: ${String(one.type)}`).join(", ");
  return `${name}${given && `(${given})`}: ${String(field.type)}`;
};

test("the specification's shapes stand verbatim", () => {
  const [query, mutation, subscription] = rootTypes as [GraphQLObjectType, GraphQLObjectType, GraphQLObjectType];
  const type = (name: string): GraphQLNamedType => schema.getType(name)!;
  expect(signatureOf(query, "me")).toBe("me: User");
  expect(signatureOf(query, "agents")).toBe("agents(projectId: ID): [Agent!]");
  expect(signatureOf(query, "run")).toBe("run(id: ID!): Run");
  expect(signatureOf(mutation, "login")).toBe("login(email: String!, password: String!): LoginResult");
  expect(signatureOf(mutation, "runAgent")).toBe("runAgent(input: RunAgentInput!): Run");
  expect(signatureOf(mutation, "cancelRun")).toBe("cancelRun(runId: ID!): Run");
  expect(signatureOf(subscription, "runUpdated")).toBe("runUpdated(runId: ID!): Run!");
  expect(signatureOf(type("Run"), "steps")).toBe(
    "steps(first: Int, after: Int, parentNumber: Int, status: [StepStatus!]): [Step!]!",
  );
  expect(signatureOf(type("Run"), "currentStep")).toBe("currentStep: Int");
  expect(signatureOf(type("Run"), "progress")).toBe("progress: Int!");
  expect(signatureOf(type("Run"), "cancelledAt")).toBe("cancelledAt: DateTime");
  expect(signatureOf(type("Step"), "duration")).toBe("duration: Int");
  expect(signatureOf(type("LoginResult"), "expiresAt")).toBe("expiresAt: DateTime!");
});

test("a DateTime is a time of the calendar with a zone", () => {
  const type = schema.getType("DateTime");
  const parse = (text: string): unknown => isScalarType(type) && type.coerceInputValue(text);
  expect(parse("2028-02-29t08:30:00.5+01:00")).toEqual(new Date("2028-02-29T07:30:00.500Z"));
  for (const text of [
    "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:00",
    "2026-01-01",
    "tomorrow",
  ]) {
    expect(() => parse(text), text).toThrow("RFC 3339");
  }
});

const argumentsOf = (field: { args?: readonly GraphQLArgument[] }): readonly GraphQLArgument[] => field.args ?? [];

test("everything has a description", () => {
  const bare = types.flatMap((type) => [
    ...(type.description ? [] : [type.name]),
    ...fieldsOf(type).flatMap((field) => [
      ...(field.description ? [] : [`${type.name}.${field.name}`]),
      ...argumentsOf(field)
        .filter((one) => !one.description)
        .map((one) => `${type.name}.${field.name}(${one.name}:)`),
    ]),
    ...(isEnumType(type)
      ? type
          .getValues()
          .filter((value) => !value.description)
          .map((value) => `${type.name}.${value.name}`)
      : []),
  ]);
  expect(bare.filter((name) => !/^(ID|Int|Float|String|Boolean)$/.test(name))).toEqual([]);
});

test("enum values are in lower case", () => {
  const values = types.filter(isEnumType).flatMap((type) => type.getValues().map(({ name }) => name));
  expect(values.length).toBeGreaterThan(20);
  // A definition has it too, in the words of the DSL's keys.
  expect(values.filter((name) => name !== name.toLowerCase())).toEqual(["cancelPrevious"]);
});

test("a mutation takes one `input`, but for the specification's own and those without arguments", () => {
  const others = Object.values(schema.getMutationType()!.getFields())
    .filter(({ args }) => args.length > 0 && !(args.length === 1 && args[0]!.name === "input"))
    .map(({ name }) => name);
  expect(others.toSorted()).toEqual(["cancelRun", "login"]);
});

test("inputs are not recursive", () => {
  const within = (type: GraphQLNamedType, path: string[]): string[] => {
    if (path.includes(type.name)) return [[...path, type.name].join(" → ")];
    if (!isInputObjectType(type)) return [];
    return Object.values(type.getFields()).flatMap((field) => within(getNamedType(field.type), [...path, type.name]));
  };
  expect(types.filter(isInputObjectType).flatMap((type) => within(type, []))).toEqual([]);
});

/** A model connection is no list. */
const isPaged = (type: string): boolean => type.endsWith("Connection") && type !== "ModelConnection";

test("connections have the same shape everywhere", () => {
  const connections = types.filter((type) => isPaged(type.name)) as GraphQLObjectType[];
  expect(connections.length).toBeGreaterThan(5);
  for (const type of connections) {
    expect(Object.keys(type.getFields())).toEqual(["edges", "nodes", "pageInfo"]);
    expect(String(type.getFields()["nodes"]!.type)).toBe(`[${type.name.replace(/Connection$/, "")}!]!`);
  }
  for (const type of types.filter(isObjectType)) {
    for (const field of Object.values(type.getFields())) {
      if (!isPaged(String(field.type).replace(/!$/, ""))) continue;
      const paging = field.args.map((one) => `${one.name}: ${String(one.type)}`);
      expect(paging, `${type.name}.${field.name}`).toEqual(expect.arrayContaining(["first: Int", "after: String"]));
      expect(field.extensions["cost"], `${type.name}.${field.name}`).toBeDefined();
    }
  }
});

test("every list of objects says what it may cost", () => {
  const lists = types.filter(isObjectType).flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => String(field.type).includes("[") && isObjectType(getNamedType(field.type)))
      .filter((field) => !field.extensions["cost"] && !getNamedType(field.type).extensions["isPart"])
      .map((field) => `${type.name}.${field.name}`),
  );
  // Their parents carry the multiplier, or they are as long as what was sent.
  const carried = lists.filter((name) => !/Connection\.(edges|nodes)$/.test(name));
  expect(carried.toSorted()).toEqual(["InputField.choices"]);
});

test("fields of Query and Mutation are nullable, so that one refusal leaves the others' answers; those of Subscription are not", () => {
  const [query, mutation, subscription] = rootTypes.map((type) => Object.values(type.getFields()));
  expect(query!.length + mutation!.length).toBeGreaterThan(30);
  const nonNull = [...query!, ...mutation!].filter(({ type }) => isNonNullType(type)).map(({ name }) => name);
  expect(nonNull).toEqual([]);
  expect(subscription!.filter(({ type }) => !isNonNullType(type)).map(({ name }) => name)).toEqual([]);
});

test("ids are non-null and types are non-null unless they say why not", () => {
  for (const type of types.filter(isObjectType)) {
    const id = type.getFields()["id"];
    // It names another object, and the system has none.
    if (id && type.name !== "Actor") expect(isNonNullType(id.type), `${type.name}.id`).toBe(true);
  }
});
