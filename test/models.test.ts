/** Model connections: a project's default reads its sentences, its key goes to its own server alone, and a test says what it can do. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { startTestServer, type Data, type TestServer } from "./client.ts";
import { events, json, startLlmService, status, toolCall, type LlmService } from "./llm-service.ts";
import { PROTOCOLS } from "./model-protocols.ts";
import { runOf } from "./runs.ts";

const KEY = "sk-planted-key";
const OPERATORS_KEY = "sk-operators-key";
/** As Azure wants them. */
const HEADER = "Api-Key";
const VERSION = "api-version=2024-10-21";
let operators: LlmService;
let projects: LlmService;
let server: TestServer;
beforeAll(async () => {
  [operators, projects] = [await startLlmService(), await startLlmService()];
  const env = {
    LLM_BASE_URL: `${operators.url}/?${VERSION}`,
    LLM_MODEL: "operators-model",
    LLM_API_KEY: OPERATORS_KEY,
    LLM_API_KEY_HEADER: HEADER,
    OUTBOUND_ALLOW: "127.0.0.1/32",
  };
  server = await startTestServer({ env });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await operators[Symbol.asyncDispose]();
  await projects[Symbol.asyncDispose]();
});
beforeEach(async () => {
  operators.asked.length = projects.asked.length = 0;
  // Each test asks as if nobody had asked before.
  await server.clock.advance(61_000);
});

const CONNECTION = `id name provider baseUrl model hasKey apiKeyHeader isDefault
  prices { inputPerMillion outputPerMillion cachedInputPerMillion currency } limits { concurrency tokensPerDay costPerDay }`;
const CREATE = `mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { ${CONNECTION} } }`;
const UPDATE = `mutation($input: UpdateModelConnectionInput!) { updateModelConnection(input: $input) { ${CONNECTION} } }`;
const DELETE = "mutation($input: DeleteModelConnectionInput!) { deleteModelConnection(input: $input) { name } }";
const TEST = `mutation($input: TestModelConnectionInput!) { testModelConnection(input: $input) {
  duration answeredBy hasTools hasStructuredOutput problem detail } }`;

async function create(own: object = {}): Promise<Data> {
  const input = {
    projectId: server.world.projectId,
    name: "cheap",
    provider: "openai_compatible",
    baseUrl: projects.url,
    model: "small",
    apiKey: KEY,
    ...own,
  };
  return (await server.data(CREATE, { input })).createModelConnection;
}
const change = async (id: string, changes: object): Promise<Data> =>
  (await server.data(UPDATE, { input: { modelConnectionId: id, ...changes } })).updateModelConnection;
const remove = (id: string): Promise<Data> => server.data(DELETE, { input: { modelConnectionId: id } });
const tested = async (id: string): Promise<Data> =>
  (await server.data(TEST, { input: { modelConnectionId: id } })).testModelConnection;

test("is listed, changed and deleted; its key is shown to nobody", async () => {
  const made = await create({
    prices: { inputPerMillion: 0.1, outputPerMillion: 0.4, currency: "EUR" },
    limits: { concurrency: 2, tokensPerDay: 3_000_000_000 },
  });
  expect(made).toMatchObject({
    name: "cheap",
    provider: "openai_compatible",
    baseUrl: projects.url,
    hasKey: true,
    apiKeyHeader: null,
    isDefault: false,
    prices: { inputPerMillion: 0.1, outputPerMillion: 0.4, cachedInputPerMillion: null, currency: "EUR" },
    limits: { concurrency: 2, tokensPerDay: 3_000_000_000, costPerDay: null },
  });
  const LIST = `query($projectId: ID!, $id: ID!) { modelConnections(projectId: $projectId) { ${CONNECTION} }
    node(id: $id) { ... on ModelConnection { ${CONNECTION} } } }`;
  const { projectId } = server.world;
  expect(await server.data(LIST, { projectId, id: made.id })).toEqual({ modelConnections: [made], node: made });
  expect(await change(made.id, { limits: null, prices: null, name: "dear" })).toEqual({
    ...made,
    name: "dear",
    limits: null,
    prices: null,
  });
  expect(JSON.stringify(await server.data(LIST, { projectId, id: made.id }))).not.toContain("planted");
  await remove(made.id);
  expect(
    (await server.data(`query($projectId: ID!) { modelConnections(projectId: $projectId) { id } }`, { projectId }))
      .modelConnections,
  ).toEqual([]);
});

