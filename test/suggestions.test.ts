/**
 * No validation error says which names there are: every name of the schema is misspelled by a letter wherever a document may have it,
 * and the answer repeats the wrong one alone. Anyone who may read the schema has introspection and `schema.graphql`.
 */
import {
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
} from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSchema } from "../server/src/graphql/schema.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

const schema = createSchema();
const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith("__"));

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** A document with wrong names, and the right ones. */
type Misspelled = { query: string; right: readonly string[] };

/** The number reported at once. */
const AT_ONCE = 15;
const inBatches = (names: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(names.length / AT_ONCE) }, (_, batch) =>
    names.slice(batch * AT_ONCE, (batch + 1) * AT_ONCE),
  );

const wrong = (name: string): string => `${name}x`;

/** Something of the type, as a literal. */
function literalOf(type: GraphQLInputType): string {
  if (isNonNullType(type)) return literalOf(type.ofType);
  const named = getNamedType(type);
  if (isEnumType(named)) return named.getValues()[0]!.name;
  if (isInputObjectType(named)) return `{${requiredOf(Object.values(named.getFields()))}}`;
  return { Int: "1", Boolean: "true", DateTime: '"2030-01-01T00:00:00Z"', JSON: "{}" }[named.name] ?? '"x"';
}

const requiredOf = (all: readonly (GraphQLArgument | GraphQLInputField)[]): string =>
  all
    .filter(({ type }) => isNonNullType(type))
    .map(({ name, type }) => `${name}: ${literalOf(type)}`)
    .join(", ");

const fields: Misspelled[] = types.filter(isObjectType).flatMap((type) => {
  const root = { Query: "query", Mutation: "mutation", Subscription: "subscription" }[type.name];
  return inBatches(Object.keys(type.getFields())).map((right) => {
    const names = right.map(wrong).join(" ");
    return { right, query: root ? `${root} { ${names} }` : `{ me { ... on ${type.name} { ${names} } } }` };
  });
});

const roots = (["Query", "Mutation"] as const).flatMap((root) =>
  Object.values((root === "Query" ? schema.getQueryType()! : schema.getMutationType()!).getFields()).map((field) => ({
    field,
    root: root.toLowerCase(),
    below: isCompositeType(getNamedType(field.type)) ? "{ __typename }" : "",
  })),
);

/** That a required one is missing is said by its name. */
const mayBeNamed = ({ name, type }: GraphQLArgument | GraphQLInputField): string[] =>
  isNonNullType(type) ? [] : [name];

const args: Misspelled[] = roots.flatMap(({ root, field, below }) =>
  field.args.map((argument) => ({
    right: mayBeNamed(argument),
    query: `${root} { ${field.name}(${wrong(argument.name)}: 1) ${below} }`,
  })),
);

/** The argument that takes it, with a literal in its place. */
const withInput = (type: GraphQLNamedType, literal: string): string | undefined => {
  for (const { root, field, below } of roots)
    for (const { name, type: of } of field.args)
      if (getNamedType(of) === type) return `${root} { ${field.name}(${name}: ${literal}) ${below} }`;
  return undefined;
};

const inputFields: Misspelled[] = types.filter(isInputObjectType).flatMap((type) =>
  Object.values(type.getFields()).flatMap((field) => {
    const required = requiredOf(Object.values(type.getFields()));
    const query = withInput(type, `{${wrong(field.name)}: 1, ${required}}`);
    return query === undefined ? [] : [{ right: mayBeNamed(field), query }];
  }),
);

const enumValues: Misspelled[] = types.filter(isEnumType).flatMap((type) =>
  type.getValues().map(({ name }) => ({
    right: [name],
    query: `query ($a: ${type.name} = ${wrong(name)}) { __typename @include(if: $a) }`,
  })),
);

const typeNames: Misspelled[] = inBatches(types.map(({ name }) => name)).flatMap((right) => [
  { right, query: `query (${right.map((name, index) => `$a${index}: ${wrong(name)}`).join(", ")}) { __typename }` },
  { right, query: `{ ${right.map((name) => `... on ${wrong(name)} { __typename }`).join(" ")} }` },
]);

const ofTheDocument: Misspelled[] = [
  { right: ["skip"], query: "{ __typename @skipx(if: true) }" },
  { right: ["include"], query: "{ __typename @includex(if: true) }" },
  { right: ["if"], query: "{ __typename @skip(ifx: true) }" },
  { right: ["variable"], query: "query ($variable: Int) { runs(first: $variablex) { __typename } }" },
  { right: ["operation"], query: "query operation { __typename } query other { __typename }" },
  { right: ["__schema", "__type"], query: "{ __schemax { x } __typex { x } }" },
];

const ALL = { fields, args, inputFields, enumValues, typeNames, ofTheDocument };

/** The number within the limits of a stranger's document. */
async function messagesOf({ query }: Misspelled, token: string | null): Promise<string> {
  expect(query.length).toBeLessThanOrEqual(LIMITS.strangerQueryCharacters);
  const { errors } = await server.graphql(query, {}, token);
  expect(errors?.[0]?.extensions.code, query).toBe("GRAPHQL_VALIDATION_FAILED");
  return errors!.map(({ message }) => message).join("\n");
}

test.for(Object.entries(ALL))("%s", async ([, misspelled]) => {
  expect(misspelled.flatMap(({ right }) => right).length).toBeGreaterThan(5);
  const found: string[] = [];
  for (const one of misspelled) {
    for (const token of [server.world.apiKey, null]) {
      const messages = await messagesOf(one, token);
      const isNamed = one.right.some((name) => messages.includes(`"${name}"`));
      if (isNamed || /did you mean/i.test(messages)) found.push(`${one.query}: ${messages}`);
    }
  }
  expect(found).toEqual([]);
});

const RUNS = "query ($f: RunFilter) { runs(filter: $f) { nodes { id } } }";

test.for<[what: string, query: string, variables: Record<string, unknown>, right: string]>([
  ["an input field", RUNS, { f: { statusx: ["running"] } }, "status"],
  ["a field of an input in it", RUNS, { f: { startedBy: { kindx: [] } } }, "kind"],
  ["a variable", "query ($idx: ID!) { run(id: $idx) { id } }", { id: "x" }, '"id"'],
])("in variables: %s", async ([, query, variables, right]) => {
  const { errors } = await server.graphql(query, variables);
  expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
  const text = JSON.stringify(errors);
  expect(text).not.toMatch(/did you mean/i);
  expect(text.replaceAll(`${right}x`, "")).not.toContain(right);
  // A stranger's variables are not looked at.
  const stranger = await server.graphql(query, variables, null);
  expect(stranger.errors?.map(({ extensions }) => extensions.code)).toEqual(["UNAUTHENTICATED"]);
});
