/** A person decides on an assistant's tool calls, over the wire: nothing is called that was not approved, and with no other arguments. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { startEndpoint, type Endpoint } from "./endpoint.ts";
import { startLlmService, toolCall, toolCalls, type LlmService } from "./llm-service.ts";
import { ask } from "./mcp-client.ts";
import { startStateless, type Served } from "./mcp-servers.ts";
import { join, login, refusalOf } from "./people.ts";
import { agentOf, DECIDE, ENDED, ran, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
const FIELDS = `id status question form answerFields { name } answer
  toolCall { name arguments parameters argumentFields { name type required } }`;
const OPEN = `query($id: [ID!]) { approvals(filter: {status: open, runId: $id}, direction: asc) { nodes { ${FIELDS} } } }`;

let server: MovedServer;
let model: LlmService;
let endpoint: Endpoint;
let shop: Served;
beforeAll(async () => {
  [server, model, endpoint, shop] = await Promise.all([
    movedServer(),
    startLlmService(),
    startEndpoint(),
    startStateless(),
  ]);
  const { projectId } = server.world;
  const input = { projectId, name: "main", provider: "openai_compatible", baseUrl: model.url, model: "small" };
  await server.data(CREATE, { input: { ...input, isDefault: true } });
});
afterAll(async () => {
  for (const one of [server, model, endpoint, shop]) await one[Symbol.asyncDispose]();
});
beforeEach(() => {
  model.asked.length = shop.asked.length = 0;
  endpoint.reset();
  endpoint.answer = { headers: { "content-type": "application/json" }, body: '{"id":7}' };
});

const PARAMETERS = {
  type: "object",
  properties: { title: { type: "string", maxLength: 20 }, urgent: { type: "boolean" } },
  required: ["title"],
  additionalProperties: false,
};
const ticket = (more: object = {}) => ({
  http: {
    name: "createTicket",
    description: "Opens a ticket.",
    parameters: PARAMETERS,
    call: { method: "post", endpoint: `${endpoint.url}/tickets`, body: "${ $arguments }" },
    approval: true,
    ...more,
  },
});
const assistant = (...tools: object[]): string =>
  `do: [{work: ${JSON.stringify({ call: "assistant:1.0.0@default", with: { prompt: "Go", tools } })}}]`;
const paused = async (...tools: object[]): Promise<string> => {
  const { id, status } = await ran(server, await agentOf(server, assistant(...tools)));
  expect(status).toBe("paused");
  return id;
};
const openOf = async (id: string): Promise<Data[]> => (await server.data(OPEN, { id: [id] })).approvals.nodes;
const decide = (approval: Data, decision: "approve" | "reject", more: object = {}) =>
  server.graphql(DECIDE, { input: { approvalId: approval.id, decision, ...more } });
/** Throws if it is refused. */
const decided = (approval: Data, decision: "approve" | "reject", more: object = {}) =>
  server.data(DECIDE, { input: { approvalId: approval["id"], decision, ...more } });
const called = (): Data[] => endpoint.seen.map(({ body }) => JSON.parse(body));
const read = (index = 1): string[] =>
  model.asked[index]!.body.messages.filter(({ role }: Data) => role === "tool").map(({ content }: Data) => content);