test("the default reads the sentences of its project's agents, with its key; without one the operator's model does", async () => {
  const agentId = await publish(server, "three");
  const draft = async (): Promise<string> =>
    (
      await server.data("mutation($input: DraftInput!) { draftRunInput(input: $input) { reader modelProblem } }", {
        input: { agentId, text: "n 7", timezone: "UTC" },
      })
    ).draftRunInput;
  operators.replies = projects.replies = [{ fields: { n: { value: 7, words: "7" } } }];
  const made = await create({ name: "reader" });
  expect(await draft()).toEqual({ reader: "model", modelProblem: null });
  expect([operators.asked.length, projects.asked.length]).toEqual([1, 0]);
  await change(made.id, { isDefault: true });
  expect(await draft()).toEqual({ reader: "model", modelProblem: null });
  expect([operators.asked.length, projects.asked.length]).toEqual([1, 1]);
  expect(projects.asked[0]).toMatchObject({ authorization: `Bearer ${KEY}`, body: { model: "small" } });
  expect(JSON.stringify(operators.asked)).not.toContain("planted");
  expect(operators.asked[0]).toMatchObject({
    path: `/v1/chat/completions?${VERSION}`,
    headers: { [HEADER.toLowerCase()]: OPERATORS_KEY },
    authorization: undefined,
  });
  await remove(made.id);
  expect(await draft()).toMatchObject({ reader: "model" });
  expect([operators.asked.length, projects.asked.length]).toEqual([2, 1]);
});

test("a test says who answered and what it can do", async () => {
  const { id } = await create({ name: "tested" });
  projects.replies = [{ ok: true }, toolCall("confirm", { ok: true })];
  expect(await tested(id)).toMatchObject({
    answeredBy: "test-model",
    hasTools: true,
    hasStructuredOutput: true,
    problem: null,
    detail: null,
  });
  expect(projects.asked.map(({ body }) => [body.response_format?.type, body.tools?.[0].function.name])).toEqual([
    ["json_schema", undefined],
    [undefined, "confirm"],
  ]);
  projects.replies = [status(400), { ok: true }, status(422)];
  expect(await tested(id)).toMatchObject({ hasTools: false, hasStructuredOutput: false, problem: null });
  const failing: [LlmService["replies"][0], string, string][] = [
    [status(401), "unauthorized", "refused the key (401)"],
    [status(404), "not_found", "no such address or model"],
    ["Hello!", "unusable", "not with the JSON object"],
  ];
  for (const [reply, problem, detail] of failing) {
    projects.replies = [reply];
    expect(await tested(id)).toMatchObject({ problem, detail: expect.stringContaining(detail), hasTools: null });
  }
  await server.clock.advance(61_000);
  projects.replies = [status(503, { "retry-after": "30" })];
  expect(await tested(id)).toMatchObject({ problem: "failed" });
  // Nobody asks it again until then.
  const asked = projects.asked.length;
  expect(await tested(id)).toMatchObject({ problem: "rate_limited", detail: expect.stringContaining("pause") });
  expect(projects.asked).toHaveLength(asked);
  await remove(id);
});

const USAGE = "query($id: ID!) { run(id: $id) { usage { inputTokens outputTokens cachedInputTokens cost currency } } }";
const SCHEMA = "schema: {type: object, properties: {category: {enum: [billing, bug]}}, required: [category]}";

test.each(Object.entries(PROTOCOLS))(
  "%s is asked in its own protocol, and its answer, its tokens and its end are read",
  async (provider, { path, header: [name, value], answer, stream, most }) => {
    const prices = { inputPerMillion: 1, outputPerMillion: 2, cachedInputPerMillion: 0.5, currency: "EUR" };
    const { id } = await create({ name: provider, provider, prices });
    const ask = (more: string): string =>
      `do: [{ask: {call: 'llm:1.0.0@default', with: {connection: ${provider}, system: You sort mail., prompt: It broke., maxTokens: 50${more}}}}]`;
    projects.replies = [events(stream(['{"category":', '"bug"}'], "stop"))];
    const run = await runOf(server, ask(`, ${SCHEMA}`));
    expect(run).toMatchObject({ status: "completed", output: { category: "bug" } });
    expect((await server.data(USAGE, { id: run.id })).run.usage).toEqual({
      inputTokens: 100,
      outputTokens: 20,
      cachedInputTokens: 60,
      cost: expect.closeTo((40 + 60 * 0.5 + 20 * 2) / 1_000_000, 12),
      currency: "EUR",
    });
    const [asked] = projects.asked;
    expect(asked).toMatchObject({ path, headers: { [name]: value(KEY) }, key: expect.stringMatching(/^[\w-]{22}$/) });
    expect(most(asked!.body)).toBe(50);
    const body = JSON.stringify(asked!.body);
    for (const words of ["You sort mail.", "It broke.", "billing"]) expect(body).toContain(words);
    expect(JSON.stringify([run, asked!.path, body])).not.toContain("planted");
    // Some answer as a whole what was asked for as a stream.
    projects.replies = [json(answer("Once upon", "length"))];
    expect((await runOf(server, ask(""))).error).toMatchObject({
      type: expect.stringMatching(/model-answer$/),
      detail: "the answer was cut by maxTokens (50). It begins: Once upon",
    });
    expect(projects.asked).toHaveLength(2);
    await remove(id);
  },
);

