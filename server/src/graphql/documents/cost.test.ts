/** The cost of an operation, on a schema that has each case once. */
import { buildSchema, Kind, parse, type GraphQLObjectType, type OperationDefinitionNode } from "graphql";
import { expect, test } from "vitest";
import { costOf, type Cost } from "./cost.ts";

const schema = buildSchema(`
  interface Node { id: ID, owner: User }
  type User implements Node { id: ID, name: String, owner: User, runs(first: Int, last: Int): Runs, all: [User], page: Page }
  type Runs { nodes: [User], page: Page }
  type Page { next: String, of: User }
  union Any = User | Page
  type Query { me: User, node: Node, any: Any, runs(first: Int, last: Int): Runs, nobody: User }
  type Mutation { change: User }
`);
const type = (name: string): GraphQLObjectType => schema.getType(name) as GraphQLObjectType;
type("Runs").extensions = { isPart: true };
type("Page").extensions = { isPart: true };
for (const owner of ["User", "Query"])
  type(owner).getFields()["runs"]!.extensions = { cost: { most: 50, argument: "first" } };
type("User").getFields()["all"]!.extensions = { cost: { most: 7 } };

function cost(text: string, variables: Record<string, unknown> = {}): Cost {
  const document = parse(text);
  const operation = document.definitions.find((one) => one.kind === Kind.OPERATION_DEFINITION);
  return costOf(schema, document, operation as OperationDefinitionNode)(variables);
}

test.each<[string, number, number]>([
  ["{ me { id } }", 1, 2],
  ["{ me { id name } nobody { id } __typename }", 2, 6],
  ["mutation { change { id } }", 1, 2],
  ["{ me { owner { owner { id } } } }", 3, 4],
  // A part is no object, and a value.
  ["{ me { page { next of { id } } } }", 2, 5],
  ["{ me { all { id name } } }", 1 + 7, 1 + 7 * 3],
  ["{ me { all(first: 2) { id } } }", 1 + 7, 1 + 7 * 2],
  ["{ runs { nodes { id } } }", 50, 50 * 3],
  ["{ runs(first: 3) { nodes { id } page { next } } }", 3, 3 * 5],
  ["{ runs(last: 3) { nodes { id } } }", 50, 50 * 3],
  ["{ runs(last: 2, first: 3) { nodes { id } } }", 3, 3 * 3],
  ["{ runs(first: 0) { nodes { id } } me { id } }", 1, 2],
  ["{ runs(first: -3) { nodes { id } } me { id } }", 1, 2],
  ["{ runs(first: null) { nodes { id } } }", 50, 50 * 3],
  ['{ runs(first: "3") { nodes { id } } }', 50, 50 * 3],
  ["{ runs(first: 2) { nodes { runs(first: 3) { nodes { id } } } } }", 2 * (1 + 3), 2 * (2 + 3 * 3)],
  // Fragments count where they are spread, inline ones on their own type.
  ["{ ...F ...F } fragment F on Query { me { ...G } } fragment G on User { id name }", 2, 6],
  ["{ node { id ... on User { all { id } } ... { owner { id } } } }", 1 + 7 + 1, 2 + 14 + 2],
  ["{ any { __typename ... on Page { of { id } } } }", 2, 4],
  // These have their own rule.
  ["{ __schema { types { name } } me { id } }", 1, 2],
  ['{ __type(name: "User") { name } }', 0, 0],
])("%s", (text, objects, values) => expect(cost(text)).toEqual({ objects, values }));

test.each<[string, Record<string, unknown>, number]>([
  ["$n: Int", { n: 3 }, 3],
  ["$n: Int", { n: 0 }, 0],
  ["$n: Int", { n: -3 }, 0],
  ["$n: Int", { n: null }, 50],
  ["$n: Int", { n: "3" }, 50],
  ["$n: Int", {}, 50],
  ["$n: Int", { m: 3 }, 50],
  ["$n: Int = 4", {}, 4],
  ["$n: Int = 4", { n: 3 }, 3],
  ["$n: Int = 4", { n: null }, 50],
  ["$n: Int = -4", {}, 0],
  ["$n: Int = null", {}, 50],
  ["$m: Int = 4, $n: Int", { m: 4 }, 50],
  ["$m: Int, $n: Int = 4", {}, 4],
])("with (%s) and %j a list of %i", (definitions, variables, size) => {
  expect(cost(`query (${definitions}) { runs(first: $n) { nodes { id name } } }`, variables)).toEqual({
    objects: size,
    values: 4 * size,
  });
  // Within others, and next to values that need no variable.
  expect(
    cost(
      `query (${definitions}) { me { id runs(first: 2) { nodes { id runs(first: $n) { nodes { id } } } } } }`,
      variables,
    ),
  ).toEqual({ objects: 1 + 2 * (1 + size), values: 2 + 2 * (3 + 3 * size) });
});

test("a name that every object has is no variable that was sent", () => {
  expect(cost("query ($constructor: Int = 4) { runs(first: $constructor) { nodes { id } } }").objects).toBe(4);
});

test("what needs no variable is added up once, not for each request", () => {
  const chain = Array.from({ length: 30 }, (_, at) => `fragment F${at} on Query { ...F${at + 1} ...F${at + 1} }`).join(
    " ",
  );
  expect(cost(`{ ...F0 } ${chain} fragment F30 on Query { me { id } }`).objects).toBe(2 ** 30);
});