describe("an approval of a tool call", () => {
  test("shows the call with its arguments, as a form where that can be, in the inbox and by MCP", async () => {
    model.replies = [toolCall("createTicket", { title: "Printer" }), "Done"];
    const id = await paused(ticket());
    const [approval] = await openOf(id);
    expect(approval).toMatchObject({
      question: "May createTicket be called?",
      form: null,
      answerFields: [],
      toolCall: {
        name: "createTicket",
        arguments: { title: "Printer" },
        parameters: PARAMETERS,
        argumentFields: [
          { name: "title", type: "text", required: true },
          { name: "urgent", type: "boolean", required: false },
        ],
      },
    });
    const call = async (name: string, given: object): Promise<Data> =>
      (await ask(server, server.world.apiKey, "tools/call", { name, arguments: given })).body.result;
    const listed = (await call("list_approvals", { runId: id })).structuredContent.approvals;
    const toolCall_ = { name: "createTicket", arguments: { title: "Printer" }, parameters: PARAMETERS };
    expect(listed).toMatchObject([{ form: null, toolCall: toolCall_ }]);
    const given = { approvalId: approval!.id, decision: "approve", answer: { arguments: { title: "By MCP" } } };
    expect((await call("decide_approval", given)).structuredContent).toMatchObject({ status: "approved" });
    expect(await until(server, id, ...ENDED)).toMatchObject({ output: "Done" });
    expect(called()).toEqual([{ title: "By MCP" }]);
  });

  test("that is given other arguments has the tool called with these alone, and the model reads so", async () => {
    model.replies = [toolCall("createTicket", { title: "Printer" }), "Done"];
    const id = await paused(ticket({ approval: '${ $arguments.title == "Printer" }' }));
    const [approval] = await openOf(id);
    const answer = { arguments: { title: "Scanner", urgent: true } };
    for (let time = 0; time < 2; time++) await decided(approval, "approve", { answer });
    const other = await decide(approval, "approve", { answer: { arguments: { title: "Third" } } });
    expect(other.errors![0]!.extensions).toMatchObject({ code: "CONFLICT", reason: "already_decided" });
    const run = await until(server, id, ...ENDED);
    expect(run).toMatchObject({ status: "completed", output: "Done" });
    expect(called()).toEqual([answer.arguments]);
    expect(run.steps.find(({ kind }: Data) => kind === "tool").input).toMatchObject(answer);
    expect(read()).toEqual([
      'A person changed the arguments to {"title":"Scanner","urgent":true}. The answer is:\n{"id":7}',
    ]);
  });

  test.each([
    ["no object", "yes", "input.answer", "wrong_type"],
    ["something besides arguments", { arguments: { title: "A" }, tool: "other" }, "input.answer.tool", "unknown"],
    ["arguments that are none", { arguments: ["A"] }, "input.answer.arguments", "wrong_type"],
    ["arguments that do not fit", { arguments: { title: 5 } }, "input.answer.arguments", "invalid"],
    ["another key", { arguments: { title: "A", to: "all" } }, "input.answer.arguments", "invalid"],
    ["too long a text", { arguments: { title: "A".repeat(21) } }, "input.answer.arguments", "invalid"],
  ])("is not decided with %s, and stays open", async (_, answer, path, code) => {
    model.replies = [toolCall("createTicket", { title: "Printer" }), "No ticket"];
    const id = await paused(ticket());
    const [approval] = await openOf(id);
    const { errors } = await decide(approval, "approve", { answer });
    expect(errors![0]!.extensions).toMatchObject({ code: "BAD_USER_INPUT", fields: [{ path, code }] });
    expect(await openOf(id)).toHaveLength(1);
    await decided(approval, "reject", { comment: "too vague" });
    expect(await until(server, id, ...ENDED)).toMatchObject({ output: "No ticket" });
    expect(called()).toEqual([]);
    expect(read()).toEqual(["A person refused this call: too vague"]);
  });

  test("beside another of the same answer: each decision is for its own call, in either order", async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      endpoint.reset();
      model.asked.length = 0;
      model.replies = [toolCalls(["createTicket", { title: "A" }], ["createTicket", { title: "B" }]), "One"];
      const id = await paused(ticket());
      const open = (await openOf(id)).toSorted((a, b) =>
        a["toolCall"].arguments.title < b["toolCall"].arguments.title ? -1 : 1,
      );
      expect(open.map(({ toolCall: { arguments: given } }) => given)).toEqual([{ title: "A" }, { title: "B" }]);
      const decisions = [
        () => decided(open[0], "reject"),
        () => decided(open[1], "approve", { answer: { arguments: { title: "C" } } }),
      ];
      for (const index of order) await decisions[index]!();
      expect(await until(server, id, ...ENDED)).toMatchObject({ output: "One" });
      expect(called()).toEqual([{ title: "C" }]);
      expect(read()).toEqual([
        "A person refused this call.",
        expect.stringContaining('changed the arguments to {"title":"C"}'),
      ]);
    }
  });

  test("is decided when the run is out of memory: what was answered before is read again, also null", async () => {
    const lookUp = {
      http: {
        name: "lookUp",
        description: "Looks a ticket up.",
        parameters: { type: "object" },
        call: { method: "get", endpoint: `${endpoint.url}/found` },
      },
    };
    endpoint.answers = [{ headers: { "content-type": "application/json" }, body: "null" }];
    model.replies = [toolCall("lookUp", {}), toolCall("createTicket", { title: "Printer" }), "Done"];
    const id = await paused(lookUp, ticket());
    const [approval] = await openOf(id);
    await decided(approval, "approve");
    expect(await until(server, id, ...ENDED)).toMatchObject({ status: "completed", output: "Done" });
    expect(endpoint.seen.map(({ body }) => body)).toEqual(["", '{"title":"Printer"}']);
    expect(read(2)).toEqual(["null", '{"id":7}']);
  });

  test("of a tool of an MCP server, and of another agent", async () => {
    model.replies = [toolCall("price", { id: "7" }), "Done"];
    const priced = await paused({ mcp: { endpoint: shop.url, allow: ["price"], approval: true } });
    const [price] = await openOf(priced);
    expect(price!["toolCall"]).toMatchObject({ name: "price", argumentFields: [{ name: "id", type: "text" }] });
    expect((await decide(price, "approve", { answer: { arguments: { id: 8 } } })).errors).toBeDefined();
    await decided(price, "approve", { answer: { arguments: { id: "8" } } });
    await until(server, priced, ...ENDED);
    expect(read()[0]).toContain("8 costs 5");
    const handle = "pays-approved";
    const form =
      "input: {schema: {document: {type: object, properties: {amount: {type: number}}, required: [amount]}}}";
    await agentOf(server, `${form}\ndo: [{pay: {set: {paid: '\${ .amount }'}}}]`, handle);
    model.asked.length = 0;
    model.replies = [toolCall(handle, { amount: 500 }), "Paid"];
    const paid = await paused({ agent: { handle, description: "Pays.", approval: true } });
    const [pay] = await openOf(paid);
    expect(pay!["toolCall"]).toMatchObject({ name: handle, argumentFields: [{ name: "amount", type: "number" }] });
    await decided(pay, "approve", { answer: { arguments: { amount: 5 } } });
    await until(server, paid, ...ENDED);
    expect(read()[0]).toContain('{"paid":5}');
  });

  test("whose schema is no form is shown without fields; one of a server that no schema of ours can be is not checked here", async () => {
    const lines = { type: "object", properties: { lines: { type: "array", items: { type: "object" } } } };
    model.replies = [toolCall("createTicket", { lines: [{ a: 1 }] }), "Done"];
    const id = await paused(ticket({ parameters: lines }));
    const [approval] = await openOf(id);
    expect(approval!["toolCall"]).toMatchObject({ parameters: lines, argumentFields: [] });
    expect((await decide(approval, "approve", { answer: { arguments: { lines: [1] } } })).errors).toBeDefined();
    await decided(approval, "approve");
    await until(server, id, ...ENDED);
    expect(called()).toEqual([{ lines: [{ a: 1 }] }]);
  });
});

