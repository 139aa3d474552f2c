/** The limits of a query, before anything of it is executed. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { getIntrospectionQuery } from "graphql";
import { expect, test } from "vitest";
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import { createDocuments } from "./documents.ts";
import { GraphqlRefusal } from "./errors.ts";
import { createSchema } from "../schema.ts";

const schema = createSchema();
const documents = createDocuments(schema);
const operation = (text: string, variables: Record<string, unknown> = {}, name?: string) =>
  documents.operation(text, name, variables);

const refusalOf = (text: string, variables: Record<string, unknown> = {}): { code: string; message: string } => {
  try {
    operation(text, variables);
  } catch (error) {
    if (error instanceof Refusal || error instanceof GraphqlRefusal) return error;
    throw error;
  }
  throw new Error(`not refused: ${text.slice(0, 200)}`);
};

const nested = (depth: number): string =>
  `{ run(id: "1") { agent ${"{ runs { nodes { agent ".repeat(depth)}{ id }${" } } }".repeat(depth)} } }`;

const short = ([text, code]: readonly [string, string]) => ({ title: `${code}: ${text.slice(0, 60)}`, text, code });

test.for(
  (
    [
      ["{", "GRAPHQL_PARSE_FAILED"],
      ["", "GRAPHQL_PARSE_FAILED"],
      ["{ nothing }", "GRAPHQL_VALIDATION_FAILED"],
      ["{ agents(project: 1) { id } }", "GRAPHQL_VALIDATION_FAILED"],
      ["{ me }", "GRAPHQL_VALIDATION_FAILED"],
      ["query A { me { id } } query B { me { id } }", "GRAPHQL_VALIDATION_FAILED"],
      ["fragment F on User { id }", "GRAPHQL_VALIDATION_FAILED"],
      ["{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }", "GRAPHQL_VALIDATION_FAILED"],
      [
        'mutation { a: login(email: "a", password: "b") { expiresAt } b: login(email: "a", password: "c") { expiresAt } }',
        "GRAPHQL_VALIDATION_FAILED",
      ],
      [
        'mutation { ...L b: login(email: "a", password: "c") { expiresAt } } fragment L on Mutation { login(email: "a", password: "b") { expiresAt } }',
        "GRAPHQL_VALIDATION_FAILED",
      ],
      [nested(3), "QUERY_TOO_COMPLEX"],
      [`{ ${Array.from({ length: 31 }, (_, index) => `a${index}: __typename`).join(" ")} }`, "QUERY_TOO_COMPLEX"],
      [`{ me { id ${"@include(if: true) ".repeat(6)} } }`, "QUERY_TOO_COMPLEX"],
      [`{ ${"__typename ".repeat(2_001)} }`, "QUERY_TOO_COMPLEX"],
      [`{ me(a: ${"[".repeat(70)}1${"]".repeat(70)}) { id } }`, "QUERY_TOO_COMPLEX"],
      [`{ ${"a { ".repeat(100_000)}`, "QUERY_TOO_COMPLEX"],
      ["{ runs(first: 200) { nodes { steps { number } } } }", "QUERY_TOO_COMPLEX"],
      ["{ agents { runs(first: 20) { nodes { id } } } }", "QUERY_TOO_COMPLEX"],
    ] as const
  ).map(short),
)("$title", ({ text, code }) => {
  expect(refusalOf(text).code).toBe(code);
});

test("refusals never suggest names of the schema", () => {
  const { message } = refusalOf("{ agent(idd: 1) { id } }");
  const { message: field } = refusalOf("{ agnts { id } }");
  expect(message + field).not.toMatch(/did you mean/i);
});

const repeat = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(" ");

const HOSTILE = {
  // 2^24 visits by any walk that does not remember; 2^40 ended the process.
  "a chain of fragments that each spread the next twice": `{ ...F0 } ${repeat(24, (index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`)} fragment F24 on Query { me { id } }`,
  "the same in __schema": `{ __schema { ...F0 } } ${repeat(24, (index) => `fragment F${index} on __Schema { ...F${index + 1} ...F${index + 1} }`)} fragment F24 on __Schema { types { name } }`,
  "a chain whose end has a variable": `query ($n: Int) { ...F0 } ${repeat(24, (index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`)} fragment F24 on Query { runs(first: $n) { nodes { id } } }`,
  "many operations over many fragments": `${repeat(150, (index) => `query Q${index} { ...F0 }`)} ${repeat(60, (index) => `fragment F${index} on Query { ...F${index + 1} }`)} fragment F60 on Query { me { id } }`,
  "fragments that all spread each other": `{ ...F0 } ${repeat(25, (index) => `fragment F${index} on Query { ${repeat(25, (other) => `...F${other}`)} }`)}`,
  "one field very often": `{ ${repeat(490, () => "me{id}")} }`,
  "one list within itself very often": `{ ${repeat(30, () => "runs{nodes{agent{project{id name}id}id}}")} }`,
  "one field in many fragments": `{ ${repeat(100, (index) => `...F${index}`)} } ${repeat(100, (index) => `fragment F${index} on Query{runs{nodes{id}}}`)}`,
  "many names that are not there": `{ ${repeat(1_900, (index) => `x${index}`)} }`,
  "many variables": `query (${repeat(480, (index) => `$v${index}:Int`)}) { me { id } }`,
  "one argument very often": `{ runs(${repeat(480, () => "first:1")}) { nodes { id } } }`,
  comments: `{ me { id } } ${"#\n".repeat(24_000)}`,
  "a long block string": `{ run(id: """${"\n x".repeat(16_000)}""") { id } }`,
  "a number of 49,000 digits": `{ runs(first: ${"1".repeat(49_000)}) { nodes { id } } }`,
  "more than is read": `#${"{".repeat(1_000_000)}\n{ nothing }`,
  "a string that looks nested": `{ me(a: "${'\\"{'.repeat(16_000)}") { id } }`,
  "introspection that returns": "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }",
};

test.for(Object.entries(HOSTILE))("within 100 ms of the processor: %s", ([, text]) => {
  const read = (): void => {
    try {
      // A text that was read once is cached, so each try has its own.
      createDocuments(schema).operation(text, undefined, {});
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof GraphqlRefusal)) throw error;
    }
  };
  expect(leastMs(100, read)).toBeLessThan(100);
});

test.for([
  ["characters", `{ me { id } } #${"x".repeat(LIMITS.queryCharacters)}`],
  ["characters in an alias", `{ ${"x".repeat(LIMITS.aliasCharacters + 1)}: __typename }`],
  ["fields of one name", `{ ${repeat(LIMITS.queryRepeats + 1, () => "me { id }")} }`],
  ["selections", HOSTILE["a chain of fragments that each spread the next twice"]],
  ["values", `{ runs(first: 200) { nodes { steps(first: 49) { number name kind status startedAt } } } }`],
  ["aliases", "{ __schema { a: types { name } } }"],
] as const)("QUERY_TOO_COMPLEX says that there are too many %s", ([what, text]) => {
  expect(refusalOf(text)).toMatchObject({ code: "QUERY_TOO_COMPLEX", message: expect.stringContaining(what) });
});

test("the usual queries pass, the standard introspection query among them", () => {
  for (const text of [
    getIntrospectionQuery(),
    "{ me { id name } }",
    "{ agents { id name status version } }",
    '{ run(id: "x") { id status steps { number status duration attempts { number status error { type detail } } error { type detail } } } }',
    "{ runs(first: 200) { edges { cursor node { id status agent { name project { name } } } } pageInfo { endCursor hasNextPage } } }",
    "{ runs(first: 50) { nodes { id steps(first: 100) { number status } } } }",
    "{ me { id @include(if: true) } # } } }\n}",
  ]) {
    expect(() => operation(text), text).not.toThrow();
  }
});

test("the cost is what may be read, with variables and their defaults", () => {
  const text = "query($first: Int = 5) { runs(first: $first) { nodes { steps { number } } } }";
  expect(operation(text).cost({})).toEqual({ objects: 5 * (1 + 1_000), values: 5 * (2 + 2 * 1_000) });
  expect(operation(text, { first: 9 }).cost({ first: 9 }).objects).toBe(9 * (1 + 1_000));
  expect(refusalOf(text, { first: 10 })).toMatchObject({ code: "QUERY_TOO_COMPLEX" });
  expect(operation("{ caller { user { id } role } }").cost({})).toEqual({ objects: 2, values: 4 });
  expect(operation("{ ...F } fragment F on Query { me { id } agents { inputFields { name } } }").cost({}).objects).toBe(
    1 + 1_000,
  );
});

test("an explicit null costs as much as it reads: all that there may be", () => {
  const text = "query($first: Int = 1) { runs { nodes { steps(first: $first) { number } } } }";
  expect(operation(text).cost({}).objects).toBe(50 * (1 + 1));
  expect(refusalOf(text, { first: null }).code).toBe("QUERY_TOO_COMPLEX");
  expect(refusalOf(text, { first: "1" }).code).toBe("QUERY_TOO_COMPLEX");
  expect(refusalOf(text.replace("= 1", "= null")).code).toBe("QUERY_TOO_COMPLEX");
  expect(refusalOf(text.replace("= 1", "")).code).toBe("QUERY_TOO_COMPLEX");
  expect(refusalOf("{ runs { nodes { steps(first: null) { number } } } }").code).toBe("QUERY_TOO_COMPLEX");
  expect(operation("{ runs(first: null) { nodes { id } } }").cost({}).objects).toBe(50);
});

test("an operation is chosen by its name", () => {
  const text = "query A { me { id } } mutation B { logout { id } }";
  expect(operation(text, {}, "B").type).toBe("mutation");
  expect(refusalOf(text)).toMatchObject({
    code: "GRAPHQL_VALIDATION_FAILED",
    message: expect.stringContaining("operationName"),
  });
  expect(() => operation(text, {}, "C")).toThrow("there is no operation named C");
  expect(() => operation(text, {}, "C".repeat(60_000))).toThrow(/^.{60,150}$/);
});

test("only login, refreshToken and setup do without the credential", () => {
  const login = 'login(email: "a", password: "b") { expiresAt }';
  expect(operation(`mutation { ${login} }`).ignoresCredential).toBe(true);
  expect(operation(`mutation { ...F } fragment F on Mutation { ${login} }`).ignoresCredential).toBe(true);
  expect(operation(`mutation { ${login} logout { id } }`).ignoresCredential).toBe(false);
  expect(operation("{ me { id } }").ignoresCredential).toBe(false);
});

test.for([true, false])("a document is prepared once, be it of a caller: %s", (isCaller) => {
  const text = `{ me { id name email } } # ${isCaller}`;
  const first = operation(text);
  expect(operation(text)).not.toBe(first);
  documents.keep(first.prepared, isCaller);
  expect(operation(text)).toBe(first);
});

test("documents kept have an end: the ones longest unused go first", () => {
  const fresh = createDocuments(schema);
  const send = (index: number) => {
    const sent = fresh.operation(`{ me { id } } #${index} ${"x".repeat(15_000)}`, undefined, {});
    fresh.keep(sent.prepared, true);
    return sent;
  };
  const first = send(0);
  for (let index = 1; index < 50; index++) send(index);
  expect(send(0)).toBe(first);
  for (let index = 50; index < 180; index++) send(index);
  expect(send(0)).not.toBe(first);
});

test.for([
  [
    "dense ones",
    400,
    (index: number) => `mutation{a${index}:runAgent(input:{agentId:"x",input:[${"{}".repeat(400)}]}){id}}`,
  ],
  ["comments", 300, (index: number) => `{a${index}:__typename}${"#\n".repeat(3_000)}`],
] as const)("whatever they are, they hold no more than 32 MiB: %s", ([, count, text]) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const held = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const fresh = createDocuments(schema);
  const before = held();
  for (let index = 0; index < count; index++) fresh.keep(fresh.operation(text(index), undefined, {}).prepared, true);
  expect((held() - before) / 2 ** 20).toBeLessThan(36);
  expect(fresh.has(text(count - 1))).toBe(true);
});

test("a text of more than 20,000 characters is not kept", () => {
  const fresh = createDocuments(schema);
  const keeps = (length: number): boolean => {
    const text = "{me{id}}#".padEnd(length, "x");
    fresh.keep(fresh.operation(text, undefined, {}).prepared, true);
    return fresh.has(text);
  };
  expect([keeps(20_000), keeps(20_001)]).toEqual([true, false]);
});

test("of the shortest, which hold 3 kB, 10,000 are kept", () => {
  const fresh = createDocuments(schema);
  const { prepared } = fresh.operation("{me{id}}", undefined, {});
  for (let index = 0; index < 15_000; index++) fresh.keep({ ...prepared, text: `{me{id}}#${index}` }, true);
  expect(fresh.has("{me{id}}#6000")).toBe(true);
  expect(fresh.has("{me{id}}#5000")).toBe(false);
});

test("strangers push out nothing of callers", () => {
  const fresh = createDocuments(schema);
  const { prepared } = fresh.operation("{me{id}}", undefined, {});
  fresh.keep({ ...prepared, text: "a caller's" }, true);
  for (let index = 0; index < 15_000; index++) fresh.keep({ ...prepared, text: `{me{id}}#${index}` }, false);
  expect(fresh.has("a caller's")).toBe(true);
  expect(fresh.has("{me{id}}#14900")).toBe(true);
  expect(fresh.has("{me{id}}#14500")).toBe(false);
});
