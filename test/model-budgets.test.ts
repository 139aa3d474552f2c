/** Budgets of models over the wire: a day, a run, a plan. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { beside, cli } from "./command-line.ts";
import { connectTo } from "./faults/audit.ts";
import {
  ended,
  held,
  json,
  send,
  startLlmService,
  status,
  Writing,
  type LlmService,
  type Reply,
} from "./llm-service.ts";
import { agentOf, ENDED, ran, runOf, until } from "./runs.ts";

const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
const UPDATE = "mutation($input: UpdateModelConnectionInput!) { updateModelConnection(input: $input) { id } }";
/** An answer uses 300 tokens for what was asked, and 40. */
const USED = 340;
const DAY_MS = 86_400_000;

let model: LlmService;
let server: TestServer;
beforeAll(async () => {
  model = await startLlmService();
  const own = { LLM_BASE_URL: model.url, LLM_MODEL: "own", LLM_PRICES: "1,10,0.5" };
  server = await startTestServer({ env: { ...own, OUTBOUND_ALLOW: "127.0.0.1/32" } });
});
afterAll(async () => {
  await database?.end();
  await server[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(() => {
  model.asked.length = 0;
  model.replies = ["Hello"];
});

const connect = async (name: string, own: object = {}): Promise<string> => {
  const { projectId } = server.world;
  const base = { projectId, name, provider: "openai_compatible", baseUrl: model.url, model: "small", apiKey: "sk-one" };
  return (await server.data(CREATE, { input: { ...base, ...own } })).createModelConnection.id;
};

/** An answer that used so many tokens. */
const using = (tokens: number): Reply =>
  json({
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello" } }],
    usage: { prompt_tokens: tokens, completion_tokens: 0 },
  });

const ask = (connection: string, values: string): string =>
  `do: [{ask: {call: 'llm:1.0.0@default', with: {connection: ${connection}, ${values}}}}]`;

const LIMIT = { type: expect.stringMatching(/\/limit$/), status: 429 };

test("a connection's tokens of a day are checked before each call, and free on the next day", async () => {
  await connect("daily", { limits: { tokensPerDay: 1_000 } });
  const agent = await agentOf(server, ask("daily", "prompt: Hi, maxTokens: 500"));
  await server.clock.advance(DAY_MS - ((await server.clock.now()) % DAY_MS));
  expect(await ran(server, agent)).toMatchObject({ status: "completed" });
  const today = new Date(await server.clock.now()).toISOString().slice(0, 10);
  await ran(server, agent);
  const { error } = await ran(server, agent);
  expect(error).toMatchObject({
    ...LIMIT,
    detail: expect.stringContaining(
      `may use 1000 tokens a day: ${2 * USED} tokens are used, and this call may use up to 50`,
    ),
  });
  const [, free] = /free again from (\S+) on$/.exec(error.detail)!;
  expect(Date.parse(free!) - Date.parse(today)).toBe(DAY_MS);
  expect(model.asked).toHaveLength(2);
  await server.clock.advance(DAY_MS);
  expect(await ran(server, agent)).toMatchObject({ status: "completed" });
});

test("costs of a day are those of the connection's prices, however large", async () => {
  const prices = { inputPerMillion: 1_000_000, outputPerMillion: 1_000_000, currency: "EUR" };
  const id = await connect("dear", { prices, limits: { costPerDay: 1_000_000_000_000 } });
  model.replies = [using(1e15)];
  const agent = await agentOf(server, ask("dear", "prompt: Hi, maxTokens: 1000000"));
  const { id: run } = await ran(server, agent);
  const { usage } = (await server.data("query($id: ID!) { run(id: $id) { usage { cost } } }", { id: run })).run;
  expect(usage.cost).toBe(10_000_000);
  await server.data(UPDATE, { input: { modelConnectionId: id, limits: { costPerDay: 10_500_000 } } });
  expect((await ran(server, agent)).error).toMatchObject({
    ...LIMIT,
    detail: expect.stringContaining("may use 10500000 EUR a day: 10000000 EUR are used"),
  });
});

test("a call without maxTokens is sent with one over a connection that has a limit a day", async () => {
  await connect("free");
  await connect("bound", { limits: { tokensPerDay: 10_000_000 } });
  await runOf(server, ask("free", "prompt: Hi"));
  await runOf(server, ask("bound", "prompt: Hi"));
  await runOf(server, ask("bound", "prompt: Hi, maxTokens: 7"));
  expect(model.asked.map(({ body }) => body.max_tokens)).toEqual([undefined, LIMITS.modelBudgetAnswerTokens, 7]);
});

/** The maximum that each call was sent with. */
const maxima = (): unknown[] => model.asked.map(({ body }) => body.max_tokens);

/** An organization on the smallest plan, with a connection named `own`. */
async function onFreePlan(name: string) {
  const world = await server.organization(name);
  await server.setPlan(world.organizationId, "free");
  await server.clock.advance(5_000);
  const guest = {
    world,
    data: (text: string, variables?: object) => server.data(text, { ...variables }, world.apiKey),
    graphql: (text: string, variables?: object) => server.graphql(text, { ...variables }, world.apiKey),
  };
  const { projectId } = world;
  const own = {
    projectId,
    name: "own",
    provider: "openai_compatible",
    baseUrl: model.url,
    model: "m",
    isDefault: true,
  };
  await guest.data(CREATE, { input: own });
  return guest;
}

test("without maxTokens a long answer has room in the plan's budget, or a maximum that keeps to it", async () => {
  const guest = await onFreePlan("long");
  const agent = await agentOf(guest, ask("own", "prompt: Hi"));
  // The question has nine tokens.
  const most = 1_000_000 - 9 - LIMITS.modelLongAnswerTokens;
  model.replies = [using(most), using(1), "Hello"];
  for (let times = 0; times < 3; times++) expect(await ran(guest, agent)).toMatchObject({ status: "completed" });
  expect(maxima()).toEqual([undefined, undefined, LIMITS.modelBudgetAnswerTokens]);
  model.replies = [ended("Hel", "length")];
  expect((await ran(guest, agent)).error.detail).toContain(
    `cut by the ${LIMITS.modelBudgetAnswerTokens} tokens that a call without maxTokens may use over a connection with a limit a day, or where a budget has no room for more`,
  );
});

test("without maxTokens an answer keeps to what is left of its run's budget", async () => {
  await connect("boundless");
  model.replies = [using(LIMITS.modelTokensPerRun - LIMITS.modelLongAnswerTokens), "Hello"];
  const one = "{call: 'llm:1.0.0@default', with: {connection: boundless, prompt: Hi}}";
  expect(await runOf(server, `do: [{one: ${one}}, {two: ${one}}]`)).toMatchObject({ status: "completed" });
  expect(maxima()).toEqual([undefined, LIMITS.modelBudgetAnswerTokens]);
});

test("calls that could use too much together wait for each other, without a try", async () => {
  await connect("shared", { limits: { tokensPerDay: 2_000 } });
  const hung = held();
  model.replies = [hung.reply];
  const agent = await agentOf(server, ask("shared", "prompt: Hi, maxTokens: 1500"));
  const first = await start(server, agent);
  await eventually(() => model.asked.length === 1);
  const second = await start(server, agent);
  await eventually(async () => (await sleeping()) === 1);
  hung.release(send("Hello"));
  expect((await until(server, first, ...ENDED)).status).toBe("completed");
  model.replies = ["Hello too"];
  await server.clock.advance(5_000);
  const run = await until(server, second, ...ENDED);
  expect(run).toMatchObject({ status: "completed", output: "Hello too" });
  expect(run.steps[0].attempts).toHaveLength(1);
});

let database: Awaited<ReturnType<typeof connectTo>> | undefined;
/** How many runs have left memory until a time. */
async function sleeping(): Promise<number> {
  database ??= await connectTo(server);
  return (await database.query("select 1 from runs where wake_at is not null and owner is null")).rows.length;
}

test.each([
  ["before its first text", (writing: Writing) => void writing],
  ["amid its text", (writing: Writing) => writing.text("Hel")],
])(
  "an answer that breaks off %s counts in full, an address that refuses the connection nothing",
  async (when, write) => {
    const name = `broken-${when.startsWith("amid") ? "amid" : "before"}`;
    const id = await connect(name, { limits: { tokensPerDay: 1_000 } });
    const agent = await agentOf(server, ask(name, "prompt: Hi, maxTokens: 900"));
    const typeOf = async (): Promise<string> => (await ran(server, agent)).error.type;
    await server.data(UPDATE, { input: { modelConnectionId: id, baseUrl: "http://127.0.0.1:1/v1", apiKey: "sk-one" } });
    for (let times = 0; times < 2; times++) expect(await typeOf()).toMatch(/communication$/);
    await server.data(UPDATE, { input: { modelConnectionId: id, baseUrl: model.url, apiKey: "sk-one" } });
    const writing = new Writing();
    model.replies = [
      (response) => {
        writing.reply(response);
        write(writing);
        writing.breakOff();
      },
    ];
    expect(await typeOf()).toMatch(/communication$/);
    expect(await typeOf()).toMatch(/limit$/);
    expect(model.asked).toHaveLength(1);
  },
);

test("a connection that ends without an answer counts in full", async () => {
  await connect("dropping", { limits: { tokensPerDay: 1_000 } });
  const agent = await agentOf(server, ask("dropping", "prompt: Hi, maxTokens: 900"));
  model.replies = [(response) => void response.destroy()];
  for (const type of ["communication", "limit"])
    expect((await ran(server, agent)).error.type).toMatch(new RegExp(`/${type}$`));
  expect(model.asked).toHaveLength(1);
});

test("a refused call costs nothing, one that was given up counts in full", async () => {
  await connect("failing", { limits: { tokensPerDay: 1_000 } });
  const agent = await agentOf(server, ask("failing", "prompt: Hi, maxTokens: 900"));
  model.replies = [status(500), (response) => void response.end("<html>")];
  for (const type of ["communication", "communication", "limit"]) {
    const { error } = await ran(server, agent);
    expect(error.type).toMatch(new RegExp(`/${type}$`));
  }
  expect(model.asked).toHaveLength(2);
});

test("an assistant's questions belong to the same budgets", async () => {
  await connect("helping", { limits: { tokensPerDay: 1_000 } });
  const body =
    "do: [{help: {call: 'assistant:1.0.0@default', with: {connection: helping, prompt: Hi, maxTokens: 700}}}]";
  const agent = await agentOf(server, body);
  expect(await ran(server, agent)).toMatchObject({ status: "completed", output: "Hello" });
  expect((await ran(server, agent)).error).toMatchObject({
    ...LIMIT,
    detail: expect.stringContaining("the model connection helping may use 1000 tokens a day: 340 tokens are used"),
  });
  expect(model.asked).toHaveLength(1);
});

test("a run and the runs below it have one budget, whatever else there is", async () => {
  await connect("unlimited");
  await agentOf(server, ask("unlimited", "prompt: Hi"), "spender");
  const child = "{run: {workflow: {namespace: test, name: spender, version: latest, input: {}}}}";
  model.replies = [using(LIMITS.modelTokensPerRun - 100)];
  const body = `do: [{child: ${child}}, {again: {call: 'llm:1.0.0@default', with: {connection: unlimited, prompt: Hi, maxTokens: 100}}}]`;
  const run = await runOf(server, body);
  expect(run.error).toMatchObject({
    ...LIMIT,
    instance: "/do/1/again",
    detail: expect.stringContaining("a run and the runs below it may use 10000000 tokens of models: 9999900 tokens"),
  });
  expect(model.asked).toHaveLength(1);
});

test("an organization's plan says how many tokens it may use a day; its sentences are read by rules then", async () => {
  const guest = await onFreePlan("small");
  const agentId = await agentOf(
    guest,
    `input: {schema: {format: json, document: {type: object, properties: {copies: {type: integer}}}}}
${ask("own", "prompt: Hi, maxTokens: 1000")}`,
  );
  model.replies = [using(999_500)];
  expect((await ran(guest, agentId, { copies: 1 })).status).toBe("completed");
  expect((await ran(guest, agentId, { copies: 1 })).error).toMatchObject({
    ...LIMIT,
    detail: expect.stringContaining(
      "the organization's plan (free) allows 1000000 tokens of models a day: 999500 tokens",
    ),
  });
  const draft = "mutation($input: DraftInput!) { draftRunInput(input: $input) { reader modelProblem } }";
  const { draftRunInput } = await guest.data(draft, { input: { agentId, text: "3 copies", timezone: "UTC" } });
  expect(draftRunInput).toEqual({ reader: "rules", modelProblem: "over_budget" });
  expect(model.asked).toHaveLength(1);
});

test("an endpoint that counts no tokens is counted by what was said", async () => {
  await connect("mute", { limits: { tokensPerDay: 1_000 } });
  const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "x".repeat(2_400) } }];
  model.replies = [json({ choices })];
  const agent = await agentOf(server, ask("mute", "prompt: Hi, maxTokens: 900"));
  expect(await ran(server, agent)).toMatchObject({ status: "completed" });
  expect((await ran(server, agent)).error).toMatchObject({
    ...LIMIT,
    detail: expect.stringContaining("809 tokens are used"),
  });
});

