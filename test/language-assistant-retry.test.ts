/** `retryRun` of a `call: assistant`: what is over is neither paid for nor decided again. */
import { describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { ask, assistant, connect, kindsOf, lastOf, ok, openPlaces, places, ticket, workOf } from "./assistants.ts";
import type { Data } from "./client.ts";
import { startEndpoint } from "./endpoint.ts";
import { toolCall, toolCalls } from "./llm-service.ts";
import { agentOf, CANCEL, decide, DECIDE, ENDED, ran, readRun, until } from "./runs.ts";

openPlaces();

const RETRY = "mutation($input: RetryRunInput!) { retryRun(input: $input) { id } }";
const retried = async (runId: string, more: object = {}): Promise<Data> => {
  const { retryRun } = await places.server.data(RETRY, { input: { runId, ...more } });
  return until(places.server, retryRun.id, ...ENDED, "paused");
};
/** The questions to the model and the calls of the tool until now. */
const paid = (): [number, number] => [places.model.asked.length, places.endpoint.seen.length];
/** The model asks for so many tickets, one after the other. */
const tickets = (count: number): void => {
  places.model.think = ({ body }) => {
    const read = body.messages.filter(({ role }: Data) => role === "tool").length;
    return read < count ? toolCall("createTicket", { title: `${read}` }) : `${read} tickets`;
  };
};

describe("after a cancel", () => {
  test("in a call that hung: what others of its answer have brought stays, and so do decisions about them", async () => {
    await using slow = await startEndpoint();
    slow.answer = "held";
    const call = { method: "post", endpoint: slow.url, body: "${ $arguments }" };
    const tools = [ticket({ name: "slow", call }), ticket(), ticket({ name: "pay", approval: true })];
    const calls = ["slow", "createTicket", "pay"].map((name): [string, object] => [name, { title: "A" }]);
    places.model.replies = [toolCalls(...calls), "Done"];
    const id = await start(places.server, await agentOf(places.server, assistant({ tools })), { question: "Hang" });
    await expect.poll(() => slow.held).toBe(1);
    const isOver = async (): Promise<boolean> => {
      const steps = kindsOf(await readRun(places.server, id));
      return steps.includes("tool createTicket completed") && steps.includes("approval pay paused");
    };
    await expect.poll(isOver).toBe(true);
    const { approvals } = await readRun(places.server, id);
    const input = { approvalId: approvals.nodes[0].id, decision: "reject" };
    expect((await places.server.graphql(DECIDE, { input })).errors).toBe(undefined);
    await expect.poll(async () => kindsOf(await readRun(places.server, id))).toContain("approval pay completed");
    await places.server.data(CANCEL, { id });
    slow.answer = ok({ id: 8 });
    const over = await retried(id);
    expect(over).toMatchObject({ status: "completed", output: "Done" });
    expect([slow.seen.length, places.endpoint.seen.length, places.model.asked.length]).toEqual([2, 1, 2]);
    expect(lastOf(1).content).toBe("A person refused this call.");
  });
});

describe("beside others that have ended", () => {
  test("nothing of theirs is asked or called again, in items and in branches", async () => {
    await using slow = await startEndpoint();
    slow.answer = "held";
    const call = { method: "post", endpoint: slow.url, body: "${ $arguments }" };
    const { work } = workOf({ tools: [ticket({ name: "slow", call }), ticket()], prompt: "${ . }" });
    places.model.think = ({ body: { messages } }) => {
      const name = messages[0].content === "hang" ? "slow" : "createTicket";
      return messages.at(-1).role === "tool" ? "Done" : toolCall(name, { title: "A" });
    };
    const items = { all: { call: "each:1.0.0@default", with: { in: '${ ["hang", "go", "go"] }', do: [{ work }] } } };
    const branch = (name: string, text: string): object => ({
      [name]: { input: { from: `\${ "${text}" }` }, ...work },
    });
    const branches = { all: { fork: { branches: [branch("first", "hang"), branch("second", "go")] } } };
    for (const [list, others] of [
      [items, 2],
      [branches, 1],
    ] as const) {
      places.model.asked.length = places.endpoint.seen.length = 0;
      const id = await start(places.server, await agentOf(places.server, `do: ${JSON.stringify([list])}`), {});
      const answered = async (): Promise<number> =>
        kindsOf(await readRun(places.server, id)).filter((kind) => kind === "model model completed").length;
      await expect.poll(answered).toBe(2 * others + 1);
      await expect.poll(() => slow.held).toBe(1);
      await places.server.data(CANCEL, { id });
      slow.answer = ok({ id: 8 });
      expect(await retried(id)).toMatchObject({
        status: "completed",
        output: ["Done", ...Array.from({ length: others }, () => "Done")],
      });
      expect(paid()).toEqual([2 * others + 2, others]);
      slow.answer = "held";
    }
    expect(slow.seen).toHaveLength(4);
  });
});

describe("after the error `limit`", () => {
  test("of a budget: at the question that found no room", async () => {
    await connect("little", { limits: { tokensPerDay: 1_200 } });
    tickets(3);
    const run = await ask({ connection: "little", tools: [ticket()], maxTokens: 50 });
    expect(run.error.detail).toContain("the model connection little may use 1200 tokens a day");
    const [asked, called] = paid();
    expect(asked).toBeGreaterThan(0);
    await places.server.clock.advance(86_400_000);
    expect(await retried(run.id)).toMatchObject({ status: "completed", output: "3 tickets" });
    expect([asked, called, ...paid()]).toEqual([asked, asked, 4, 3]);
  });

  test("of its own: behind all that is over, with a version that allows more, and else it is the same error", async () => {
    tickets(3);
    const name = "more-and-more";
    const body = (iterations: number): string => assistant({ tools: [ticket()], limits: { iterations } });
    const run = await ran(places.server, await agentOf(places.server, body(2), name), { question: "Three" });
    expect(run.error.detail).toContain("limits.iterations (2) is reached");
    expect((await retried(run.id)).error.detail).toBe(run.error.detail);
    expect(paid()).toEqual([2, 2]);
    const definition = `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '2.0.0'}\n${body(5)}`;
    await places.server.data("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
      input: { projectId: places.server.world.projectId, definition },
    });
    expect(await retried(run.id, { version: "2.0.0" })).toMatchObject({ output: "3 tickets" });
    expect(paid()).toEqual([4, 3]);
    // Named by its task, it begins again.
    expect(await retried(run.id, { version: "2.0.0", fromTask: "work" })).toMatchObject({ output: "3 tickets" });
    expect(paid()).toEqual([8, 6]);
  });

  test("of `seconds` that ended a call: at that call, with the time that was left when it began", async () => {
    places.endpoint.answers = [ok({ id: 1 })];
    places.endpoint.answer = "held";
    places.model.replies = [toolCalls(["createTicket", { title: "A" }], ["createTicket", { title: "B" }]), "Done"];
    const agentId = await agentOf(places.server, assistant({ tools: [ticket()], limits: { seconds: 40 } }));
    const id = await start(places.server, agentId, { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(41_000);
    expect((await until(places.server, id, ...ENDED)).error.detail).toContain("limits.seconds (40) is reached");
    places.endpoint.answer = ok({ id: 2 });
    expect(await retried(id)).toMatchObject({ status: "completed", output: "Done" });
    expect(paid()).toEqual([2, 3]);
  });

  test("when a person refused more: they are asked again, and a call that they rejected stays so", async () => {
    places.model.replies = [toolCalls(["pay", { title: "A" }], ["createTicket", { title: "B" }]), "Done"];
    const tools = [ticket(), ticket({ name: "pay", approval: true })];
    const run = await ask({ tools, limits: { iterations: 1 }, onLimit: "ask" });
    await decide(places.server, run.id, "reject");
    await expect.poll(async () => (await readRun(places.server, run.id)).approvals.nodes.length).toBe(2);
    await decide(places.server, run.id, "reject");
    const refused = await until(places.server, run.id, ...ENDED);
    expect(refused.error.detail).toContain("a person refused more");
    const again = await retried(run.id);
    expect(again.approvals.nodes.map(({ status }: Data) => status)).toEqual(["open", "rejected"]);
    await decide(places.server, again.id, "approve");
    expect(await until(places.server, again.id, ...ENDED)).toMatchObject({ status: "completed", output: "Done" });
    expect(paid()).toEqual([2, 1]);
    expect(places.model.asked[1]!.body.messages.at(-2).content).toBe("A person refused this call.");
  });
});

test("after the error `tool` at the last question", async () => {
  places.model.replies = [
    toolCall("createTicket", { title: "A" }),
    toolCall("none", {}),
    toolCall("none", {}),
    toolCall("none", {}),
    "Done",
  ];
  const run = await ask({ tools: [ticket()] });
  expect(run.error.type).toMatch(/tool$/);
  expect(await retried(run.id)).toMatchObject({ status: "completed", output: "Done" });
  expect(paid()).toEqual([5, 1]);
  expect(places.model.asked[4]!.body.messages).toEqual(places.model.asked[3]!.body.messages);
});
