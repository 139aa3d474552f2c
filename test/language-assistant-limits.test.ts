/** The limits of a `call: assistant`, the approval of its calls, a hostile model, and `kill -9`. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { ask, assistant, connect, kindsOf, lastOf, ok, openPlaces, places, ticket, tried } from "./assistants.ts";
import type { Data } from "./client.ts";
import { ended, json, send, status, toolCall, toolCalls } from "./llm-service.ts";
import { agentOf, decide, ran, readRun, until } from "./runs.ts";

openPlaces();

const asks = (question: string): object[] => [{ first: { set: { question } } }];

describe("limits", () => {
  const forever = (): void => void (places.model.replies = [toolCall("createTicket", { title: "A" })]);

  test("of iterations and of tool calls: the error says which and what was reached", async () => {
    forever();
    const { error } = await ask({ tools: [ticket()], limits: { iterations: 3 } });
    expect(error).toMatchObject({ type: expect.stringMatching(/limit$/), status: 429 });
    expect(error.detail).toBe("limits.iterations (3) is reached: so far 3 iterations, 3 tool calls, 1020 tokens");
    expect(places.model.asked).toHaveLength(3);
    const calls = await ask({ tools: [ticket()], limits: { toolCalls: 2 } });
    expect(calls.error.detail).toContain("limits.toolCalls (2) is reached");
    expect(places.endpoint.seen).toHaveLength(5);
  });

  test("of tokens: what is left is the next answer's maximum, and then nothing more is asked", async () => {
    forever();
    const { error } = await ask({ tools: [ticket()], limits: { tokens: 1_000 } });
    expect(error.detail).toMatch(/^limits.tokens \(1000\) is reached: so far 2 iterations, 2 tool calls, 680 tokens/);
    expect(places.model.asked[0]!.body.max_tokens).toBeGreaterThan(800);
    expect(places.model.asked[1]!.body.max_tokens).toBeLessThan(340);
  });

  test("of tokens: one that is left is asked for, and none is not", async () => {
    const endAt = async (tokens: number): Promise<string> => {
      places.model.asked.length = 0;
      forever();
      return (await ask({ tools: [ticket()], limits: { tokens } })).error.detail;
    };
    const next = Number(/and about (\d+) more/.exec(await endAt(1_000))![1]);
    await endAt(680 + next);
    expect(places.model.asked).toHaveLength(2);
    await endAt(681 + next);
    expect(places.model.asked.map(({ body }) => body.max_tokens).slice(2)).toEqual([1]);
  });

  test("an answer that a limit cuts is the error with that limit and its value", async () => {
    await connect("costly", { prices: { inputPerMillion: 1, outputPerMillion: 1_000, currency: "USD" } });
    places.model.replies = [ended("Once", "length")];
    const cutBy = async (limits: object): Promise<string> => (await ask({ connection: "costly", limits })).error.detail;
    expect(await cutBy({ tokens: 1_000 })).toMatch(
      /^limits.tokens \(1000\) is reached.*the last answer was cut by it$/,
    );
    expect(await cutBy({ cost: 0.2 })).toMatch(/^limits.cost \(0.2\) is reached.*the last answer was cut by it$/);
  });

  test("of tokens: an endpoint that counts nothing is counted by what was said", async () => {
    const message = {
      role: "assistant",
      content: "x".repeat(1_800),
      tool_calls: [{ id: "1", type: "function", function: { name: "createTicket", arguments: '{"title":"A"}' } }],
    };
    places.model.replies = [json({ choices: [{ index: 0, finish_reason: "tool_calls", message }] })];
    const { error } = await ask({ tools: [ticket()], limits: { tokens: 1_000 } });
    expect(error.detail).toMatch(
      /^limits.tokens \(1000\) is reached: so far 1 iterations, 1 tool calls, [67]\d\d tokens/,
    );
    expect(places.model.asked).toHaveLength(1);
  });

  test("the tokens of a run that a tool starts count", async () => {
    const handle = `thinks-${Date.now()}`;
    await agentOf(places.server, "do: [{ask: {call: 'llm:1.0.0@default', with: {prompt: Hi}}}]", handle);
    places.model.think = ({ body }) => (body.tools ? toolCall(handle, {}) : "Hello");
    const { error } = await ask({ tools: [{ agent: { handle } }], limits: { tokens: 1_000 } });
    expect(error.detail).toMatch(/^limits.tokens \(1000\) is reached: so far 1 iterations, 1 tool calls, 680 tokens/);
    expect(places.model.asked).toHaveLength(2);
  });

  test("answers count that could not be used, also when a `retry` asks again", async () => {
    places.model.replies = [ended("half", "length")];
    const values = { maxTokens: 50, limits: { tokens: 1_000 } };
    const { id } = await ran(places.server, await agentOf(places.server, tried(asks("Same"), values, 4)));
    const { error } = await until(places.server, id, "completed", "failed");
    expect(error.detail).toMatch(/^limits.tokens \(1000\) is reached: so far 3 iterations, 0 tool calls, 1020 tokens/);
    expect(places.model.asked).toHaveLength(3);
  });

  test("what answers cost that could not be used counts when a `retry` asks again", async () => {
    await connect("wasted", { prices: { inputPerMillion: 1_000, outputPerMillion: 1_000, currency: "USD" } });
    places.model.replies = [ended("half", "length")];
    const values = { connection: "wasted", maxTokens: 50, limits: { cost: 0.3 } };
    const { id } = await ran(places.server, await agentOf(places.server, tried(asks("Same"), values, 1)));
    const { error } = await until(places.server, id, "completed", "failed");
    expect(error.detail).toContain(
      "limits.cost (0.3) is reached: so far 1 iterations, 0 tool calls, 340 tokens, 0.34 USD",
    );
    expect(places.model.asked).toHaveLength(1);
  });

  test("of cost, over a connection with prices", async () => {
    await connect("dear", { prices: { inputPerMillion: 1_000, outputPerMillion: 1_000, currency: "USD" } });
    forever();
    const { error } = await ask({ connection: "dear", tools: [ticket()], limits: { cost: 0.9 } });
    expect(error.detail).toMatch(
      /^limits.cost \(0.9\) is reached: so far \d iterations, 2 tool calls, 680 tokens, 0.68 USD/,
    );
    expect((await ask({ limits: { cost: 1 } })).error.detail).toBe(
      "limits.cost needs the prices of the model connection",
    );
  });

  test("of seconds, also while a tool hangs", async () => {
    forever();
    places.endpoint.answer = "held";
    const agentId = await agentOf(places.server, assistant({ tools: [ticket()], limits: { seconds: 600 } }));
    const id = await start(places.server, agentId, { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(601_000);
    const run = await until(places.server, id, "completed", "failed");
    expect(run.error.detail).toContain("limits.seconds (600) is reached");
  });

  test("of seconds, also while a server hangs that is to list its tools", async () => {
    places.endpoint.answer = "held";
    const tools = [{ mcp: { endpoint: places.endpoint.url, allow: ["search"] } }];
    // Less than a call's own time.
    const agentId = await agentOf(places.server, assistant({ tools, limits: { seconds: 40 } }));
    const id = await start(places.server, agentId, { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(41_000);
    const { error } = await until(places.server, id, "completed", "failed");
    expect(error.type).toMatch(/limit$/);
    expect(error.detail).toBe("limits.seconds (40) is reached: no server listed its tools in time");
  });

  test("with `onLimit: answer` the model is asked once more, without tools", async () => {
    places.model.think = ({ body }) => (body.tools ? toolCall("createTicket", { title: "A" }) : "One is open.");
    const run = await ask({ tools: [ticket()], limits: { iterations: 1 }, onLimit: "answer" });
    expect(run).toMatchObject({ status: "completed", output: "One is open." });
    expect(lastOf(1).content).toContain("A limit is reached");
    places.model.asked.length = 0;
    const calls = await ask({ tools: [ticket()], limits: { toolCalls: 1 }, onLimit: "answer" });
    expect(calls).toMatchObject({ status: "completed", output: "One is open." });
    expect(places.endpoint.seen).toHaveLength(2);
  });
});

describe("`seconds` count from the first try", () => {
  const values = { limits: { seconds: 400 } };
  const LATE = "limits.seconds (400) is reached";

  /** A first question that takes 250 s and fails, and the next one that takes 200 s. */
  const hanging = async (question: string): Promise<{ id: string; second: ServerResponse }> => {
    const asked: ServerResponse[] = [];
    places.model.think = () => (response) => void asked.push(response);
    const agentId = await agentOf(places.server, tried(asks(question), values, 1));
    const id = await start(places.server, agentId);
    await expect.poll(() => asked.length).toBe(1);
    await places.server.clock.advance(250_000);
    (status(500) as (response: ServerResponse) => void)(asked[0]!);
    await expect.poll(() => asked.length).toBe(2);
    await places.server.clock.advance(200_000);
    return { id, second: asked[1]! };
  };

  test("that asks the same", async () => {
    const { id } = await hanging("Same");
    const { error } = await until(places.server, id, "completed", "failed");
    expect(error.detail).toContain(LATE);
  });

  test("and begin again with one that asks something else", async () => {
    const { id, second } = await hanging('${ if $task.attempt == 1 then "First" else "Second" end }');
    send("Done")(second);
    expect(await until(places.server, id, "completed", "failed")).toMatchObject({ output: "Done" });
  });

  test("and in a run that retries another from when that one came so far", async () => {
    const first: ServerResponse[] = [];
    places.model.think = ({ body }) =>
      body.messages.length === 1 ? (response) => void first.push(response) : ended("half", "length");
    const tools = [ticket()];
    const agentId = await agentOf(places.server, assistant({ ...values, tools, maxTokens: 50 }));
    const id = await start(places.server, agentId, { question: "Retry" });
    await expect.poll(() => first.length).toBe(1);
    await places.server.clock.advance(250_000);
    (toolCall("createTicket", { title: "A" }) as (response: ServerResponse) => void)(first[0]!);
    const { error } = await until(places.server, id, "completed", "failed");
    expect(error.type).toMatch(/model-answer$/);
    // A person takes their time before they retry it.
    await places.server.clock.advance(3_600_000);
    places.model.think = () => () => undefined;
    const { retryRun } = await places.server.data("mutation($id: ID!) { retryRun(input: {runId: $id}) { id } }", {
      id,
    });
    await expect.poll(() => places.model.asked.length).toBe(3);
    await places.server.clock.advance(200_000);
    const retried = await until(places.server, retryRun.id, "completed", "failed");
    expect(retried.error.detail).toContain(LATE);
  });
});