describe("a client of MCP that shows forms", () => {
  test("is asked for it, and accepts the call as it is", async () => {
    model.replies = [toolCall("createTicket", { title: "Printer" }), "Done"];
    await agentOf(server, assistant(ticket()), "opens-tickets");
    const params = { name: "test_opens-tickets", arguments: {} };
    const more = { capabilities: { elicitation: {} } };
    const next = async (given: object): Promise<Data> =>
      (await ask(server, server.world.apiKey, "tools/call", { ...params, ...given }, more)).body.result;
    const { inputRequests, requestState } = await next({});
    const [[key, request]] = Object.entries(inputRequests) as [[string, Data]];
    expect(request["params"]).toMatchObject({
      message: expect.stringContaining('{"title":"Printer"}'),
      requestedSchema: { type: "object", properties: {} },
    });
    const inputResponses = { [key]: { action: "accept", content: {} } };
    expect(await next({ requestState, inputResponses })).toMatchObject({ structuredContent: { output: "Done" } });
    expect(called()).toEqual([{ title: "Printer" }]);
  });
});

describe("after `kill -9`", () => {
  test("between decisions and calls, each call is what was decided: changed, as it was, or none", async () => {
    const title = (at: number): string => `T${at}`;
    model.think = ({ body }) =>
      body.messages.some(({ role }: Data) => role === "tool")
        ? "Over"
        : toolCalls(...[0, 1, 2].map((at): [string, object] => ["createTicket", { title: title(at) }]));
    try {
      const agent = await agentOf(server, assistant(ticket()));
      const runs = await Promise.all([0, 1, 2].map(() => start(server, agent)));
      for (const id of runs) await until(server, id, "paused");
      const decideAll = async (id: string): Promise<void> => {
        const open = await openOf(id);
        const of = (at: number): Data => open.find(({ toolCall: { arguments: given } }) => given.title === title(at))!;
        const changed = { answer: { arguments: { title: "changed" } } };
        await Promise.all([decided(of(0), "reject"), decided(of(1), "approve", changed), decided(of(2), "approve")]);
      };
      // The first is killed before its calls, the second while they are under way, the third in the middle of its decisions.
      await decideAll(runs[0]!);
      await server.kill();
      endpoint.answer = "held";
      await server.restart();
      await decideAll(runs[1]!);
      await eventually(() => endpoint.held >= 2);
      await server.kill();
      await server.restart();
      const [first] = await openOf(runs[2]!);
      await decided(first, "reject");
      await server.kill();
      endpoint.answer = { headers: { "content-type": "application/json" }, body: '{"id":7}' };
      await server.restart();
      for (const one of await openOf(runs[2]!)) await decided(one, "reject");
      for (const id of runs) expect(await until(server, id, ...ENDED)).toMatchObject({ output: "Over" });
    } finally {
      model.think = undefined;
    }
    const byKey = Map.groupBy(endpoint.seen, ({ headers }) => headers["idempotency-key"] as string);
    const bodies = [...byKey.values()].map((calls) => [...new Set(calls.map(({ body }) => body))]);
    // Two runs, each with its changed call and the one that was approved as it was; the same however often it was sent.
    expect(bodies.flat().toSorted((one, other) => one.localeCompare(other))).toEqual([
      '{"title":"changed"}',
      '{"title":"changed"}',
      '{"title":"T2"}',
      '{"title":"T2"}',
    ]);
  });
});

