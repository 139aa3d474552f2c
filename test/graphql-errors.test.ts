/** Refusals, with their code and HTTP status: docs/errors.md and the rules of GraphQL over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeApiKey } from "../server/src/auth/api-key.ts";
import { DEFINITIONS, publish } from "./agents.ts";
import { type ShownError } from "./client.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
let three: string;
beforeAll(async () => {
  server = await sharedServer();
  three = await publish(server, "three");
});
afterAll(() => server[Symbol.asyncDispose]());

type Sent = { body?: string; headers?: Record<string, string>; method?: string; token?: string | null };
type Got = {
  status: number;
  type: string | null;
  code: string | undefined;
  error: ShownError | undefined;
  headers: Headers;
  data: unknown;
};

const RESPONSE_TYPE = "application/graphql-response+json";

async function send({ body, headers = {}, method = "POST", token = server.world.apiKey }: Sent): Promise<Got> {
  const response = await fetch(`${server.url}/graphql`, {
    method,
    headers: {
      "content-type": "application/json",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const { data, errors } = (text === "" ? {} : JSON.parse(text)) as { data?: unknown; errors?: ShownError[] };
  const error = errors?.[0];
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    code: error?.extensions.code,
    error,
    headers: response.headers,
    data,
  };
}
const ask = (query: string, variables?: object, more: Sent = {}) =>
  send({ body: JSON.stringify({ query, variables }), ...more });
const asResponseType = { headers: { accept: RESPONSE_TYPE } };

describe("a request as a whole", () => {
  test.for([
    ["no JSON", "{", 400, "BAD_REQUEST"],
    ["nothing", "", 400, "BAD_REQUEST"],
    ["a list", '[{"query":"{me{id}}"}]', 400, "BAD_REQUEST"],
    ["a string", '"{me{id}}"', 400, "BAD_REQUEST"],
    ["no query", "{}", 400, "BAD_REQUEST"],
    ["a query that is no string", '{"query":1}', 400, "BAD_REQUEST"],
    ["variables that are no object", '{"query":"{me{id}}","variables":[]}', 400, "BAD_REQUEST"],
    ["an operationName that is no string", '{"query":"{me{id}}","operationName":1}', 400, "BAD_REQUEST"],
    ["__proto__", '{"query":"{me{id}}","variables":{"__proto__":{"a":1}}}', 400, "BAD_REQUEST"],
    ["nesting", `{"query":"{me{id}}","variables":{"a":${"[".repeat(70)}${"]".repeat(70)}}}`, 400, "BAD_REQUEST"],
    ["nesting of a million", "[".repeat(1_000_000), 400, "BAD_REQUEST"],
    ["more than 1 MiB", `{"query":"${"#".repeat(1024 * 1024)}"}`, 413, "REQUEST_ENTITY_TOO_LARGE"],
  ] as const)("%s", async ([, body, status, code]) => {
    expect(await send({ body })).toMatchObject({ status, code });
    expect(await send({ body, ...asResponseType })).toMatchObject({
      status,
      code,
      type: `${RESPONSE_TYPE}; charset=utf-8`,
    });
  });

  test("null for what is optional is as if it were missing", async () => {
    expect(
      await send({ body: '{"query":"{me{id}}","variables":null,"operationName":null,"extensions":null}' }),
    ).toMatchObject({ status: 200, code: undefined });
  });

  test.for(["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])("%s is 405", async (method) => {
    const got = await send({ method });
    expect(got).toMatchObject({ status: 405 });
    expect(got.headers.get("allow")).toBe("POST");
  });

  test.for([
    ["text/plain", 415],
    ["application/x-www-form-urlencoded", 415],
    ["multipart/form-data; boundary=x", 415],
    ["application/json; charset=iso-8859-1", 415],
    ["application/graphql", 415],
    ["application/json; charset=utf-8", 200],
    ["application/json;charset=UTF-8", 200],
  ] as const)("Content-Type %s is %i", async ([type, status]) => {
    expect((await ask("{ me { id } }", {}, { headers: { "content-type": type } })).status).toBe(status);
  });

  test("a compressed body is 415, a body that is not UTF-8 400", async () => {
    expect((await ask("{ me { id } }", {}, { headers: { "content-encoding": "gzip" } })).status).toBe(415);
    const response = await fetch(`${server.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new Uint8Array([...Buffer.from('{"query":"{me{id}} #'), 0xff, ...Buffer.from('"}')]),
    });
    expect(response.status).toBe(400);
  });

  test("a bad credential is 401 with WWW-Authenticate; none is a 200 that says so", async () => {
    for (const token of ["nonsense", "ag_live_nonsense", "eyJhbGciOiJub25lIn0.e30.", `${server.world.apiKey}x`]) {
      const got = await ask("{ me { id } }", {}, { token });
      expect(got, token).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
      expect(got.headers.get("www-authenticate")).toBe("Bearer");
    }
    expect(await ask("{ me { id } }", {}, { token: null, headers: { authorization: "Basic YTpi" } })).toMatchObject({
      status: 401,
      error: { message: expect.stringContaining("must be: Bearer") },
    });
    expect(await ask("{ me { id } }", {}, { token: null })).toMatchObject({
      status: 200,
      code: "UNAUTHENTICATED",
      data: null,
    });
    expect(await ask("{ __typename }", {}, { token: null })).toMatchObject({
      status: 200,
      data: { __typename: "Query" },
    });
  });
});

test("a wrong credential is called what it looks like, whether or not there is such a one", async () => {
  const { email, password } = server.world;
  const { login } = await server.data(
    "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken refreshToken } }",
    { email, password },
    null,
  );
  const { createApiKey } = await server.data(
    'mutation { createApiKey(input: {name: "for its id", scopes: ["runs:read"]}) { id } }',
  );
  const of = async (token: string): Promise<string> => (await ask("{ me { id } }", {}, { token })).error!.message;
  const madeUp = `rt_${"A".repeat(91)}`;
  const changed = login.accessToken.replace(/.$/, (last: string) => (last === "A" ? "Q" : "A"));
  expect(await of(login.refreshToken)).toMatch(/^this is a refresh token/);
  expect(await of(madeUp)).toBe(await of(login.refreshToken));
  expect(await of(changed)).toMatch(/^the access token is not valid or has expired/);
  expect(await of("eyJhbGciOiJub25lIn0.e30.")).toBe(await of(changed));
  expect(await of(createApiKey.id)).toMatch(/^this is the id of an API key/);
  expect(await of("key_01kb3v0000e00000000000000x")).toBe(await of(createApiKey.id));
  expect(await of(makeApiKey())).toBe("this API key is unknown, revoked or expired");
  expect(await of("ag_live_short")).toMatch(/incomplete or mistyped/);
  for (const other of ["nonsense", "sk-proj-1234", "a.b.c"]) expect(await of(other)).toMatch(/^this is neither/);

  const refreshed = async (refreshToken: string): Promise<ShownError> =>
    (
      await ask("mutation($input: RefreshTokenInput!) { refreshToken(input: $input) { expiresAt } }", {
        input: { refreshToken },
      })
    ).error!;
  expect((await refreshed(login.accessToken)).message).toMatch(/^this is an access token/);
  expect((await refreshed(server.world.apiKey)).message).toMatch(/^this is an API key/);
  expect((await refreshed(makeApiKey())).message).toMatch(/^this is an API key/);
  expect((await refreshed(madeUp)).message).toMatch(/^the refresh token is not valid or has expired/);
  expect((await refreshed("nonsense")).message).toMatch(/^this is not a refresh token/);
  expect((await refreshed("nonsense")).extensions).toEqual({ code: "UNAUTHENTICATED" });
});

describe("an operation", () => {
  test.for([
    ["GRAPHQL_PARSE_FAILED", "{ me {", {}],
    ["GRAPHQL_VALIDATION_FAILED", "{ nothing }", {}],
    ["GRAPHQL_VALIDATION_FAILED", "{ run { id } }", {}],
    ["GRAPHQL_VALIDATION_FAILED", "query A { me { id } } query B { me { id } }", {}],
    ["GRAPHQL_VALIDATION_FAILED", '{ runs(filter: {status: ["running"]}) { nodes { id } } }', {}],
    ["GRAPHQL_VALIDATION_FAILED", '{ runs(filter: {createdFrom: "yesterday"}) { nodes { id } } }', {}],
    ["BAD_USER_INPUT", "query($id: ID!) { run(id: $id) { id } }", {}],
    ["BAD_USER_INPUT", "query($id: ID!) { run(id: $id) { id } }", { id: { a: 1 } }],
    [
      "BAD_USER_INPUT",
      "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }",
      { input: { agentId: "x", other: 1 } },
    ],
    [
      "BAD_USER_INPUT",
      "query($filter: RunFilter) { runs(filter: $filter) { nodes { id } } }",
      { filter: { createdFrom: "yesterday" } },
    ],
    ["QUERY_TOO_COMPLEX", "{ runs(first: 200) { nodes { steps { number } } } }", {}],
    ["BAD_REQUEST", 'subscription { runUpdated(runId: "x") { id } }', {}],
  ] as const)("%s: %s %o", async ([code, query, variables]) => {
    const expected = code === "BAD_REQUEST" ? 400 : 200;
    const asJson = await ask(query, variables);
    expect(asJson).toMatchObject({ status: expected, code, data: undefined, type: "application/json; charset=utf-8" });
    expect(await ask(query, variables, asResponseType)).toMatchObject({ status: 400, code });
    expect(asJson.error!.message).not.toMatch(/did you mean/i);
  });

  test.for([
    ["NOT_FOUND", '{ run(id: "run_01kb3v0000e00000000000000x") { id } }', {}],
    ["NOT_FOUND", '{ run(id: "no id at all") { id } }', {}],
    ["BAD_USER_INPUT", "{ runs(first: 0) { nodes { id } } }", {}],
    ["BAD_USER_INPUT", "{ runs(first: 201) { nodes { id } } }", {}],
    ["BAD_USER_INPUT", '{ runs(after: "zzz") { nodes { id } } }', {}],
    ["BAD_USER_INPUT", 'query($id: ID = "x") { run(id: $id) { id } }', { id: null }],
  ] as const)("%s in a 200: %s", async ([code, query, variables]) => {
    expect(await ask(query, variables)).toMatchObject({ status: 200, code });
    expect(await ask(query, variables, asResponseType)).toMatchObject({ status: 200, code });
  });

  test("an error has its path and place, and what is beside it is answered", async () => {
    const { data, error } = await ask('{ me { name } missing: run(id: "x") { id } }');
    expect(data).toEqual({ me: { name: "first" }, missing: null });
    expect(error).toMatchObject({ message: "Run not found", path: ["missing"], extensions: { code: "NOT_FOUND" } });
  });

  test("a refused mutation is null by itself: those before it are answered, those after it are executed", async () => {
    const field = (name: string, handle: string): string =>
      `${name}: createProject(input: {name: "P", handle: "${handle}"}) { handle }`;
    const { status, data, errors } = await server.graphql(
      `mutation { ${field("first", "twice")} ${field("second", "twice")} ${field("third", "once")} }`,
    );
    expect({ status, data }).toEqual({
      status: 200,
      data: { first: { handle: "twice" }, second: null, third: { handle: "once" } },
    });
    expect(errors).toEqual([expect.objectContaining({ path: ["second"] })]);
    expect(errors![0]!.extensions.code).toBe("CONFLICT");
  });

  test("a refused query is null by itself, too", async () => {
    const { data, errors } = await server.graphql("{ me { name } runs(first: 0) { nodes { id } } }");
    expect(data).toEqual({ me: { name: "first" }, runs: null });
    expect(errors).toEqual([expect.objectContaining({ path: ["runs"] })]);
  });

  test("an input that breaks the form names each field, in a variable and in a literal alike", async () => {
    const expected = {
      code: "BAD_USER_INPUT",
      fields: [
        { path: "input.input.n", code: "wrong_type", message: "must be a number" },
        { path: "input.input.m", code: "unknown", message: expect.any(String) },
      ],
    };
    const variable = await ask("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId: three, input: { n: "1", m: 1 } },
    });
    const literal = await ask(`mutation { runAgent(input: {agentId: "${three}", input: {n: "1", m: 1}}) { id } }`);
    for (const { error } of [variable, literal])
      expect({
        ...error!.extensions,
        fields: error!.extensions.fields!.toSorted((a, b) => b.path.localeCompare(a.path)),
      }).toMatchObject(expected);
  });

  test("a forbidden key or deep nesting is refused in a literal, too", async () => {
    const run = (literal: string) =>
      ask(`mutation { runAgent(input: {agentId: "${three}", input: ${literal}}) { id } }`);
    expect((await run("{n: 1, __proto__: {a: 1}}")).error!.message).toMatch(/forbidden key/);
    expect((await run(`{n: ${"[".repeat(65)}${"]".repeat(65)}}`)).code).toMatch(
      /QUERY_TOO_COMPLEX|GRAPHQL_VALIDATION_FAILED/,
    );
  });

  test("introspection is for signed-in callers", async () => {
    expect(await ask("{ __schema { queryType { name } } }", {}, { token: null })).toMatchObject({
      status: 200,
      code: "UNAUTHENTICATED",
    });
    expect(await ask('{ __type(name: "Run") { name } }', {}, { token: null })).toMatchObject({
      status: 200,
      code: "UNAUTHENTICATED",
    });
    expect(await ask("{ __schema { queryType { name } } }")).toMatchObject({
      status: 200,
      data: { __schema: { queryType: { name: "Query" } } },
    });
  });

  test("wrong passwords are refused alike, and then slowed down with retryAfter", async () => {
    const attempt = (email: string) =>
      ask(
        'mutation($email: String!) { login(email: $email, password: "wrong wrong wrong") { expiresAt } }',
        { email },
        { token: null },
      );
    const known = await attempt(server.world.email);
    const unknown = await attempt("nobody@example.org");
    expect(known.error).toEqual(unknown.error);
    expect(known).toMatchObject({ status: 200, code: "UNAUTHENTICATED" });
    let last = known;
    for (let count = 0; count < 50 && last.code !== "RATE_LIMITED"; count++) last = await attempt(server.world.email);
    expect(last.error!.extensions).toMatchObject({ code: "RATE_LIMITED", retryAfter: expect.any(Number) });
  });
});

describe("why something was refused", () => {
  const createProject = 'mutation { createProject(input: {handle: "taken", name: "Taken"}) { id } }';
  const publishText = async (definition: string): Promise<ShownError["extensions"]> => {
    const { errors } = await server.graphql(
      "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
      { input: { projectId: server.world.projectId, definition } },
    );
    return errors![0]!.extensions;
  };
  const refusalOf = async (query: string, variables?: object): Promise<ShownError["extensions"]> =>
    (await ask(query, variables)).error!.extensions;
  const RUN = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";

  test("a conflict says which one", async () => {
    await server.data(createProject);
    expect(await refusalOf(createProject)).toEqual({ code: "CONFLICT", reason: "handle_taken" });
    expect(await publishText(DEFINITIONS.three.replace("one:", "uno:"))).toEqual({
      code: "CONFLICT",
      reason: "version_exists",
    });
    const input = { agentId: three, input: { n: 1 }, idempotencyKey: "reused", wait: 30 };
    const { runAgent } = await server.data(RUN, { input });
    expect(await refusalOf(RUN, { input: { ...input, input: { n: 2 } } })).toEqual({
      code: "CONFLICT",
      reason: "key_reused",
    });
    expect(await refusalOf(`mutation { cancelRun(runId: "${runAgent.id}") { id } }`)).toEqual({
      code: "CONFLICT",
      reason: "wrong_state",
    });
  });

  test("an approval that is decided is another case than one that is withdrawn", async () => {
    const agent = await publish(server, "approve");
    const asked = async (): Promise<{ runId: string; id: string }> => {
      const { runAgent } = await server.data(
        "mutation($input: RunAgentInput!) { runAgent(input: $input) { id approvals { nodes { id } } } }",
        { input: { agentId: agent, wait: 30 } },
      );
      return { runId: runAgent.id, id: runAgent.approvals.nodes[0].id };
    };
    const reject = (id: string): string =>
      `mutation { decideApproval(input: {approvalId: "${id}", decision: reject, comment: "${id}"}) { id } }`;
    const approve = (id: string): string =>
      `mutation { decideApproval(input: {approvalId: "${id}", decision: approve, answer: {costCentre: "office"}}) { id } }`;
    const decided = await asked();
    await server.data(reject(decided.id));
    expect(await refusalOf(approve(decided.id))).toEqual({ code: "CONFLICT", reason: "already_decided" });
    const withdrawn = await asked();
    await server.data(`mutation { cancelRun(runId: "${withdrawn.runId}") { id } }`);
    expect(await refusalOf(approve(withdrawn.id))).toEqual({ code: "CONFLICT", reason: "wrong_state" });
  });

  test("a bad input says which one, also when graphql itself finds it", async () => {
    const reasons = await Promise.all([
      refusalOf(RUN, { input: { agentId: three, input: { n: "1" } } }),
      refusalOf(RUN, { input: { agentId: three, other: 1 } }),
      refusalOf('query($id: ID = "x") { run(id: $id) { id } }', { id: null }),
      refusalOf('{ runs(after: "zzz") { nodes { id } } }'),
      refusalOf("mutation { logout { id } }"),
    ]);
    expect(reasons.map(({ code, reason, fields }) => [code, reason, Array.isArray(fields)])).toEqual(
      ["invalid_input", "invalid_variables", "invalid_variables", "invalid_cursor", "wrong_credential"].map(
        (reason) => ["BAD_USER_INPUT", reason, true],
      ),
    );
  });

  test("a problem of a definition has its line and column", async () => {
    const text = DEFINITIONS.three.replace("  - two: {set:", "  - two: {sett:");
    expect(await publishText(text)).toEqual({
      code: "BAD_USER_INPUT",
      reason: "invalid_definition",
      fields: [
        { path: "input.definition/do/1/two/sett", code: "invalid", message: expect.any(String), line: 5, column: 11 },
      ],
    });
  });

  test("a missing scope is named apart from the message", async () => {
    const token = await server.key(["agents:read"]);
    const { errors } = await server.graphql("{ runs { nodes { id } } events: approvals { nodes { id } } }", {}, token);
    expect(errors!.map(({ extensions }) => extensions)).toEqual([{ code: "FORBIDDEN", scope: "runs:read" }]);
    const two = await server.graphql(
      '{ runs { nodes { id } } apiKeys { nodes { id } } node(id: "run_01kb3v0000e00000000000000x") { id } }',
      {},
      token,
    );
    expect(two.errors![0]!.extensions).toEqual({ code: "FORBIDDEN", scope: "runs:read admin" });
    const byId = await server.graphql('{ node(id: "run_01kb3v0000e00000000000000x") { id } }', {}, token);
    expect(byId).toMatchObject({ data: { node: null }, errors: [{ extensions: { scope: "runs:read" } }] });
  });
});

test("a request keeps the id it came with when that can stand in a log, and gets one otherwise", async () => {
  const idOf = async (id: string): Promise<string | null> =>
    (await ask("{ me { id } }", {}, { headers: { "x-request-id": id } })).headers.get("x-request-id");
  expect(await idOf("my-request:7.a")).toBe("my-request:7.a");
  for (const bad of ["a b", "a;b", "x".repeat(129), "\u00e4"]) expect(await idOf(bad)).toMatch(/^[\w-]{8}-\w+$/);
});
