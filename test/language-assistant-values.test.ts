/** `call: assistant` over the wire: each value that an author may write does what docs/definitions.md says of it. */
import { describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { ask, assistant, connect, lastOf, openPlaces, places, ticket, workOf } from "./assistants.ts";
import { beside, cli } from "./command-line.ts";
import { eventually, type Data } from "./client.ts";
import { toolCall, toolCalls } from "./llm-service.ts";
import { agentOf, ran } from "./runs.ts";

openPlaces();

const PUBLISH = "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const refused = async (values: object): Promise<Data[]> => {
  const definition = `document: {dsl: '1.0.3', namespace: test, name: refused, version: '1.0.0'}\n${assistant(values)}`;
  const { errors } = await places.server.graphql(PUBLISH, { input: { definition } });
  return (errors?.[0]!.extensions.fields ?? []).map(({ path, message }) => `${path.slice(16)}: ${message}`);
};

describe("what the model is asked", () => {
  test("has messages in place of a prompt, another model, and how it is to answer", async () => {
    places.model.replies = ["Again"];
    const messages =
      '${ [{role: "user", content: .question}, {role: "assistant", content: "Yes?"}, {role: "user", content: "Go on"}] }';
    const own = { model: "large", temperature: 0.5, maxTokens: 700, seed: 7 };
    const values = { prompt: undefined, messages, instructions: "You help.", ...own };
    expect(await ask(values)).toMatchObject({ status: "completed", output: "Again" });
    const { body } = places.model.asked[0]!;
    expect(body).toMatchObject({ model: "large", temperature: 0.5, max_tokens: 700, seed: 7 });
    expect(body.messages.map(({ role, content }: Data) => `${role}: ${content}`)).toEqual([
      "system: You help.",
      "user: Open a ticket",
      "assistant: Yes?",
      "user: Go on",
    ]);
    expect(body.tools).toBeUndefined();
  });

  test.each([
    ["neither of them", { prompt: undefined }],
    ["both of them", { messages: [{ role: "user", content: "Hi" }] }],
  ])("is exactly one of prompt and messages, and not %s", async (_, values) => {
    for (const kind of ["assistant", "llm"]) {
      const { errors } = await places.server.graphql(PUBLISH, {
        input: {
          definition: `document: {dsl: '1.0.3', namespace: test, name: refused, version: '1.0.0'}\n${assistant(values).replace("assistant", kind)}`,
        },
      });
      expect(errors![0]!.extensions.fields![0]!.message, kind).toContain("write prompt or messages");
    }
  });

  test("is over a connection that exists, else it is a problem when the agent is published", async () => {
    expect(await refused({ connection: "none" })).toEqual([
      expect.stringMatching(/^\/do\/0\/work\/with\/connection: the project has no model connection "none"/),
    ]);
  });
});

describe("tools", () => {
  test("have names of their own", async () => {
    const others = [ticket(), { mcp: { endpoint: places.shop.url, allow: ["createTicket"] } }];
    for (const other of others)
      expect(await refused({ tools: [ticket(), other] })).toEqual([
        expect.stringContaining('there is another tool "createTicket"'),
      ]);
  });

  test("may be agents of another project, described by themselves or by who offers them", async () => {
    const create = "mutation($input: CreateProjectInput!) { createProject(input: $input) { id handle } }";
    const handle = `shop-${Date.now()}`;
    const { createProject } = await places.server.data(create, { input: { handle, name: "Shop" } });
    const definition = `document: {dsl: '1.0.3', namespace: ${handle}, name: prices, version: '1.0.0', summary: Knows prices.}\ndo: [{say: {set: {price: 5}}}]`;
    await places.server.data(PUBLISH, { input: { projectId: createProject.id, definition } });
    for (const description of [undefined, "Says what a thing costs."]) {
      places.model.asked.length = 0;
      places.model.replies = [toolCall("prices", {}), "Five"];
      const run = await ask({ tools: [{ agent: { handle: "prices", namespace: handle, description } }] });
      expect(run).toMatchObject({ status: "completed", output: "Five" });
      expect(lastOf(1).content).toBe('{"price":5}');
      expect(places.model.asked[0]!.body.tools[0].function.description).toBe(description ?? "Knows prices.");
    }
    expect((await ask({ tools: [{ agent: { handle: "prices" } }] })).error).toMatchObject({
      type: expect.stringMatching(/configuration$/),
      detail: expect.stringContaining("there is no published agent test/prices"),
    });
  });

  test("of an MCP server are asked for and called with the headers that the author wrote", async () => {
    places.model.replies = [toolCall("price", { id: "7" }), "5"];
    const headers = { "X-Tenant": "${ .question }" };
    const run = await ask({ tools: [{ mcp: { endpoint: places.shop.url, headers, allow: ["price"] } }] });
    expect(run).toMatchObject({ status: "completed", output: "5" });
    expect(places.shop.asked.map(({ headers: sent }) => sent["x-tenant"])).toEqual(["Open a ticket", "Open a ticket"]);
  });

  test.each([
    ["name no tool", () => toolCall("deleteAll", {})],
    ["have arguments that do not fit", () => toolCall("createTicket", { name: "A" })],
    ["failed", () => toolCall("createTicket", { title: "A" })],
  ])("that %s three answers in a row are the error `tool`", async (words, reply) => {
    places.endpoint.answer = { status: 500, body: "down" };
    places.model.replies = [reply()];
    const { error } = await ask({ tools: [ticket()] });
    expect(error).toMatchObject({
      type: expect.stringMatching(/\/tool$/),
      detail: expect.stringContaining(`3 answers in a row asked for tool calls that ${words}`),
    });
    expect(places.model.asked).toHaveLength(3);
  });
});