test("what was used is told by connection and day, and by agent and day; sentences and tests count", async () => {
  const prices = { inputPerMillion: 1, outputPerMillion: 10, currency: "EUR" };
  const id = await connect("told", { prices, isDefault: true });
  const agentId = await agentOf(
    server,
    `input: {schema: {format: json, document: {type: object, properties: {copies: {type: integer}}}}}
${ask("told", "prompt: Hi")}`,
    "teller",
  );
  await server.clock.advance(DAY_MS);
  const [cost, day] = [(300 * 1 + 40 * 10) / 1_000_000, new Date(await server.clock.now()).toISOString().slice(0, 10)];
  await ran(server, agentId, { copies: 1 });
  model.replies = [{ copies: { value: 3, words: "3 copies" } }];
  await server.data("mutation($input: DraftInput!) { draftRunInput(input: $input) { id } }", {
    input: { agentId, text: "3 copies", timezone: "UTC" },
  });
  const sentences = model.asked.length - 1;
  await server.data("mutation($id: ID!) { testModelConnection(input: { modelConnectionId: $id }) { problem } }", {
    id,
  });
  const calls = model.asked.length;
  expect(calls).toBeGreaterThan(1 + sentences);
  const { node, usage } = await server.data(
    `query($id: ID!) { node(id: $id) { ... on ModelConnection { spend(days: 2) { date tokens cost currency } } }
      usage(days: 1) { modelTokens modelCost agents { agent { name } tokens cost currency } } }`,
    { id },
  );
  const of = (count: number): object => ({
    tokens: count * USED,
    cost: expect.closeTo(count * cost, 9),
    currency: "EUR",
  });
  expect(node.spend).toEqual([{ date: day, ...of(calls) }]);
  const agents = [
    { agent: { name: "teller" }, ...of(1 + sentences) },
    { agent: null, ...of(calls - 1 - sentences) },
  ];
  expect(usage).toEqual([
    { modelTokens: calls * USED, modelCost: expect.closeTo(calls * cost, 9), agents: expect.arrayContaining(agents) },
  ]);
  const { errors } = await server.graphql(
    "query($id: ID!) { node(id: $id) { ... on ModelConnection { spend(days: 0) { date } } } }",
    { id },
  );
  expect(errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path: "days" }] });
  await server.clock.advance(DAY_MS);
  const later = await server.data(
    "query($id: ID!) { node(id: $id) { ... on ModelConnection { one: spend(days: 1) { date } two: spend(days: 2) { date } } } }",
    { id },
  );
  expect(later.node).toEqual({ one: [], two: [{ date: day }] });
});

