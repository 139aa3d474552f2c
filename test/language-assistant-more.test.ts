/** `onLimit: ask` of a `call: assistant`: a person is asked for more when a limit is reached. */
import { describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import {
  ask,
  assistant,
  connect,
  kindsOf,
  lastOf,
  ok,
  openPlaces,
  places,
  ticket,
  tried,
  workOf,
} from "./assistants.ts";
import type { Data } from "./client.ts";
import { ended, status, toolCall, toolCalls, type Reply } from "./llm-service.ts";
import { agentOf, CANCEL, DECIDE, decide, ENDED, ran, readRun, until } from "./runs.ts";

openPlaces();

const SAME = [{ first: { set: { question: "Same" } } }];

/** The model asks for one ticket after the other. */
const tickets = (count: number): void => {
  places.model.think = ({ body }) => {
    const read = body.messages.filter(({ role }: Data) => role === "tool").length;
    return read < count ? toolCall("createTicket", { title: `${read}` }) : `${read} tickets`;
  };
};
const asks = (limits: object, more: object = {}): Promise<Data> =>
  ask({ tools: [ticket()], limits, onLimit: "ask", ...more });
const openOf = async ({ id }: Data): Promise<Data> =>
  (await readRun(places.server, id)).approvals.nodes.find(({ status }: Data) => status === "open");
const fieldOf = (approval: Data, name: string): Data => approval["form"].properties[name];
/** The run when it has ended or waits for the next decision. */
const decided = async (
  { id }: Data,
  decision: "approve" | "reject",
  more: object = {},
  ends: string[] = ENDED,
): Promise<Data> => {
  const { errors } = await decide(places.server, id, decision, more);
  expect(errors).toBe(undefined);
  return until(places.server, id, ...ends);
};
/** Waits until so many questions were asked: a decided run is `running` for a moment. */
const pausedAgain = async ({ id }: Data, asked: number): Promise<Data> => {
  await expect.poll(async () => (await readRun(places.server, id)).approvals.nodes.length).toBe(asked);
  return until(places.server, id, "paused");
};

describe("a person is asked for more", () => {
  test("questions to the model: the question says what was used, and the same number again is proposed", async () => {
    tickets(4);
    const run = await asks({ iterations: 3 });
    expect(run.status).toBe("paused");
    expect(places.model.asked).toHaveLength(3);
    const approval = await openOf(run);
    expect(approval).toMatchObject({
      question: "May work go on beyond its limit of 3 questions to the model?",
      context: {
        reached: "limits.iterations (3) is reached: so far 3 iterations, 3 tool calls, 1020 tokens",
        used: { iterations: 3, toolCalls: 3, tokens: 1020 },
      },
    });
    expect(approval["form"]).toEqual({
      type: "object",
      properties: {
        iterations: {
          type: "integer",
          title: "More questions to the model",
          minimum: 1,
          maximum: LIMITS.assistantIterations - 3,
          default: 3,
        },
      },
      required: ["iterations"],
    });
    const over = await decided(run, "approve");
    expect(over).toMatchObject({ status: "completed", output: "4 tickets" });
    expect(over.steps[0].input).toMatchObject({ limits: { iterations: 3 }, granted: { iterations: 3 } });
    expect(kindsOf(over).filter((step) => step.startsWith("approval"))).toEqual(["approval limit completed"]);
    expect(places.endpoint.seen).toHaveLength(4);
  });

  test("and may give another amount, within what an author may write", async () => {
    tickets(4);
    const run = await asks({ iterations: 3 });
    for (const iterations of [0, LIMITS.assistantIterations - 2, 1.5]) {
      const { errors } = await decide(places.server, run.id, "approve", { answer: { iterations } });
      expect(errors![0]!.extensions.code).toBe("BAD_USER_INPUT");
    }
    await decide(places.server, run.id, "approve", { answer: { iterations: 1 } });
    const again = await openOf(await pausedAgain(run, 2));
    expect(again["question"]).toBe("May work go on beyond its limit of 4 questions to the model?");
    expect(fieldOf(again, "iterations")).toMatchObject({ default: 3, maximum: LIMITS.assistantIterations - 4 });
    const over = await decided(run, "approve", { answer: { iterations: 1 } });
    expect(over).toMatchObject({ output: "4 tickets" });
    expect(over.steps[0].input.granted).toEqual({ iterations: 2 });
  });

  test("and says no: the error is the limit, with the comment, and nothing more is asked or called", async () => {
    tickets(4);
    const run = await asks({ iterations: 2 });
    const { status, error } = await decided(run, "reject", { comment: "too dear" });
    expect(status).toBe("failed");
    expect(error).toMatchObject({ type: expect.stringMatching(/limit$/), status: 429 });
    expect(error.detail).toMatch(/^limits.iterations \(2\) is reached: .*; a person refused more: too dear$/);
    expect([places.model.asked.length, places.endpoint.seen.length]).toEqual([2, 2]);
  });

  test("tool calls: those that the model asked for are made after the approval, and not before", async () => {
    places.model.replies = [
      toolCalls(["createTicket", { title: "A" }], ["createTicket", { title: "B" }]),
      toolCalls(["createTicket", { title: "C" }], ["createTicket", { title: "D" }], ["createTicket", { title: "E" }]),
      "Five",
    ];
    const run = await asks({ toolCalls: 3 });
    expect(places.endpoint.seen).toHaveLength(2);
    const approval = await openOf(run);
    expect(approval["context"].reached).toContain("and the model asks for 3 more");
    expect(fieldOf(approval, "toolCalls")).toMatchObject({ minimum: 2, default: 3 });
    expect(await decided(run, "approve", { answer: { toolCalls: 2 } })).toMatchObject({ output: "Five" });
    expect(places.endpoint.seen).toHaveLength(5);
  });

  test("tokens: what is proposed is enough for the next question", async () => {
    tickets(2);
    const run = await asks({ tokens: 400 });
    const { minimum, default: proposed } = fieldOf(await openOf(run), "tokens");
    expect(minimum).toBeGreaterThan(0);
    expect(proposed).toBe(Math.max(400, minimum));
    await decide(places.server, run.id, "approve", { answer: { tokens: minimum } });
    await pausedAgain(run, 2);
    // A token was left for the answer.
    expect(places.model.asked.map(({ body }) => body.max_tokens)[1]).toBe(1);
    expect(await decided(run, "approve", { answer: { tokens: 5_000 } })).toMatchObject({ output: "2 tickets" });
  });

  test("tokens, when an answer was cut: the question is asked again, and what was cut counts", async () => {
    places.model.replies = [ended("Once", "length"), "Whole"];
    const run = await asks({ tokens: 1_000 }, { tools: [] });
    expect(run.status).toBe("paused");
    expect((await openOf(run))["context"].reached).toContain("the last answer was cut by it");
    await places.server.kill();
    await places.server.restart();
    const over = await decided(run, "approve", { answer: { tokens: 2_000 } });
    expect(over).toMatchObject({ status: "completed", output: "Whole" });
    expect(places.model.asked).toHaveLength(2);
    // 340 of 3,000 are used.
    expect(places.model.asked[1]!.body.max_tokens).toBeGreaterThan(2_500);
    expect(places.model.asked[1]!.body.max_tokens).toBeLessThan(2_660);
  });

  test("cost, in the currency of the connection", async () => {
    await connect("paid", { prices: { inputPerMillion: 1_000, outputPerMillion: 1_000, currency: "EUR" } });
    tickets(3);
    const run = await asks({ cost: 0.9 }, { connection: "paid" });
    const approval = await openOf(run);
    expect(approval["question"]).toBe("May work go on beyond its limit of 0.9 EUR?");
    expect(approval["context"].used).toMatchObject({ cost: 0.68, currency: "EUR" });
    expect(fieldOf(approval, "cost")).toEqual({ type: "number", title: "More EUR", exclusiveMinimum: 0, default: 0.9 });
    expect(await decided(run, "approve", { answer: { cost: 5 } })).toMatchObject({ output: "3 tickets" });
  });

  test("seconds: they begin with the decision, and the time until then does not count", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" }), "Done"];
    places.endpoint.answer = "held";
    const agentId = await agentOf(
      places.server,
      assistant({ tools: [ticket()], limits: { seconds: 40 }, onLimit: "ask" }),
    );
    const id = await start(places.server, agentId, { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(41_000);
    const run = await until(places.server, id, "paused");
    expect((await openOf(run))["context"].used.seconds).toBeGreaterThanOrEqual(41);
    await places.server.clock.advance(3_600_000);
    expect(await decided(run, "approve")).toMatchObject({ status: "completed", output: "Done" });
  });

  test("seconds, long after they were over: what is added begins with the decision", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" }), "Done"];
    places.endpoint.answer = "held";
    const values = { tools: [ticket()], limits: { seconds: 40 }, onLimit: "ask" };
    const id = await start(places.server, await agentOf(places.server, assistant(values)), { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(120_000);
    await until(places.server, id, "paused");
    expect(await decided({ id }, "approve", {}, [...ENDED, "paused"])).toMatchObject({ output: "Done" });
  });

  test("questions: the time in which a person decides does not count in `seconds`", async () => {
    tickets(1);
    const run = await asks({ iterations: 1, seconds: 60 });
    await places.server.clock.advance(3_600_000);
    const over = await decided(run, "approve", {}, [...ENDED, "paused"]);
    expect(over).toMatchObject({ status: "completed", output: "1 tickets" });
  });
});

test("a limit of one is one question", async () => {
  tickets(1);
  const run = await asks({ iterations: 1 });
  expect((await openOf(run))["question"]).toBe("May work go on beyond its limit of 1 question to the model?");
  expect(await decided(run, "reject")).toMatchObject({ status: "failed" });
});

describe("a decision about a limit", () => {
  test("holds after `kill -9`, before and after it", async () => {
    tickets(3);
    const run = await asks({ iterations: 2 });
    await places.server.kill();
    await places.server.restart();
    expect((await decide(places.server, run.id, "approve")).errors).toBe(undefined);
    await places.server.kill();
    await places.server.restart();
    expect(await until(places.server, run.id, ...ENDED)).toMatchObject({ output: "3 tickets" });
    expect(places.endpoint.seen).toHaveLength(3);
    expect(places.model.asked).toHaveLength(4);
    const { approvals } = await readRun(places.server, run.id);
    expect(approvals.nodes).toHaveLength(1);
  });

  test("is of that limit alone: another one is asked about by itself", async () => {
    tickets(3);
    const run = await asks({ iterations: 2, toolCalls: 2 });
    await decide(places.server, run.id, "approve");
    const next = await openOf(await pausedAgain(run, 2));
    expect(next["question"]).toBe("May work go on beyond its limit of 2 tool calls?");
    expect((await decided(run, "reject")).error.detail).toContain("limits.toolCalls (2) is reached");
    expect(places.endpoint.seen).toHaveLength(2);
  });

  test("holds in another try that asks the same: what was refused stays refused", async () => {
    tickets(3);
    const values = { tools: [ticket()], limits: { iterations: 2 }, onLimit: "ask" };
    const { id } = await ran(places.server, await agentOf(places.server, tried(SAME, values, 2)));
    await decide(places.server, id, "reject");
    const { error, approvals } = await until(places.server, id, ...ENDED);
    expect(error.detail).toContain("a person refused more");
    expect(approvals.nodes).toHaveLength(1);
    expect(places.endpoint.seen).toHaveLength(2);
  });

  test("holds in another try that asks the same: what was approved is not asked again", async () => {
    let failures = 1;
    tickets(3);
    const think = places.model.think!;
    places.model.think = (asked) =>
      asked.body.messages.filter(({ role }: Data) => role === "tool").length === 3 && failures-- > 0
        ? ended("half", "length")
        : think(asked);
    const values = { tools: [ticket()], limits: { iterations: 2 }, maxTokens: 50, onLimit: "ask" };
    const { id } = await ran(places.server, await agentOf(places.server, tried(SAME, values, 2)));
    await decide(places.server, id, "approve", { answer: { iterations: 5 } });
    const over = await until(places.server, id, ...ENDED);
    expect(over).toMatchObject({ output: "3 tickets" });
    expect(over.approvals.nodes).toHaveLength(1);
    expect(places.endpoint.seen).toHaveLength(3);
  });

  test("counts once if it comes twice, and together with a cancel or the task's timeout either it or that counts", async () => {
    const { server } = places;
    const { work } = workOf({ tools: [ticket()], limits: { iterations: 1 }, onLimit: "ask" });
    const agentId = await agentOf(server, `do: ${JSON.stringify([{ work: { ...work, timeout: { after: "PT1H" } } }])}`);
    tickets(1);
    const rivals: ((id: string, approvalId: string) => Promise<unknown>)[] = [
      (_, approvalId) => server.graphql(DECIDE, { input: { approvalId, decision: "approve" } }),
      (_, approvalId) => server.graphql(DECIDE, { input: { approvalId, decision: "reject" } }),
      (id) => server.graphql(CANCEL, { id }),
      () => server.clock.advance(3_600_000),
    ];
    for (const rival of [...rivals, ...rivals, ...rivals]) {
      places.model.asked.length = 0;
      const { id, approvals } = await ran(server, agentId, { question: "Open a ticket" });
      const [{ id: approvalId }] = approvals.nodes;
      const approve = { input: { approvalId, decision: "approve" } };
      const [{ errors }] = await Promise.all([server.graphql(DECIDE, approve), rival(id, approvalId)]);
      const { status: end, approvals: after } = await until(server, id, ...ENDED);
      expect(after.nodes).toHaveLength(1);
      expect(["approved", ...(errors ? ["rejected", "withdrawn"] : [])]).toContain(after.nodes[0].status);
      if (errors) expect(end).not.toBe("completed");
      expect(places.model.asked.length).toBeLessThanOrEqual(errors ? 1 : 2);
      if (rival === rivals[0]) expect([end, errors, places.model.asked.length]).toEqual(["completed", undefined, 2]);
    }
    expect(new Set(places.endpoint.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(
      places.endpoint.seen.length,
    );
    expect(places.endpoint.seen).toHaveLength(3 * rivals.length);
  });

  test("cannot raise a budget: nobody is asked where that is spent", async () => {
    await connect("little", { limits: { tokensPerDay: 500 } });
    tickets(3);
    const run = await asks({ tokens: 100_000 }, { connection: "little", maxTokens: 50 });
    expect(run.status).toBe("failed");
    expect(run.error.type).toMatch(/limit$/);
    expect(run.error.detail).toContain("the model connection little may use 500 tokens a day");
    expect(run.approvals.nodes).toEqual([]);
  });

  test("is asked for no more than an author may write: nobody is asked where there can't be more", async () => {
    places.endpoint.answer = "held";
    places.model.replies = [toolCall("createTicket", { title: "A" })];
    const values = { tools: [ticket()], limits: { seconds: LIMITS.assistantSeconds }, onLimit: "ask" };
    const id = await start(places.server, await agentOf(places.server, assistant(values)), { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(LIMITS.assistantSeconds * 1_000);
    const run = await until(places.server, id, ...ENDED);
    expect(run.error.detail).toContain(`limits.seconds (${LIMITS.assistantSeconds}) is reached`);
    expect(run.approvals.nodes).toEqual([]);
  });

  test("may add the last that an author may write, and proposes no more", async () => {
    places.endpoint.answer = "held";
    places.model.replies = [toolCall("createTicket", { title: "A" })];
    const values = { tools: [ticket()], limits: { seconds: LIMITS.assistantSeconds - 1 }, onLimit: "ask" };
    const id = await start(places.server, await agentOf(places.server, assistant(values)), { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(LIMITS.assistantSeconds * 1_000);
    const run = await until(places.server, id, ...ENDED, "paused");
    expect(fieldOf(await openOf(run), "seconds")).toMatchObject({ minimum: 1, maximum: 1, default: 1 });
    expect(await decided(run, "reject")).toMatchObject({ status: "failed" });
  });
});

describe("what a person granted holds when the run is loaded again", () => {
  const approval = '${ $arguments.title == "B" }';

  /** Its first call was too late; a person has been asked for more seconds before the second question. */
  const late = async (): Promise<Data> => {
    places.endpoint.answer = "held";
    const values = { tools: [ticket({ approval })], limits: { seconds: 40 }, onLimit: "ask" };
    const id = await start(places.server, await agentOf(places.server, assistant(values)), { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(41_000);
    const run = await until(places.server, id, "paused");
    places.endpoint.answer = ok({ id: 7 });
    return run;
  };

  test("seconds: a call that a person approves after them is made", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" }), toolCall("createTicket", { title: "B" }), "Done"];
    const run = await late();
    await decide(places.server, run.id, "approve");
    await pausedAgain(run, 2);
    const over = await decided(run, "approve");
    expect(over).toMatchObject({ status: "completed", output: "Done" });
    expect(kindsOf(over)).toContain("tool createTicket completed");
    expect(places.endpoint.seen).toHaveLength(2);
  });

  test("seconds: a question under way when the process dies is sent again with the same key", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" }), () => undefined];
    const run = await late();
    await decide(places.server, run.id, "approve");
    await expect.poll(() => places.model.asked.length).toBe(2);
    await places.server.kill();
    places.model.replies = ["Done"];
    await places.server.restart();
    const over = await until(places.server, run.id, ...ENDED, "paused");
    expect(over).toMatchObject({ status: "completed", output: "Done" });
    expect(places.model.asked[2]!.key).toBe(places.model.asked[1]!.key);
  });
});

describe("seconds that a person granted hold", () => {
  /** Its first call was too late, and a person has approved an hour more. */
  const granted = async (tools: object[], ...replies: Reply[]): Promise<Data> => {
    places.endpoint.answer = "held";
    places.model.replies = [toolCall("createTicket", { title: "A" }), ...replies];
    const values = { tools: [ticket(), ...tools], limits: { seconds: 40 }, onLimit: "ask" };
    const id = await start(places.server, await agentOf(places.server, assistant(values)), { question: "Hang" });
    await expect.poll(() => places.endpoint.held).toBe(1);
    await places.server.clock.advance(41_000);
    await until(places.server, id, "paused");
    await decide(places.server, id, "approve", { answer: { seconds: 3_600 } });
    return { id };
  };

  test("for an agent whose run ends while this one is not in memory", async () => {
    const handle = `rests-${Date.now()}`;
    await agentOf(places.server, "do: [{rest: {wait: PT20S}}, {last: {set: {rested: true}}}]", handle);
    const { id } = await granted([{ agent: { handle } }], toolCall(handle, {}), "Done");
    const steps = async (): Promise<string[]> => kindsOf(await readRun(places.server, id));
    await expect.poll(steps).toContain(`tool ${handle} running`);
    await places.server.kill();
    await places.server.restart(undefined, 21_000);
    const over = await until(places.server, id, ...ENDED, "paused");
    expect(over).toMatchObject({ status: "completed", output: "Done" });
    expect(lastOf(2).content).toBe('{"rested":true}');
  });

  test("for a question that its endpoint puts off", async () => {
    const { id } = await granted([], status(429, { "retry-after": "10" }), "Done");
    await expect.poll(() => places.model.asked.length).toBe(2);
    await places.server.kill();
    await places.server.restart(undefined, 12_000);
    const over = await until(places.server, id, ...ENDED, "paused");
    expect(over).toMatchObject({ status: "completed", output: "Done", approvals: { nodes: [{ status: "approved" }] } });
    expect(places.model.asked[2]!.key).toBe(places.model.asked[1]!.key);
  });

  test("from the question on that was too late: neither it nor those before it are asked again", async () => {
    places.model.replies = [toolCall("createTicket", { title: "A" }), () => undefined];
    const values = { tools: [ticket()], limits: { seconds: 40 }, onLimit: "ask" };
    const id = await start(places.server, await agentOf(places.server, assistant(values)), { question: "Hang" });
    await expect.poll(() => places.model.asked.length).toBe(2);
    await places.server.clock.advance(41_000);
    await until(places.server, id, "paused");
    places.model.replies = [toolCall("createTicket", { title: "B" }), "Done"];
    await places.server.kill();
    await places.server.restart();
    const over = await decided({ id }, "approve", {}, [...ENDED, "paused"]);
    expect(over).toMatchObject({ status: "completed", output: "Done", approvals: { nodes: [{ status: "approved" }] } });
    expect(kindsOf(over).slice(1)).toEqual([
      "model model completed",
      "tool createTicket completed",
      "model model failed",
      "approval limit completed",
      "model model completed",
      "tool createTicket completed",
      "model model completed",
    ]);
  });
});

describe("what came after a decision stays", () => {
  test("in another try: nothing that a limit ended and a person raised is asked, decided or paid again", async () => {
    places.model.replies = [
      ended("Once", "length"),
      toolCall("createTicket", { title: "A" }),
      toolCall("createTicket", { title: "B" }),
      status(500),
      "Done",
    ];
    const approval = '${ $arguments.title == "B" }';
    const values = { tools: [ticket({ approval })], limits: { tokens: 1_000 }, onLimit: "ask" };
    const run = await ran(places.server, await agentOf(places.server, tried(SAME, values, 1)));
    await decide(places.server, run.id, "approve", { answer: { tokens: 2_500 } });
    await pausedAgain(run, 2);
    const over = await decided(run, "reject", {}, [...ENDED, "paused"]);
    expect(over).toMatchObject({ status: "completed", output: "Done" });
    expect(over.approvals.nodes).toHaveLength(2);
    expect(places.endpoint.seen).toHaveLength(1);
    expect(places.model.asked).toHaveLength(5);
    const [failed, again] = places.model.asked.slice(3);
    expect(again!.key).toBe(failed!.key);
    // The answer that was cut counts once.
    expect(again!.body.max_tokens).toBe(failed!.body.max_tokens);
  });

  test("in a run that retries: a call that was rejected in a later try than the first is not asked about again", async () => {
    places.model.think = ({ body: { messages } }) => {
      const [{ content: question }] = messages;
      if (messages.every(({ role }: Data) => role !== "tool"))
        return toolCall(question === "First" ? "search" : "createTicket", { title: question });
      return status(500);
    };
    const question = '${ if $task.attempt == 1 then "First" else "Second" end }';
    const tools = [ticket({ name: "search" }), ticket({ approval: true })];
    const { id } = await ran(
      places.server,
      await agentOf(places.server, tried([{ first: { set: { question } } }], { tools }, 1)),
    );
    await decide(places.server, id, "reject");
    expect(await until(places.server, id, ...ENDED)).toMatchObject({ status: "failed" });
    places.model.think = () => "Over";
    const asked = places.model.asked.length;
    const { retryRun } = await places.server.data("mutation($id: ID!) { retryRun(input: {runId: $id}) { id } }", {
      id,
    });
    expect(await until(places.server, retryRun.id, ...ENDED, "paused")).toMatchObject({ output: "Over" });
    expect(places.model.asked).toHaveLength(asked + 1);
    expect(lastOf(asked).content).toBe("A person refused this call.");
    expect(places.endpoint.seen).toHaveLength(1);
  });
});
