/** Names that every object has from its prototype, wherever a name can be given: nothing answers 500 or gives them away. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, type Data } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { scaled } from "./scale.ts";
import { startSink, type Sink } from "./sink.ts";

/** One of each kind is telling: what leads to the prototype, what every object has, and an ordinary method. */
const NAMES = scaled({
  whole: Object.getOwnPropertyNames(Object.prototype),
  part: ["__proto__", "constructor", "hasOwnProperty"],
});

let server: SharedServer;
let sink: Sink;
beforeAll(async () => {
  sink = await startSink();
  server = await sharedServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await sink[Symbol.asyncDispose]();
});

/** No crash that was masked, and no word of JavaScript's. */
function expectSober({ data, errors }: Pick<Answer, "data" | "errors">, what: string): void {
  expect(errors?.map(({ extensions }) => extensions.code) ?? [], what).not.toContain("INTERNAL_SERVER_ERROR");
  expect(JSON.stringify([data, errors]), what).not.toMatch(/native code|\[object |function [\w$]*\(|=> /);
}

test("names that nobody could see are refused wherever a name is shown", async () => {
  const unseen = "\u200b\u3164\u2060";
  const definition = `document: {dsl: '1.0.3', namespace: test, name: unseen, version: '1.0.0', title: "${unseen}"}\ndo: [{a: {set: {b: 1}}}]\n`;
  const { data, errors } = await server.graphql(
    `mutation ($name: String!, $definition: String!) {
      project: createProject(input: {handle: "unseen", name: $name}) { id }
      key: createApiKey(input: {name: $name, scopes: ["runs:read"]}) { id }
      organization: renameOrganization(input: {name: $name}) { id }
      source: publishEvent(input: {source: $name, event: "paid", id: "1", data: {}}) { id }
      event: publishEvent(input: {source: "shop", event: $name, id: "1", data: {}}) { id }
      agent: publishAgent(input: {definition: $definition}) { id }
    }`,
    { name: unseen, definition },
  );
  const places = ["project", "key", "organization", "source", "event", "agent"];
  expect(data).toEqual(Object.fromEntries(places.map((place) => [place, null])));
  expect(errors!.map(({ path, extensions }) => [path![0], extensions.code, extensions.fields![0]!.code])).toEqual(
    places.map((place) => [place, "BAD_USER_INPUT", "invalid"]),
  );
  for (const { extensions } of errors!) expect(extensions.fields![0]!.message).toContain("a visible character");
});

type Place = [what: string, definition: (name: string) => object];

const QUIET = { a: { set: { b: 1 } } };
const tasks = (...list: object[]) => ({ do: list });
/** As a name and within an expression; `__proto__` is refused as a key of the text, and may stand in values. */
const PLACES: Place[] = [
  ["a task", (name) => tasks({ [name]: { set: { b: 1 } } })],
  ["a target of then", (name) => tasks({ a: { set: { b: 1 }, then: name } })],
  ["a keyword", (name) => tasks({ a: { [name]: { b: 1 } } })],
  ["a key of the definition", (name) => ({ ...tasks(QUIET), [name]: 1 })],
  ["a key that is set", (name) => tasks({ a: { set: { [name]: "${ .x }" } } })],
  ["a key of metadata", (name) => tasks({ a: { set: { b: 1 }, metadata: { [name]: 1 } } })],
  ["a variable", (name) => tasks({ a: { set: `\${ $${name} }` } })],
  ["a variable in a text", (name) => tasks({ a: { set: { b: `\${ "\\($${name})" }` } } })],
  ["a path", (name) => tasks({ a: { set: `\${ [.${name}, .a.${name}?, has("${name}"), (.${name} // 1)] }` } })],
  ["a key that is made", (name) => tasks({ a: { set: `\${ {${name}: 1, b: 2} | .${name} }` } })],
  ["a key that is assigned", (name) => tasks({ a: { set: `\${ .${name} = 1 | del(.b) }` } })],
  ["a function of jq", (name) => tasks({ a: { set: `\${ ${name} }` } })],
  ["a function with an argument", (name) => tasks({ a: { set: `\${ ${name}(1) }` } })],
  ["a format of jq", (name) => tasks({ a: { set: `\${ @${name} "a" }` } })],
  ["a call", (name) => tasks({ a: { call: name } })],
  ["a call of the catalogue", (name) => tasks({ a: { call: `${name}:1.0.0@default`, with: {} } })],
  ["a catalogue", (name) => tasks({ a: { call: `each:1.0.0@${name}` } })],
  [
    "a loop's variable",
    (name) => tasks({ a: { for: { each: name, in: "${ [1] }" }, do: [{ b: { set: `\${ $${name} }` } }] } }),
  ],
  [
    "a caught error's variable",
    (name) => tasks({ a: { try: [{ b: { raise: { error: name } } }], catch: { as: name } } }),
  ],
  ["a retry policy", (name) => tasks({ a: { try: [QUIET], catch: { retry: name } } })],
  ["a timeout", (name) => tasks({ a: { set: { b: 1 }, timeout: name } })],
  ["an error", (name) => tasks({ a: { raise: { error: name } } })],
  [
    "names that are defined",
    (name) => ({
      use: {
        errors: { [name]: { type: "https://example.org/e", status: 400 } },
        retries: { [name]: { limit: { attempt: { count: 1 } } } },
        timeouts: { [name]: { after: "PT1S" } },
      },
      ...tasks({ a: { try: [{ b: { raise: { error: name } } }], catch: { retry: name }, timeout: name } }),
    }),
  ],
  ["a kind of definition", (name) => ({ use: { [name]: { a: 1 } }, ...tasks(QUIET) })],
  ["a function under use", (name) => ({ use: { functions: { [name]: QUIET.a } }, ...tasks({ a: { call: name } }) })],
  [
    "an authentication",
    (name) =>
      tasks({
        a: { call: "http", with: { method: "get", endpoint: { uri: sink.url, authentication: { use: name } } } },
      }),
  ],
  [
    "a scheme",
    (name) =>
      tasks({
        a: { call: "http", with: { method: "get", endpoint: { uri: sink.url, authentication: { [name]: {} } } } },
      }),
  ],
  [
    "a header",
    (name) => tasks({ a: { call: "http", with: { method: "get", endpoint: sink.url, headers: { [name]: "x" } } } }),
  ],
  [
    "headers that are made",
    (name) =>
      tasks({ a: { call: "http", with: { method: "get", endpoint: sink.url, headers: `\${ {"${name}": "x"} }` } } }),
  ],
  [
    "a query",
    (name) => tasks({ a: { call: "http", with: { method: "get", endpoint: sink.url, query: { [name]: "x" } } } }),
  ],
  [
    "a method and an output",
    (name) => tasks({ a: { call: "http", with: { method: name, endpoint: sink.url, output: name } } }),
  ],
  [
    "a name in a URL",
    (name) => tasks({ a: { call: "http", with: { method: "get", endpoint: `${sink.url}/{${name}}` } } }),
  ],
  [
    "a form's field",
    (name) => ({
      input: { schema: { document: { type: "object", properties: { [name]: { type: "string" } } } } },
      ...tasks(QUIET),
    }),
  ],
  [
    "a field's type and format",
    (name) => ({
      input: { schema: { document: { type: "object", properties: { a: { type: name, format: name } } } } },
      ...tasks(QUIET),
    }),
  ],
  [
    "a required field",
    (name) => ({
      input: { schema: { document: { type: "object", required: [name], properties: { a: { type: "string" } } } } },
      ...tasks(QUIET),
    }),
  ],
  [
    "a required field that is there",
    (name) => ({
      input: { schema: { document: { type: "object", required: [name], properties: { [name]: { type: "string" } } } } },
      ...tasks(QUIET),
    }),
  ],
  [
    "a choice",
    (name) => ({
      input: {
        schema: { document: { type: "object", properties: { a: { type: "string", enum: [name], default: name } } } },
      },
      ...tasks(QUIET),
    }),
  ],
  [
    "a schema's keyword",
    (name) => ({ output: { schema: { document: { type: "object", [name]: 1 } } }, ...tasks(QUIET) }),
  ],
  [
    "an output's property",
    (name) => ({ output: { schema: { document: { type: "object", required: [name] } } }, ...tasks(QUIET) }),
  ],
  ["a case", (name) => tasks({ a: { switch: [{ [name]: { when: "${ true }", then: "end" } }] } })],
  ["a case's target", (name) => tasks({ a: { switch: [{ b: { then: name } }] } })],
  ["a branch", (name) => tasks({ a: { fork: { branches: [{ [name]: { set: { b: 1 } } }] } } })],
  ["a workflow", (name) => tasks({ a: { run: { workflow: { namespace: "test", name, version: "latest" } } } })],
  ["another run", (name) => tasks({ a: { run: { [name]: {} } } })],
  [
    "an item",
    (name) =>
      tasks({
        a: { call: "each:1.0.0@default", with: { in: "${ [1] }", item: name, do: [{ b: { set: `\${ $${name} }` } }] } },
      }),
  ],
  ["a duration", (name) => tasks({ a: { wait: { [name]: 1 } } })],
  ["a back-off", (name) => tasks({ a: { try: [QUIET], catch: { retry: { backoff: { [name]: {} } } } } })],
  [
    "a filter of errors",
    (name) =>
      tasks({
        a: {
          try: [{ b: { raise: { error: { type: "https://example.org/e", status: 400 } } } }],
          catch: { errors: { with: { [name]: "x" } } },
        },
      }),
  ],
  [
    "an error's type and title",
    (name) => tasks({ a: { raise: { error: { type: `https://example.org/${name}`, title: name, status: 400 } } } }),
  ],
  [
    "an approval's field",
    (name) =>
      tasks({
        a: {
          call: "approval:1.0.0@default",
          with: {
            question: name,
            context: { [name]: 1 },
            form: { type: "object", properties: { [name]: { type: "string" } } },
          },
        },
      }),
  ],
  ["a tag", (name) => ({ document: { tags: { [name]: name }, metadata: { [name]: name } }, ...tasks(QUIET) })],
];

const VALIDATE =
  "query($definition: String!) { validateDefinition(definition: $definition) { valid problems { message } } }";
const RUN = `mutation($input: RunAgentInput!) { runAgent(input: $input) { status output error { type title detail } } }`;

describe("in a definition", () => {
  test.each(PLACES)("%s", async (what, definition) => {
    for (const [index, name] of NAMES.entries()) {
      const { document, ...rest } = definition(name) as { document?: object };
      const handle = `n${PLACES.findIndex(([other]) => other === what)}-${index}`;
      const head = { dsl: "1.0.3", namespace: "test", name: handle, version: "1.0.0", ...document };
      const text = JSON.stringify({ document: head, ...rest });
      expectSober(await server.graphql(VALIDATE, { definition: text }), `${what}: ${name}`);
      const input = { projectId: server.world.projectId, definition: text };
      const published = await server.graphql(
        "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
        { input },
      );
      expectSober(published, `${what}: ${name}`);
      if (published.errors) continue;
      const agentId = published.data.publishAgent.id;
      for (const given of [{}, { [name]: "x", a: 1 }, JSON.parse(`{"__proto__": {"a": 1}}`)]) {
        const ran = await server.graphql(RUN, { input: { agentId, input: given, wait: 2 } });
        expectSober(ran, `${what}: ${name}`);
        expect(ran.data?.runAgent?.error?.type ?? "", `${what}: ${name}`).not.toMatch(/internal$|crashed$/);
      }
    }
  });
});

const fields: { root: string; name: string; args: Argument[]; isLeaf: boolean }[] = [];
type Type = { kind: string; name: string | null; ofType: Type | null };
type Argument = { name: string; type: Type };
const inputs = new Map<string, Argument[]>();
const enums = new Map<string, string[]>();

const TYPE = "type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";
beforeAll(async () => {
  const { __schema: schema } = await server.data(
    `{ __schema { types { kind name inputFields { name ${TYPE} } enumValues { name } fields { name ${TYPE} args { name ${TYPE} } } } } }`,
  );
  for (const type of schema.types as Data[]) {
    if (type.kind === "INPUT_OBJECT") inputs.set(type.name, type.inputFields);
    if (type.kind === "ENUM")
      enums.set(
        type.name,
        type.enumValues.map((one: Data) => one.name),
      );
    if (type.name !== "Query" && type.name !== "Mutation") continue;
    for (const { name, args, type: of } of type.fields as Data[]) {
      let inner: Type = of;
      while (inner.ofType) inner = inner.ofType;
      fields.push({
        root: type.name.toLowerCase(),
        name,
        args,
        isLeaf: inner.kind === "SCALAR" || inner.kind === "ENUM",
      });
    }
  }
});

/** A value of the type in which every text is `name`. */
function valueOf(type: Type, name: string): string {
  if (type.kind === "NON_NULL") return valueOf(type.ofType!, name);
  if (type.kind === "LIST") return `[${valueOf(type.ofType!, name)}]`;
  if (type.kind === "ENUM") return enums.get(type.name!)![0]!;
  if (type.kind === "INPUT_OBJECT") {
    return `{${inputs
      .get(type.name!)!
      .map((field) => `${field.name}: ${valueOf(field.type, name)}`)
      .join(", ")}}`;
  }
  if (type.name === "Int" || type.name === "Float") return "1";
  if (type.name === "Boolean") return "true";
  if (type.name === "JSON") return name === "__proto__" ? "{a: 1}" : `{${name}: {${name}: 1}}`;
  return JSON.stringify(name);
}

describe("in a request", () => {
  test("every argument of every field", async () => {
    expect(fields.length).toBeGreaterThan(20);
    for (const { root, name: field, args, isLeaf } of fields) {
      if (args.length === 0 || field === "logout") continue;
      for (const name of NAMES) {
        const given = args.map((one) => `${one.name}: ${valueOf(one.type, name)}`).join(", ");
        const query = `${root} { ${field}(${given}) ${isLeaf ? "" : "{ __typename }"} }`;
        expectSober(await server.graphql(query), query);
      }
    }
  });

  test("names of the document's own", async () => {
    for (const name of NAMES) {
      const documents: [string, object?][] = [
        [`{ ${name} }`],
        [`{ me { ${name} } }`],
        [`{ ${name}: me { ${name}: id } }`],
        [`query ${name} { me { id } }`],
        [`query ($${name}: Int) { runs(first: $${name}) { nodes { id } } }`],
        [`query ($${name}: Int) { runs(first: $${name}) { nodes { id } } }`, { [name]: 2 }],
        [`query ($a: ${name}) { runs(first: $a) { nodes { id } } }`, { a: 2 }],
        [`query ($a: Int) { runs(first: $a) { nodes { id } } }`, JSON.parse(`{"${name}": 1, "a": 1}`)],
        [`{ ...${name} } fragment ${name} on Query { me { id } }`],
        [`{ ...${name} }`],
        [`{ me { ... on ${name} { id } } }`],
        [`{ me @${name} { id } }`],
        [`{ runs(${name}: 1) { nodes { id } } }`],
        [`{ runs(filter: {${name}: 1}) { nodes { id } } }`],
        [`{ runs(filter: {status: ${name}}) { nodes { id } } }`],
        [`{ __type(name: "${name}") { name } }`],
        [`{ node(id: "${name}_01h455vb4pex5vsknk084sn02q") { id } }`],
      ];
      for (const [query, variables] of documents) {
        const answer = await server.graphql(query, variables as Record<string, unknown>);
        expectSober(answer, query);
      }
      const aliased = await server.graphql(`{ ${name}: me { id } }`);
      expect(Object.keys(aliased.data as object)).toEqual([name]);
    }
  });

  test("headers", async () => {
    for (const name of NAMES.filter((one) => !one.startsWith("__"))) {
      for (const headers of [{ [name]: "x" }, { authorization: name }, { "idempotency-key": name }, { accept: name }]) {
        const response = await fetch(`${server.url}/graphql`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify({ query: "{ me { id } }", operationName: name }),
        });
        expect(response.status).toBeLessThan(500);
        expect(await response.text()).not.toContain("INTERNAL_SERVER_ERROR");
      }
      expect((await fetch(`${server.url}/${name}`)).status).toBe(404);
    }
  });
});