describe("the last question of `onLimit: answer`", () => {
  test("calls no tool, whatever the model asks for", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" })];
    const run = await ask({ tools: [ticket()], limits: { iterations: 1 }, onLimit: "answer" });
    expect(run).toMatchObject({ status: "completed", output: "" });
    expect(run.steps.at(-1).output).toMatchObject({ text: "", toolCalls: [] });
    expect(places.endpoint.seen).toHaveLength(1);
  });

  test("is asked after a limit has cut an answer, also if the process dies meanwhile: what was cut counts once", async () => {
    const asked: ServerResponse[] = [];
    places.model.think = () =>
      places.model.asked.length === 1 ? ended("Once", "length") : (response) => void asked.push(response);
    const agentId = await agentOf(places.server, assistant({ limits: { tokens: 345 }, onLimit: "answer" }));
    const id = await start(places.server, agentId, { question: "Long" });
    await expect.poll(() => asked.length).toBe(1);
    await places.server.kill();
    await places.server.restart();
    await expect.poll(() => asked.length).toBe(2);
    send("In short")(asked[1]!);
    expect(await until(places.server, id, "completed", "failed")).toMatchObject({ output: "In short" });
    expect(places.model.asked[2]!.key).toBe(places.model.asked[1]!.key);
  });
});