describe("who decides on a tool call", () => {
  const NOT_ASSIGNED = "FORBIDDEN not_assigned";
  const START = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const startedBy = async (token: string, input: object, ...tools: object[]): Promise<string> =>
    (await server.data(START, { input: { agentId: await agentOf(server, assistant(...tools)), input } }, token))
      .runAgent.id;
  const asked = async (id: string): Promise<Data> => {
    await until(server, id, "paused");
    return (await openOf(id))[0]!;
  };
  const decideAs = async (token: string | undefined, approval: Data, decision: string, more: object = {}) =>
    refusalOf(await server.graphql(DECIDE, { input: { approvalId: approval["id"], decision, ...more } }, token));

  test("those whom the tool names, as many as it says, never the starter; their change of the arguments is called", async () => {
    const [anna, bob, carl] = await Promise.all(["a", "b", "c"].map((name) => join(server, "editor", name)));
    const runner = await join(server, "runner");
    model.replies = [toolCall("createTicket", { title: "Printer" }), "Done"];
    const approval = {
      when: '${ $arguments.title == "Printer" }',
      assignees: "${ .people }",
      excludeStarter: true,
      quorum: 2,
    };
    const people = [anna!.email, bob!.email, carl!.email];
    const id = await startedBy(carl!.token, { people }, ticket({ approval }));
    const question = await asked(id);
    const answer = { arguments: { title: "Scanner" } };
    for (const token of [runner.token, carl!.token, server.world.apiKey])
      expect(await decideAs(token, question, "approve")).toBe(NOT_ASSIGNED);
    expect(await decideAs(anna!.token, question, "approve", { answer })).toBeUndefined();
    expect(called()).toEqual([]);
    expect(await decideAs(anna!.token, question, "approve", { answer })).toBeUndefined();
    expect((await openOf(id)).length).toBe(1);
    expect(await decideAs(bob!.token, question, "approve", { answer })).toBeUndefined();
    expect(await until(server, id, ...ENDED)).toMatchObject({ output: "Done" });
    expect(called()).toEqual([{ title: "Scanner" }]);
  });

  test("one of them refuses: it is never made; for other arguments nobody is asked; an MCP client decides no sooner", async () => {
    const anna = await join(server, "editor", "a");
    model.replies = [toolCall("createTicket", { title: "Free" }), toolCall("createTicket", { title: "Dear" }), "Done"];
    const approval = { when: '${ $arguments.title == "Dear" }', assignees: [anna.email] };
    const id = await startedBy(anna.token, {}, ticket({ approval }));
    const question = await asked(id);
    expect(called()).toEqual([{ title: "Free" }]);
    const given = { approvalId: question["id"], decision: "approve" };
    const byMcp = await ask(server, server.world.apiKey, "tools/call", { name: "decide_approval", arguments: given });
    expect(JSON.stringify(byMcp.body)).toContain("not_assigned");
    expect(await decideAs(anna.token, question, "reject", { comment: "Too dear" })).toBeUndefined();
    expect(await until(server, id, ...ENDED)).toMatchObject({ output: "Done" });
    expect(called()).toEqual([{ title: "Free" }]);
    expect(read(2)).toContainEqual(expect.stringContaining("A person refused this call: Too dear"));
  });

  test("an owner decides in their place, which is recorded; nobody left to decide fails the assistant", async () => {
    const anna = await join(server, "editor", "a");
    model.replies = [toolCall("createTicket", { title: "Printer" }), "Done"];
    const id = await startedBy(anna.token, {}, ticket({ approval: { assignees: [anna.email] } }));
    const question = await asked(id);
    expect(await decideAs(await login(server, server.world), question, "approve")).toBeUndefined();
    expect(await until(server, id, ...ENDED)).toMatchObject({ output: "Done" });
    const { approval } = await server.data("query ($id: ID!) { approval(id: $id) { decisions { isOverride } } }", {
      id: question["id"],
    });
    expect(approval.decisions).toEqual([{ isOverride: true }]);
    model.replies = [toolCall("createTicket", { title: "Printer" }), "Done"];
    const alone = await startedBy(
      anna.token,
      {},
      ticket({ approval: { assignees: [anna.email], excludeStarter: true, quorum: "${ 1 + 1 }" } }),
    );
    const failed = await until(server, alone, ...ENDED);
    expect(failed.error.detail).toContain("2 have to approve, and only 1 are asked");
    expect(called()).toEqual([{ title: "Printer" }]);
  });

  test("mistakes are problems when the definition is checked", async () => {
    const problemsOf = async (approval: unknown): Promise<string> => {
      const definition = `document: {dsl: '1.0.3', namespace: test, name: any, version: '1.0.0'}\n${assistant(ticket({ approval }))}`;
      const { validateDefinition } = await server.data(
        "query($definition: String!) { validateDefinition(definition: $definition) { problems { message } } }",
        { definition },
      );
      return validateDefinition.problems.map(({ message }: Data) => message).join();
    };
    expect(await problemsOf({ assignees: ["role:editor"], quorum: 2 })).toBe("");
    expect(await problemsOf({ assignees: ["anna"] })).toContain("e-mail of a member, or a role");
    expect(await problemsOf({ assignees: ["a@example.org"], quorum: 2 })).toContain("only one person is asked");
    expect(await problemsOf({ when: "${ $nothing }" })).toContain("$nothing is not known");
    expect(await problemsOf({ unless: true })).toContain("unless");
  });
});
