/** The language over the wire: `call: llm`, against real endpoints on loopback. */
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { beside, cli, cliJson } from "./command-line.ts";
import { eventually, startTestServer, type Data, type TestServer, type Variables } from "./client.ts";
import { ended, held, send, startLlmService, status, type LlmService } from "./llm-service.ts";
import { agentOf, ENDED, ran, runOf, until } from "./runs.ts";
import { start } from "./agents.ts";

const KEY = "sk-planted-0123456789";
const DELETE = "mutation($input: DeleteModelConnectionInput!) { deleteModelConnection(input: $input) { name } }";
const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";

let operators: LlmService;
let model: LlmService;
let server: TestServer;
beforeAll(async () => {
  [operators, model] = [await startLlmService(), await startLlmService()];
  const env = { LLM_BASE_URL: operators.url, LLM_MODEL: "operators-model", OUTBOUND_ALLOW: "127.0.0.1/32" };
  server = await startTestServer({ env });
  await connect("cheap");
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await operators[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(() => {
  operators.asked.length = model.asked.length = 0;
  operators.replies = ["from the operator's"];
  model.replies = ["Hello"];
});

const connect = async (name: string, own: object = {}): Promise<string> => {
  const { projectId } = server.world;
  const base = { projectId, name, provider: "openai_compatible", baseUrl: model.url, model: "small", apiKey: KEY };
  return (await server.data(CREATE, { input: { ...base, ...own } })).createModelConnection.id;
};

const ask = (values: string, more = ""): string =>
  `do: [{ask: {call: 'llm:1.0.0@default', with: {connection: cheap, ${values}}${more}}}]`;
const CATEGORY =
  "schema: {type: object, properties: {category: {type: string, enum: [billing, bug]}}, required: [category]}";
describe("a question", () => {
  test("is in /metrics under the names of OpenTelemetry, with its provider, problem and tokens", async () => {
    const shown = async (): Promise<string> => {
      const headers = { authorization: `Bearer ${server.world.apiKey}` };
      return (await fetch(`${server.url}/metrics`, { headers })).text();
    };
    await connect("french", { provider: "mistral" });
    // Mistral streams in a form of its own.
    model.replies = [send("Bonjour"), status(400)];
    const body = ask("prompt: Hi").replace("cheap", "french");
    expect((await runOf(server, body)).status).toBe("completed");
    expect((await runOf(server, body)).status).toBe("failed");
    const of = 'gen_ai_operation_name="chat",gen_ai_provider_name="mistral_ai"';
    const text = await eventually(async () => {
      const now = await shown();
      return now.includes('error_type="failed"') ? now : undefined;
    });
    expect(text.split("\n")).toEqual(
      expect.arrayContaining([
        `gen_ai_client_operation_duration_seconds_count{${of},error_type=""} 1`,
        `gen_ai_client_operation_duration_seconds_count{${of},error_type="failed"} 1`,
        `gen_ai_client_token_usage_sum{${of},gen_ai_token_type="input"} 300`,
        `gen_ai_client_token_usage_sum{${of},gen_ai_token_type="output"} 40`,
        `gen_ai_client_token_usage_bucket{${of},gen_ai_token_type="output",le="16"} 0`,
        `gen_ai_client_token_usage_bucket{${of},gen_ai_token_type="output",le="64"} 1`,
      ]),
    );
  });

  test("has what the author wrote, and its answer is the output; the key is shown nowhere", async () => {
    const run = await runOf(
      server,
      ask("system: You greet., prompt: '${ \"I am \\(.name)\" }', temperature: 0, maxTokens: 500, seed: 7"),
      { name: "Ada" },
    );
    expect(run).toMatchObject({ status: "completed", output: "Hello" });
    expect(model.asked).toMatchObject([
      {
        authorization: `Bearer ${KEY}`,
        key: expect.stringMatching(/^[\w-]{22}$/),
        body: {
          model: "small",
          messages: [
            { role: "system", content: "You greet." },
            { role: "user", content: "I am Ada" },
          ],
          temperature: 0,
          max_tokens: 500,
          seed: 7,
        },
      },
    ]);
    expect(run.steps).toMatchObject([
      {
        kind: "llm",
        input: {
          connection: "cheap",
          model: "small",
          system: "You greet.",
          messages: [{ role: "user", content: "I am Ada" }],
          temperature: 0,
          maxTokens: 500,
          seed: 7,
        },
      },
    ]);
    expect(JSON.stringify(run)).not.toContain("planted");
  });

  test("of several messages, in the connection's place another model", async () => {
    const messages =
      "[{role: user, content: '${ .text }'}, {role: assistant, content: Yes?}, {role: user, content: Go on}]";
    await runOf(server, ask(`model: large, messages: ${messages}`), { text: { a: 1 } });
    await runOf(server, ask("messages: .all"), { all: [{ role: "user", content: "Hi" }] });
    expect(model.asked.map(({ body }) => [body.model, body.messages.map(({ content }: Data) => content)])).toEqual([
      ["large", ['{"a":1}', "Yes?", "Go on"]],
      ["small", ["Hi"]],
    ]);
  });

  test("goes to the project's default; without one, to the server's own, whose place is not told", async () => {
    const body = "do: [{ask: {call: 'llm:1.0.0@default', with: {prompt: Hi}}}]";
    expect((await runOf(server, body)).output).toBe("from the operator's");
    operators.replies = [status(500)];
    const failed = await runOf(server, body);
    expect(failed.error).toMatchObject({ status: 500, detail: "the server's model answered with 500" });
    expect(JSON.stringify(failed)).not.toContain(new URL(operators.url).port);
    const id = await connect("chosen", { isDefault: true });
    expect((await runOf(server, body)).output).toBe("Hello");
    await server.data(DELETE, { input: { modelConnectionId: id } });
  });

  test("of another organization over the server's own shows neither its place nor its model, and chooses none", async () => {
    const world = await server.organization("guest");
    const guest = {
      world,
      data: (text: string, variables?: Variables) => server.data(text, variables, world.apiKey),
      graphql: (text: string, variables?: Variables) => server.graphql(text, variables, world.apiKey),
    };
    const body = (more = ""): string => `do: [{ask: {call: 'llm:1.0.0@default', with: {prompt: Hi${more}}}}]`;
    const run = await runOf(guest, body());
    expect(run).toMatchObject({ status: "completed", output: "from the operator's" });
    expect(operators.asked[0]!.body.model).toBe("operators-model");
    const chosen = await runOf(guest, body(", model: dearest"));
    expect(chosen.error).toMatchObject({
      type: expect.stringMatching(/configuration$/),
      detail: expect.stringContaining("can't be chosen on the server's own connection"),
    });
    operators.replies = [status(404), "Hi"];
    const failed = await runOf(guest, body());
    expect(JSON.stringify([run, chosen, failed])).not.toMatch(
      new RegExp(`operators-model|${new URL(operators.url).host}`),
    );
    expect(operators.asked).toHaveLength(2);
    // The operator's own organization sees and chooses it.
    const own = await runOf(server, body());
    expect(own.steps[0].input.model).toBe("operators-model");
    expect((await runOf(server, body(", model: dearest"))).steps[0].input.model).toBe("dearest");
    expect(operators.asked.at(-1)!.body.model).toBe("dearest");
  });

  test.each([
    ["prompt: '${ .none }'", "prompt is null, so nothing was asked"],
    ["prompt: ''", "prompt is empty, so nothing was asked"],
    ["prompt: Hi, model: '${ \"m\" * 201 }'", "model must be a name of at most 200 characters"],
    ["messages: .none", "messages must be a list of 1 to 1000 messages, so nothing was asked"],
    [
      'messages: \'${ [{role: "system", content: "x"}] }\'',
      "messages[0] must have content and the role user or assistant",
    ],
  ])("without words is not asked: %s", async (values, detail) => {
    const run = await runOf(server, ask(values));
    expect(run.error).toMatchObject({
      type: expect.stringMatching(/validation$/),
      detail: expect.stringContaining(detail),
    });
    expect(model.asked).toEqual([]);
  });
});

describe("a connection that is not there", () => {
  const PUBLISH = "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  const VALIDATE =
    "query($definition: String!, $projectId: ID) { validateDefinition(definition: $definition, projectId: $projectId) { valid problems { path message } } }";
  const definition = `document: {dsl: '1.0.3', namespace: test, name: elsewhere, version: '1.0.0'}
do: [{outer: {do: [{ask: {call: 'llm:1.0.0@default', with: {connection: secretive, prompt: Hi}}}]}}]`;
  const PATH = "/do/0/outer/do/0/ask/with/connection";

  test("is a problem at publish and in validation, also if another organization has it", async () => {
    const other = await server.organization("neighbour");
    const input = {
      projectId: other.projectId,
      name: "secretive",
      provider: "openai_compatible",
      baseUrl: model.url,
      model: "m",
    };
    await server.data(CREATE, { input }, other.apiKey);
    const { projectId } = server.world;
    const { errors } = await server.graphql(PUBLISH, { input: { projectId, definition } });
    expect(errors![0]!.extensions).toMatchObject({
      reason: "invalid_definition",
      fields: [
        { path: `input.definition${PATH}`, message: expect.stringContaining('has no model connection "secretive"') },
      ],
    });
    expect((await server.data(VALIDATE, { definition, projectId })).validateDefinition).toMatchObject({
      valid: false,
      problems: [{ path: PATH }],
    });
  });

  test("when the run comes to it fails with `configuration`", async () => {
    const id = await connect("fleeting");
    const agent = await agentOf(server, ask("prompt: Hi").replace("cheap", "fleeting"));
    await server.data(DELETE, { input: { modelConnectionId: id } });
    const run = await ran(server, agent);
    expect(run.error).toMatchObject({
      type: expect.stringMatching(/configuration$/),
      detail: 'the project has no model connection "fleeting"',
    });
  });
});

describe("an answer with a schema", () => {
  test("is the value itself, also between other words", async () => {
    model.replies = ['Sure:\n```json\n{"category": "bug"}\n```'];
    expect(await runOf(server, ask(`prompt: Hi, ${CATEGORY}`))).toMatchObject({ output: { category: "bug" } });
    expect(model.asked[0]!.body.response_format).toMatchObject({ type: "json_schema" });
  });

  test("that does not fit is asked for once more, with the problem named and a key of its own", async () => {
    model.replies = ['{"category": "weather"}', '{"category": "billing"}'];
    expect(await runOf(server, ask(`prompt: Hi, ${CATEGORY}`))).toMatchObject({ output: { category: "billing" } });
    const [first, second] = model.asked as [Data, Data];
    expect(second.key).toBe(`${first.key}-2`);
    expect(second.body.messages.slice(1)).toEqual([
      { role: "assistant", content: '{"category": "weather"}' },
      { role: "user", content: expect.stringContaining("category must be one of") },
    ]);
  });

  test("may be null", async () => {
    model.replies = ["null"];
    expect(await runOf(server, ask(`prompt: Hi, schema: {type: "null"}`))).toMatchObject({
      status: "completed",
      output: null,
    });
    expect(model.asked).toHaveLength(1);
  });

  test("that never fits is the error `model-answer`, with what came", async () => {
    model.replies = ["I can't say."];
    const run = await runOf(server, ask(`prompt: Hi, ${CATEGORY}`));
    expect(run.error).toMatchObject({
      type: expect.stringMatching(/model-answer$/),
      status: 502,
      detail: "the answer does not fit the schema: it is not JSON. It is: I can't say.",
    });
    expect(model.asked).toHaveLength(2);
  });

  test("is asked for in words where the endpoint knows no schemas", async () => {
    model.replies = [status(400), { category: "bug" }];
    expect(await runOf(server, ask(`prompt: Hi, ${CATEGORY}`))).toMatchObject({ output: { category: "bug" } });
    expect(model.asked[1]!.body.response_format).toBeUndefined();
    expect(model.asked[1]!.body.messages[0].content).toContain('"enum":["billing","bug"]');
  });
});

describe("an answer that is none", () => {
  test.each([
    [
      "cut",
      () => ended("Once upon", "length"),
      "model-answer",
      "the answer was cut by maxTokens (3). It begins: Once upon",
    ],
    [
      "refused by the filter",
      () => ended("", "content_filter"),
      "model-refused",
      "the provider's filter refused the answer",
    ],
    ["an error of the server", () => status(500), "communication", "answered with 500"],
    ["a refused key", () => status(401), "communication", "refused the key (401)"],
    ["503 that names no time", () => status(503), "communication", "answered with 503"],
    [
      "no JSON",
      () => (response: ServerResponse) => void response.end("<html>"),
      "communication",
      "did not answer as a model does",
    ],
    ["broken off", () => (response: ServerResponse) => void response.destroy(), "communication", ""],
    ["100 MB", () => endless, "communication", "is larger than 1048576 bytes"],
  ])("%s", async (_, reply, type, detail) => {
    model.replies = [reply()];
    const run = await runOf(server, ask("prompt: Hi, maxTokens: 3"));
    expect(run.error).toMatchObject({
      type: expect.stringMatching(new RegExp(`/${type}$`)),
      detail: expect.stringContaining(detail),
    });
    expect(model.asked).toHaveLength(1);
  });

  test("repeats no key that the endpoint gives back", async () => {
    model.replies = [`You sent ${KEY}`];
    expect((await runOf(server, ask("prompt: Hi"))).output).toBe("You sent [redacted]");
    model.replies = [
      (response) => void response.writeHead(400).end(JSON.stringify({ error: { message: `bad ${KEY}`, type: "x" } })),
    ];
    expect((await runOf(server, ask("prompt: Hi"))).error.detail).toContain("bad [redacted]");
    // Also where its sentence is cut.
    const long = `${"x".repeat(490)} ${KEY}`;
    model.replies = [(response) => void response.writeHead(400).end(JSON.stringify({ error: { message: long } }))];
    const { detail } = (await runOf(server, ask("prompt: Hi"))).error;
    expect(detail).toContain("xxx [");
    expect(detail).not.toContain("sk-");
  });
});

/** A whole answer, with other properties. */
const answered = (own: object) => (response: ServerResponse) =>
  void response.setHeader("content-type", "application/json").end(
    JSON.stringify({
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello" } }],
      ...own,
    }),
  );

test("an answer whose model has a name that no row can keep is kept", async () => {
  model.replies = [answered({ model: "sm\0all\ud800", usage: { prompt_tokens: 7 } })];
  const run = await runOf(server, ask("prompt: Hi"));
  expect(run).toMatchObject({ status: "completed", output: "Hello" });
});

test("an answer of more values around its text than may be counts as none: packages read each of them slowly", async () => {
  const own = JSON.stringify({ choices: [{ index: 0, finish_reason: "stop", message: { content: "Hello" } }], x: [0] });
  const values = own.match(/[,[{]/g)!.length + 1;
  const x = Array<number>(LIMITS.modelAnswerValues - values).fill(0);
  const reply = (zeros: number[]) => answered({ ...JSON.parse(own), x: zeros });
  model.replies = [reply([0, ...x])];
  expect((await runOf(server, ask("prompt: Hi"))).output).toBe("Hello");
  model.replies = [reply([0, 0, ...x])];
  const { error } = await runOf(server, ask("prompt: Hi"));
  expect(error.detail).toContain("did not answer as a model does");
});

const MEGABYTE = Buffer.alloc(1_000_000, "x");
function endless(response: ServerResponse): void {
  response.setHeader("content-type", "application/json");
  let left = 100;
  const more = (): void => {
    while (left-- > 0) if (!response.write(MEGABYTE)) return void response.once("drain", more);
    response.end();
  };
  more();
}

test("a retry repeats that call alone, with its own key", async () => {
  model.replies = ["first", status(500), "second"];
  const step = (name: string): string =>
    `{${name}: {call: 'llm:1.0.0@default', with: {connection: cheap, prompt: ${name}}}}`;
  const run = await runOf(
    server,
    `do: [${step("one")}, {tried: {try: [${step("two")}], catch: {retry: {delay: PT0.01S, limit: {attempt: {count: 2}}}}}}]`,
  );
  expect(run).toMatchObject({ status: "completed", output: "second" });
  expect(model.asked.map(({ body }) => body.messages[0].content)).toEqual(["one", "two", "two"]);
  expect(run.steps.map(({ attempts }: Data) => attempts.map((one: Data) => one.status))).toEqual([
    ["completed"],
    ["failed", "completed"],
  ]);
});

describe("usage", () => {
  const USAGE = "usage { inputTokens outputTokens cachedInputTokens cost currency }";
  const READ = `query($id: ID!) { run(id: $id) { ${USAGE} steps { kind ${USAGE} } } usage(days: 1) { modelCost modelCostCurrency } }`;
  const TOTALS = `query($id: ID!) { run(id: $id) { steps(first: 20) { name totalUsage { inputTokens cost currency } } } }`;
  const prices = { inputPerMillion: 1, outputPerMillion: 2, cachedInputPerMillion: 0.5, currency: "EUR" };
  const task = (more: string): string => `{call: 'llm:1.0.0@default', with: {connection: priced, prompt: Hi, ${more}}}`;
  let before: number;

  test("is kept by step, questions asked again included, and by run with the runs below it", async () => {
    await connect("priced", { prices });
    await agentOf(server, `do: [{ask: ${task("maxTokens: 9")}}]`, "asks");
    const child = "{run: {workflow: {namespace: test, name: asks, version: latest}}}";
    const agent = await agentOf(server, `do: [{twice: ${task(CATEGORY)}}, {child: ${child}}, {none: {set: {a: 1}}}]`);
    await server.clock.advance(24 * 3_600_000);
    model.replies = ["no JSON", { category: "bug" }, "Hello"];
    const { id } = await ran(server, agent);
    const data = await server.data(READ, { id });
    const of = (calls: number): object => ({
      inputTokens: calls * 300,
      outputTokens: calls * 40,
      cachedInputTokens: 0,
      cost: expect.closeTo(calls * 0.00038, 9),
      currency: "EUR",
    });
    expect(data.run.steps.map(({ usage }: Data) => usage)).toEqual([of(2), null, null]);
    expect(data.run.usage).toEqual(of(3));
    expect(data.usage[0].modelCost).toBeCloseTo(3 * 0.00038, 9);
    expect(data.usage[0].modelCostCurrency).toBe("EUR");
    before = data.usage[0].modelCost;
  });

  test("of an answer that failed its task counts; without prices there are tokens and no cost", async () => {
    model.replies = [ended("Once", "length")];
    const failed = await runOf(server, `do: [{ask: ${task("maxTokens: 1")}}]`);
    expect((await server.data(READ, { id: failed.id })).run.usage).toMatchObject({ inputTokens: 300, currency: "EUR" });
    expect((await server.data(READ, { id: failed.id })).usage[0].modelCost).toBeCloseTo(before + 0.00038, 9);
    model.replies = ["Hello"];
    const { id } = await runOf(server, ask("prompt: Hi"));
    const { run, usage } = await server.data(READ, { id });
    expect(run.usage).toEqual({ inputTokens: 300, outputTokens: 40, cachedInputTokens: 0, cost: null, currency: null });
    expect(usage[0]).toEqual({ modelCost: null, modelCostCurrency: null });
  });

  test("believes no count that is nonsense", async () => {
    for (const [prompt_tokens, completion_tokens, input, output] of [
      [1e15, -5, 10_000_000, 0],
      [1e300, 0.5, 0, 0],
    ]) {
      model.replies = [answered({ usage: { prompt_tokens, completion_tokens } })];
      const { id, status: is } = await runOf(server, `do: [{ask: ${task("seed: 2")}}]`);
      expect(is).toBe("completed");
      expect((await server.data(READ, { id })).run.usage).toMatchObject({ inputTokens: input, outputTokens: output });
    }
  });

  test("of a step is summed up with the steps inside it and the runs that they started, and with no other's", async () => {
    model.replies = ["Hello"];
    const child = "{child: {run: {workflow: {namespace: test, name: asks, version: latest, input: {}}}}}";
    const each = `call: 'each:1.0.0@default', with: {in: '\${ [1, 2] }', do: [{asks: ${task("seed: 3")}}, ${child}]}`;
    // Its key begins with the other's.
    const { id } = await runOf(
      server,
      `do: [{all: {do: [{inner: {${each}}}]}}, {all2: {do: [{ask: ${task("seed: 4")}}]}}, {none: {do: [{set: {set: {a: 1}}}]}}]`,
    );
    const { run } = await server.data(TOTALS, { id });
    const totals = run.steps.map(({ name, totalUsage }: Data) => `${name} ${totalUsage?.inputTokens}`).join(", ");
    const inner = "asks 300, asks 300, child 300, child 300";
    expect(totals).toBe(`all 1200, inner 1200, ${inner}, all2 300, ask 300, none undefined, set undefined`);
    expect(run.steps[0].totalUsage).toMatchObject({ cost: expect.closeTo(4 * 0.00038, 9), currency: "EUR" });
    const all = "run(id: $id) { steps { totalUsage { cost } } }";
    expect((await server.data(`query($id: ID!) { ${all} }`, { id })).run.steps).toHaveLength(10);
    const twice = await server.graphql(`query($id: ID!) { ${all} again: ${all} }`, { id });
    expect(twice.errors).toMatchObject([{ extensions: { code: "QUERY_TOO_COMPLEX" } }]);
  });

  test("is told by the command line, at a run and its steps", async () => {
    const agentId = await agentOf(server, `do: [{ask: ${task("seed: 2")}}]`);
    const env = beside(server);
    const waited = await cli(["run", agentId, "--wait", "30"], { env });
    expect(waited.stdout).toMatch(/ask +llm +completed +[\d,]+ ms {2}\(340 tokens, 0\.00038 EUR\)\n/);
    expect(waited.stdout).toMatch(/\ncompleted in .+ m?s, 340 tokens, 0\.00038 EUR\n/);
    const watched = await cli(["run", agentId, "--watch"], { env });
    expect(watched.stdout).toMatch(/\ncompleted in .+ m?s, 340 tokens, 0\.00038 EUR\n/);
    const [id] = /run_\w+/.exec(watched.stdout)!;
    expect((await cli(["runs", "show", id], { env })).stdout).toContain("(340 tokens, 0.00038 EUR)");
    const { usage } = await cliJson<Data>(["runs", "show", id], { env });
    expect(usage).toMatchObject({ inputTokens: 300, outputTokens: 40, cachedInputTokens: 0, currency: "EUR" });
  });

  test("sums up no more runs than it may", async () => {
    model.replies = ["Hello"];
    const most = LIMITS.runUsageRuns;
    const each = `{call: 'each:1.0.0@default', with: {in: '\${ [range(${most})] }', concurrency: 30, do: [{child: {run: {workflow: {namespace: test, name: asks, version: latest, input: {}}}}}]}}`;
    const id = await start(server, await agentOf(server, `do: [{ask: ${task("seed: 1")}}, {all: ${each}}]`));
    // A thousand runs, each with a model's call.
    const status = "query($id: ID!) { run(id: $id) { status } }";
    await eventually(async () => (await server.data(status, { id })).run.status === "completed", 240_000);
    expect((await server.data(READ, { id })).run.usage.inputTokens).toBe(most * 300);
    const { run } = await server.data(TOTALS.replace("first: 20", "first: 2, parentNumber: 0"), { id });
    expect(run.steps.map(({ totalUsage }: Data) => totalUsage.inputTokens)).toEqual([300, most * 300]);
  });
});

// The last: it kills the server.
test("after kill -9 between question and answer it is asked once more with the same key, and what was answered is not", async () => {
  const hung = held();
  model.replies = ["one", '{"category": "weather"}', hung.reply];
  const body = `do: [{one: {call: 'llm:1.0.0@default', with: {connection: cheap, prompt: one}}}, {two: {call: 'llm:1.0.0@default', with: {connection: cheap, prompt: two, ${CATEGORY}}}}]`;
  const id = await start(server, await agentOf(server, body));
  await eventually(() => model.asked.length === 3);
  await server.kill();
  model.replies = [{ category: "bug" }];
  await server.restart();
  expect(await until(server, id, ...ENDED)).toMatchObject({ status: "completed", output: { category: "bug" } });
  const keys = model.asked.map(({ key }) => key!);
  expect(model.asked).toHaveLength(4);
  expect(keys[3]).toBe(keys[2]);
  expect(new Set(keys).size).toBe(3);
});