test("the command line tells what a day cost, with its currency; two currencies have no sum", async () => {
  const costs = async (): Promise<string> => (await cli(["usage", "--days", "1"], { env: beside(server) })).stdout;
  const prices = { inputPerMillion: 1, outputPerMillion: 2 };
  await connect("in-euros", { prices: { ...prices, currency: "EUR" } });
  await connect("in-dollars", { prices: { ...prices, currency: "USD" } });
  await server.clock.advance(DAY_MS);
  await runOf(server, ask("in-euros", "prompt: Hi"));
  expect(await costs()).toMatch(/ 340 +0\.00038 EUR\n$/);
  await runOf(server, ask("in-dollars", "prompt: Hi"));
  expect(await costs()).toMatch(/ 680 +no sum\n$/);
});

test("the server's own model has the operator's prices", async () => {
  const { id } = await runOf(
    server,
    "do: [{ask: {call: 'llm:1.0.0@default', with: {connection: server, prompt: Hi}}}]",
  );
  const { usage } = (await server.data("query($id: ID!) { run(id: $id) { usage { cost currency } } }", { id })).run;
  expect(usage).toEqual({ cost: expect.closeTo((300 + 40 * 10) / 1_000_000, 9), currency: "USD" });
});

test("costs a day need prices", async () => {
  const { projectId } = server.world;
  const input = { projectId, name: "x", provider: "openai_compatible", baseUrl: model.url, model: "m" };
  const { errors } = await server.graphql(CREATE, { input: { ...input, limits: { costPerDay: 1 } } });
  expect(errors![0]!.extensions).toMatchObject({
    code: "BAD_USER_INPUT",
    fields: [{ path: "input.limits.costPerDay", message: expect.stringContaining("needs prices") }],
  } satisfies Data);
});