describe("a hostile model", () => {
  test("writes what no row can hold, and repeats the key wherever it can: neither is shown", async () => {
    const leaks = "sk-planted-0123456789";
    await connect("leaky", { apiKey: leaks });
    const values = JSON.stringify({ title: `a\u0000b ${leaks}` });
    places.model.replies = [toolCall(`no ${leaks}`, values), toolCall("createTicket", values), `Done ${leaks}`];
    const run = await ask({ connection: "leaky", tools: [ticket()] });
    expect(run.status).toBe("completed");
    expect(JSON.stringify(run)).not.toContain(leaks);
    expect(places.endpoint.seen.map(({ body }) => body).join("")).not.toContain(leaks);
  });

  test("asks for an agent that is its own tool: the depth of runs and the limits end it", async () => {
    const name = `self-${Date.now()}`;
    const id = await agentOf(
      places.server,
      assistant({ prompt: "Go on", tools: [{ agent: { handle: name } }], limits: { toolCalls: 1 } }),
      name,
    );
    places.model.replies = [toolCall(name, {})];
    const run = await ran(places.server, id);
    expect(run.status).toBe("failed");
    expect(run.error.type).toMatch(/limit$/);
    expect(places.model.asked.length).toBeLessThan(3 * LIMITS.runDepth + 3);
  });
});