test.each(Object.entries(PROTOCOLS))(
  "a gateway that takes %s with a header of its own and a query gets the key in no other header",
  async (provider, { path, header: [name], answer, stream }) => {
    const baseUrl = `${projects.url}/deployments/small?${VERSION}`;
    const { id } = await create({ name: `gateway-${provider}`, provider, baseUrl, apiKeyHeader: HEADER });
    projects.think = ({ headers }) =>
      headers[HEADER.toLowerCase()] === KEY && headers[name] === undefined
        ? events(stream(["Hi"], "stop"))
        : status(401);
    const ask = `do: [{ask: {call: 'llm:1.0.0@default', with: {connection: gateway-${provider}, prompt: Hi}}}]`;
    expect(await runOf(server, ask)).toMatchObject({ status: "completed", output: "Hi" });
    const [place, query] = path.replace("/v1/", "/v1/deployments/small/").split("?");
    expect(projects.asked.map((asked) => asked.path)).toEqual([
      `${place}?${query === undefined ? "" : `${query}&`}${VERSION}`,
    ]);
    // An endpoint may repeat the key: in its answer nobody reads it.
    projects.think = ({ headers }) => json(answer(`You sent ${String(headers[HEADER.toLowerCase()])}`, "stop"));
    const told = await runOf(server, ask);
    expect(told).toMatchObject({ status: "completed", output: "You sent [redacted]" });
    projects.think = () => (response) =>
      void response.writeHead(403).end(JSON.stringify({ error: { message: `Not with ${KEY}`, type: "test" } }));
    const refused = await runOf(server, ask);
    expect(refused).toMatchObject({ status: "failed" });
    expect(JSON.stringify([told, refused])).not.toContain("planted");
    projects.think = undefined;
    await remove(id);
  },
);

test("a key goes in another header only if it is given again", async () => {
  const { id } = await create({ name: "headers" });
  const { errors } = await server.graphql(UPDATE, { input: { modelConnectionId: id, apiKeyHeader: HEADER } });
  expect(errors![0]!.extensions).toMatchObject({
    code: "BAD_USER_INPUT",
    fields: [{ path: "input.apiKey", code: "required" }],
  });
  expect(await change(id, { apiKeyHeader: HEADER, apiKey: KEY })).toMatchObject({ apiKeyHeader: HEADER, hasKey: true });
  projects.replies = [{ ok: true }, toolCall("confirm", { ok: true })];
  expect(await tested(id)).toMatchObject({ problem: null, hasTools: true });
  expect(projects.asked.map(({ headers, authorization }) => [headers[HEADER.toLowerCase()], authorization])).toEqual([
    [KEY, undefined],
    [KEY, undefined],
  ]);
  await remove(id);
});

test("an author's model that goes into a path leads to no other place of the server", async () => {
  const { id } = await create({ name: "paths", provider: "google" });
  projects.replies = [json(PROTOCOLS["google"]!.answer("Hi", "stop"))];
  const askFor = (model: string): Promise<Data> =>
    runOf(server, `do: [{ask: {call: 'llm:1.0.0@default', with: {connection: paths, prompt: Hi, model: '${model}'}}}]`);
  for (const model of ["../../admin", "models/./small", "models//small"])
    expect((await askFor(model)).error.detail).toBe("the model's name is not a path");
  expect(projects.asked).toEqual([]);
  await askFor("admin?key=1#/small");
  expect(projects.asked[0]!.path).toMatch(/^\/v1\/admin%3Fkey%3D1%23\/small:streamGenerateContent\?alt=sse$/);
  await remove(id);
});

test("an organization tests at most so often a minute", async () => {
  const { id } = await create({ name: "often" });
  projects.replies = [{ ok: true }];
  for (let times = 0; times < LIMITS.llmTestsPerMinute; times++) await tested(id);
  const { errors } = await server.graphql(TEST, { input: { modelConnectionId: id } });
  expect(errors![0]!.extensions).toMatchObject({ code: "RATE_LIMITED", retryAfter: expect.any(Number) });
  await remove(id);
});

test("a connection of a project passes the guard: a metadata service is closed to it", async () => {
  const { id } = await create({ name: "inward", baseUrl: "http://169.254.169.254/v1" });
  expect(await tested(id)).toMatchObject({ problem: "unreachable" });
  await remove(id);
});

test("refuses with the field, and keeps the key that came with it out of what it says", async () => {
  const input = {
    projectId: server.world.projectId,
    name: "two words",
    provider: "openai_compatible",
    model: "m",
    apiKey: "sk planted",
  };
  const { errors } = await server.graphql(CREATE, { input });
  expect(errors![0]!.extensions).toMatchObject({
    code: "BAD_USER_INPUT",
    fields: [{ path: "input.name" }, { path: "input.baseUrl" }, { path: "input.apiKey" }],
  });
  expect(JSON.stringify(errors)).not.toContain("planted");
});
