/** An operation's needs are read off its document. Over the wire: test/scopes.test.ts. */
import { Kind, parse, validate } from "graphql";
import { expect, test } from "vitest";
import { readFieldAccess } from "../builder/access.ts";
import { needsOf } from "./needs.ts";
import { createSchema } from "../schema.ts";

const schema = createSchema();
const access = readFieldAccess(schema);

/** The needs of a valid document's first operation. */
function needs(text: string): { signIn: boolean; scopes: Record<string, string> } {
  const document = parse(text);
  expect(validate(schema, document)).toEqual([]);
  const operation = document.definitions.find((one) => one.kind === Kind.OPERATION_DEFINITION)!;
  const { signIn, scopes } = needsOf(schema, access, document, operation);
  return { signIn, scopes: Object.fromEntries(scopes) };
}
const scopes = (text: string): string[] => Object.keys(needs(text).scopes);

const RUN = 'run(id: "x")';
const START = 'runAgent(input: {agentId: "x"})';

test("a field needs its scope, and what led to it needs its own", () => {
  expect(needs("{ me { id name email } caller { role memberships { organization { plan } } } }")).toEqual({
    signIn: true,
    scopes: {},
  });
  expect(scopes(`{ ${RUN} { status output steps { name output } } }`)).toEqual(["runs:read"]);
  expect(scopes(`{ ${RUN} { agent { id name handle version project { handle name } } } }`)).toEqual(["runs:read"]);
  expect(needs(`{ ${RUN} { agent { draft { revision } } } }`).scopes).toEqual({
    "runs:read": "Query.run",
    "agents:read": "Agent.draft",
  });
  expect(scopes('{ agent(id: "x") { definition runs { nodes { id } } } }')).toEqual(["agents:read", "runs:read"]);
  expect(scopes("{ caller { apiKey { id name hint } } }")).toEqual(["admin"]);
});

test("what is public needs nobody, and one field that is not needs a caller", () => {
  expect(needs("{ __typename }")).toEqual({ signIn: false, scopes: {} });
  expect(needs('mutation { login(email: "", password: "") { accessToken } }')).toEqual({ signIn: false, scopes: {} });
  expect(needs(`{ ${RUN} { status } }`).signIn).toBe(true);
  expect(needs('mutation { login(email: "", password: "") { expiresAt } logout { id } }').signIn).toBe(true);
  expect(needs("{ __schema { types { name } } }")).toEqual({ signIn: true, scopes: {} });
  expect(needs('{ __type(name: "Run") { name } }').signIn).toBe(true);
});

test("a mutation's scope carries what it answers, and not what that leads on to", () => {
  expect(scopes(`mutation { ${START} { id status input output error { detail } steps { name output } } }`)).toEqual([
    "runs:start",
  ]);
  expect(scopes(`mutation { ${START} { stepsConnection { nodes { attempts { error { detail } } } } } }`)).toEqual([
    "runs:start",
  ]);
  expect(scopes(`mutation { ${START} { agent { name } project { name } startedBy { id name } } }`)).toEqual([
    "runs:start",
  ]);
  expect(scopes(`mutation { ${START} { agent { definition } } }`)).toEqual(["runs:start", "agents:read"]);
  for (const more of [
    "approvals { nodes { id } }",
    "parent { id }",
    "children { nodes { id } }",
    "steps { child { id } }",
  ])
    expect(scopes(`mutation { ${START} { ${more} } }`), more).toEqual(["runs:start", "runs:read"]);
  // A run that the caller may not have seen before.
  expect(scopes('mutation { cancelRun(runId: "x") { id status cancelledAt } }')).toEqual(["runs:cancel"]);
  expect(scopes('mutation { cancelRun(runId: "x") { output } }')).toEqual(["runs:cancel", "runs:read"]);
  expect(scopes('mutation { rerunRun(input: {runId: "x"}) { input } }')).toEqual(["runs:start", "runs:read"]);
});

test("what comes with one mutation does not come with another, nor further below", () => {
  const both = `mutation { ${START} { output } cancelRun(runId: "x") { output } }`;
  expect(needs(both).scopes).toEqual({
    "runs:start": "Mutation.runAgent",
    "runs:cancel": "Mutation.cancelRun",
    "runs:read": "Run.output",
  });
  const shared = `mutation { ${START} { ...F } cancelRun(runId: "x") { ...F } } fragment F on Run { output }`;
  expect(needs(shared).scopes).toEqual(needs(both).scopes);
});

test("fragments, inline fragments, interfaces and aliases hide nothing", () => {
  const spread = `{ a: ${RUN} { ...A } } fragment A on Run { b: agent { ...B } } fragment B on Agent { ... { ... on Node { ... on Agent { c: draft { revision } } } } }`;
  expect(scopes(spread)).toEqual(["runs:read", "agents:read"]);
  expect(scopes("query { ...Q } fragment Q on Query { apiKeys { nodes { id } } }")).toEqual(["admin"]);
  expect(scopes('{ node(id: "x") { id __typename ... on Agent { name } ... on Run { status } } }')).toEqual([]);
  expect(scopes('{ node(id: "x") { ... on Agent { definition } ... on Run { output } } }')).toEqual([
    "agents:read",
    "runs:read",
  ]);
});

test("only the operation that is executed counts, and what is skipped counts too", () => {
  expect(scopes(`query A { ${RUN} { id } } query B { apiKeys { nodes { id } } }`)).toEqual(["runs:read"]);
  expect(scopes(`query($no: Boolean!) { ${RUN} { agent { draft @include(if: $no) { revision } } } }`)).toEqual([
    "runs:read",
    "agents:read",
  ]);
  expect(scopes(`{ ${RUN} { agent { draft @skip(if: true) { revision } } } }`)).toEqual(["runs:read", "agents:read"]);
});

test("a fragment is walked once however often it is spread", () => {
  const chain = Array.from(
    { length: 60 },
    (_, n) => `fragment F${n} on Run { parent { ...F${n + 1} } retryOf { ...F${n + 1} } }`,
  ).join(" ");
  const text = `mutation { ${START} { ...F0 } } ${chain} fragment F60 on Run { agent { draft { revision } } }`;
  // 2^60 places: it would not come to an end.
  const document = parse(text);
  const { scopes: found } = needsOf(schema, access, document, document.definitions[0] as never);
  expect([...found.keys()]).toEqual(["runs:start", "runs:read", "agents:read"]);
});