describe("approval", () => {
  test("the time in which a person decides does not count in `seconds`", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" }), "Done"];
    const run = await ask({ tools: [ticket({ approval: true })], limits: { seconds: 60 } });
    expect(run.status).toBe("paused");
    await places.server.clock.advance(3_600_000);
    await decide(places.server, run.id, "approve");
    expect(await until(places.server, run.id, "completed", "failed")).toMatchObject({ output: "Done" });
    expect(places.endpoint.seen).toHaveLength(1);
  });

  test("a call that a person rejects is never made; the model reads why", async () => {
    places.model.replies = [toolCall("createTicket", { title: "urgent" }), "I could not."];
    const run = await ask({ tools: [ticket({ approval: '${ $arguments.title | test("urgent") }' })] });
    expect(run.status).toBe("paused");
    expect(run.approvals.nodes).toMatchObject([
      { status: "open", context: { tool: "createTicket", arguments: { title: "urgent" } } },
    ]);
    await decide(places.server, run.id, "reject", { comment: "not today" });
    expect(await until(places.server, run.id, "completed", "failed")).toMatchObject({ output: "I could not." });
    expect(places.endpoint.seen).toHaveLength(0);
    expect(lastOf(1).content).toBe("A person refused this call: not today");
  });

  test("one that a person approves is made once; others need none", async () => {
    places.model.replies = [
      toolCalls(["createTicket", { title: "urgent" }], ["createTicket", { title: "later" }]),
      "Both",
    ];
    const run = await ask({ tools: [ticket({ approval: '${ $arguments.title | test("urgent") }' })] });
    expect(run.status).toBe("paused");
    expect(places.endpoint.seen.map(({ body }) => body)).toEqual(['{"title":"later"}']);
    await decide(places.server, run.id, "approve");
    expect(await until(places.server, run.id, "completed", "failed")).toMatchObject({ output: "Both" });
    expect(places.endpoint.seen.map(({ body }) => body)).toEqual(['{"title":"later"}', '{"title":"urgent"}']);
  });

  test("one that a person rejects is not made in another try either, in which the tool would need no approval", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" }), status(500), "No"];
    const tools = [ticket({ approval: "${ $task.attempt == 1 }" })];
    const { id } = await ran(places.server, await agentOf(places.server, tried(asks("Same"), { tools }, 1)));
    await decide(places.server, id, "reject");
    expect(await until(places.server, id, "completed", "failed")).toMatchObject({ output: "No" });
    expect(places.endpoint.seen).toHaveLength(0);
    expect(lastOf(2).content).toBe("A person refused this call.");
  });

  test("a decision holds for its own conversation alone, as what its calls answered", async () => {
    let failures = 1;
    places.model.think = ({ body: { messages } }) => {
      const [{ content: question }] = messages;
      const read = messages.filter(({ role }: Data) => role === "tool").length;
      if (read === 0) return toolCall("search", { title: question });
      if (read === 2) return question === "First" ? status(500) : "Over";
      return question === "Second" && failures-- > 0 ? status(500) : toolCall("createTicket", { title: question });
    };
    // The second try fails before it comes as far as the first did; the third goes on with the second.
    const question = '${ if $task.attempt == 1 then "First" else "Second" end }';
    const tools = [ticket({ name: "search" }), ticket({ approval: true })];
    const { id } = await ran(places.server, await agentOf(places.server, tried(asks(question), { tools }, 2)));
    await decide(places.server, id, "approve");
    const open = async (): Promise<Data[]> =>
      (await readRun(places.server, id)).approvals.nodes.filter(({ status: of }: Data) => of === "open");
    await expect.poll(open).toMatchObject([{ context: { arguments: { title: "Second" } } }]);
    await decide(places.server, id, "reject");
    expect(await until(places.server, id, "completed", "failed")).toMatchObject({ output: "Over" });
    expect(places.endpoint.seen.map(({ body }) => JSON.parse(body).title)).toEqual(["First", "First", "Second"]);
    expect(places.model.asked).toHaveLength(7);
  });

  test("the time in which a person decided in an earlier try adds nothing to `seconds`", async () => {
    let failures = 1;
    places.model.think = ({ body }) => {
      if (body.messages.every(({ role }: Data) => role !== "tool")) return toolCall("createTicket", { title: "A" });
      return failures-- > 0 ? status(500) : () => undefined;
    };
    const values = { tools: [ticket({ approval: true })], limits: { seconds: 60 } };
    const { id } = await ran(places.server, await agentOf(places.server, tried(asks("Same"), values, 1)));
    await places.server.clock.advance(3_600_000);
    await decide(places.server, id, "approve");
    await expect.poll(() => places.model.asked.length).toBe(3);
    await places.server.clock.advance(61_000);
    const { error } = await until(places.server, id, "completed", "failed");
    expect(error.detail).toContain("limits.seconds (60) is reached");
    expect(places.endpoint.seen).toHaveLength(1);
  });
});