describe("limits", () => {
  test("count the question that repairs an answer", async () => {
    places.model.replies = ["Seven", "7"];
    const { error } = await ask({ schema: { type: "integer" }, limits: { iterations: 1 } });
    expect(error.type).toMatch(/\/limit$/);
    expect(error.detail).toContain("limits.iterations (1) is reached: so far 1 iterations");
    expect(places.model.asked).toHaveLength(1);
    expect(await ask({ schema: { type: "integer" }, limits: { iterations: 2 } })).toMatchObject({ output: 7 });
  });

  test("count what the runs cost that tools start", async () => {
    await connect("dear", { prices: { inputPerMillion: 1_000, outputPerMillion: 1_000, currency: "USD" } });
    const handle = `costs-${Date.now()}`;
    const child = "do: [{ask: {call: 'llm:1.0.0@default', with: {connection: dear, prompt: Hi}}}]";
    await agentOf(places.server, child, handle);
    places.model.think = ({ body }) => (body.tools ? toolCall(handle, {}) : "Hello");
    const { error } = await ask({ connection: "dear", tools: [{ agent: { handle } }], limits: { cost: 0.9 } });
    expect(error.detail).toMatch(
      /^limits.cost \(0.9\) is reached: so far \d iterations, 1 tool calls, 680 tokens, 0.68 USD/,
    );
    expect(places.model.asked).toHaveLength(2);
  });

  test("of tool calls: an answer that asks for more than are left has none of them made", async () => {
    places.model.replies = [
      toolCall("createTicket", { title: "A" }),
      toolCalls(["createTicket", { title: "B" }], ["createTicket", { title: "C" }]),
    ];
    const { error } = await ask({ tools: [ticket()], limits: { toolCalls: 2 } });
    expect(error.detail).toMatch(
      /^limits.toolCalls \(2\) is reached: so far 2 iterations, 1 tool calls.* asks for 2 more$/,
    );
    expect(places.endpoint.seen.map(({ body }) => body)).toEqual(['{"title":"A"}']);
  });
});

test("a question to a person is in the inbox, on the run and in `approvalsChanged` at once, with the call", async () => {
  const fields = "id status toolCall { name arguments } run { id }";
  const heard: Data[] = [];
  const watching = (async () => {
    for await (const { data } of places.server.watch(`subscription { approvalsChanged { ${fields} } }`))
      heard.push(data.approvalsChanged);
  })();
  watching.catch(() => {});
  places.model.replies = [toolCall("createTicket", { title: "A" }), "Done"];
  const agent = await agentOf(places.server, assistant({ tools: [ticket({ approval: true })] }));
  const id = await start(places.server, agent, { question: "?" });
  const own = await eventually(() => heard.find(({ run }) => run.id === id));
  // It can be read everywhere by then.
  const { approvals, run } = await places.server.data(
    `query($id: ID!) { approvals(filter: {status: open}) { nodes { ${fields} } }
       run(id: $id) { status waitingFor { approval { ${fields} } } } }`,
    { id },
  );
  const call = { name: "createTicket", arguments: { title: "A" } };
  expect(own).toMatchObject({ status: "open", toolCall: call });
  expect(approvals.nodes).toContainEqual(own);
  expect(run.status).toBe("paused");
  expect(run.waitingFor).toEqual([{ approval: own }]);
});

test("the command line shows with which arguments a tool would be called", async () => {
  places.model.replies = [toolCall("createTicket", { title: "A\u001b[31m\u009b?\u202e\u{e0041}" }), "Done"];
  const agent = await agentOf(places.server, assistant({ tools: [ticket({ approval: true })] }));
  const env = beside(places.server);
  const { code, stderr } = await cli(["run", agent, "question=?", "--wait", "30"], { env });
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /paused: May createTicket be called\?\n +with \{"title":"A\\u001b\[31m\\u009b\?\\u202e\\udb40\\udc41"\}\n +autograph approvals approve approval_\w+\n$/,
  );
  places.model.replies = [toolCall("createTicket", { title: "A".repeat(500) }), "Done"];
  const { stderr: long } = await cli(["run", agent, "question=?", "--wait", "30"], { env });
  expect(long).toMatch(/ +with arguments that autograph approvals show approval_\w+ shows\n/);
});

test("what a provider answers in place of an answer is kept to its beginning", async () => {
  places.model.replies = [`no ${"x".repeat(900_000)}`];
  const { error } = await ask({ schema: { type: "integer" } });
  expect(error.type).toMatch(/\/model-answer$/);
  expect(error.detail).toMatch(/^the answer does not fit the schema: it is not JSON. It is: no x+/);
  expect(error.detail.length).toBeLessThanOrEqual(LIMITS.errorCharacters);
});

test("a conversation over several runs: each is given what the one before returned", async () => {
  places.model.think = ({ body }) => `answer ${body.messages.filter(({ role }: Data) => role === "user").length}`;
  const said = '${ {answer: ., messages: ($input.messages + [{role: "assistant", content: .}])} }';
  const listen = { set: { messages: '${ .messages + [{role: "user", content: .text}] }' } };
  const { work } = workOf({ prompt: undefined, messages: ".messages", tools: [ticket()] });
  const agent = await agentOf(
    places.server,
    `do: ${JSON.stringify([{ listen }, { work: { ...work, output: { as: said } } }])}`,
  );
  const first = await ran(places.server, agent, { text: "One" });
  const { output } = await ran(places.server, agent, { text: "Two", messages: first["output"].messages });
  expect(output).toEqual({
    answer: "answer 2",
    messages: [
      { role: "user", content: "One" },
      { role: "assistant", content: "answer 1" },
      { role: "user", content: "Two" },
      { role: "assistant", content: "answer 2" },
    ],
  });
});