describe("after `kill -9`", () => {
  test("a call that is over is not made again, while another of the same answer is", async () => {
    places.model.replies = [toolCalls(["createTicket", { title: "A" }], ["createTicket", { title: "B" }]), "Done"];
    places.endpoint.answers = [ok({ id: 1 })];
    places.endpoint.answer = "held";
    const id = await start(places.server, await agentOf(places.server, assistant({ tools: [ticket()] })), {
      question: "Two",
    });
    await expect.poll(async () => kindsOf(await readRun(places.server, id))).toContain("tool createTicket completed");
    await places.server.kill();
    places.endpoint.answer = ok({ id: 2 });
    await places.server.restart();
    expect(await until(places.server, id, "completed", "failed")).toMatchObject({
      status: "completed",
      output: "Done",
    });
    expect(places.model.asked).toHaveLength(2);
    const keys = Map.groupBy(places.endpoint.seen, ({ headers }) => headers["idempotency-key"]);
    expect([...keys.values()].map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([1, 2]);
  });

  test("a rejected call is not made when the process dies between the decision and the run's next step", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" }), "No"];
    const run = await ask({ tools: [ticket({ approval: true })] });
    await places.server.kill();
    await places.server.restart();
    await decide(places.server, run.id, "reject");
    await places.server.kill();
    await places.server.restart();
    expect(await until(places.server, run.id, "completed", "failed")).toMatchObject({ output: "No" });
    expect(places.endpoint.seen).toHaveLength(0);
    expect(places.model.asked).toHaveLength(2);
  });
});
