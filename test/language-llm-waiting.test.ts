/** `call: llm` over the wire: runs that wait for a model, each in its turn. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually } from "./client.ts";
import { held, send, startLlmService, status, type LlmService } from "./llm-service.ts";
import { agentOf, CANCEL, ENDED, readRun, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
const UPDATE = "mutation($input: UpdateModelConnectionInput!) { updateModelConnection(input: $input) { id } }";
const DELETE = "mutation($input: DeleteModelConnectionInput!) { deleteModelConnection(input: $input) { name } }";

let model: LlmService;
let server: MovedServer;
beforeAll(async () => {
  model = await startLlmService();
  server = await movedServer();
  await connect("cheap");
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(() => void (model.asked.length = 0));

const connect = async (name: string, own: object = {}): Promise<string> => {
  const { projectId } = server.world;
  const base = { projectId, name, provider: "openai_compatible", baseUrl: model.url, model: "small", apiKey: "sk-one" };
  return (await server.data(CREATE, { input: { ...base, ...own } })).createModelConnection.id;
};

const ask = (values: string, more = ""): string =>
  `do: [{ask: {call: 'llm:1.0.0@default', with: {connection: cheap, ${values}}${more}}}]`;

describe("time", () => {
  test("a model has five minutes to answer, or as long as the task's timeout says", async () => {
    const hung = held();
    model.replies = [hung.reply];
    const short = await start(server, await agentOf(server, ask("prompt: short")));
    const long = await start(server, await agentOf(server, ask("prompt: long", ", timeout: {after: PT20M}")));
    await eventually(() => model.asked.length === 2);
    await server.clock.advance(LIMITS.modelCallSeconds * 1_000 + 1_000);
    const late = await until(server, short, ...ENDED);
    expect(late.error).toMatchObject({
      type: expect.stringMatching(/timeout$/),
      detail: expect.stringContaining(`did not answer within ${LIMITS.modelCallSeconds} s`),
    });
    hung.release(send("at last"));
    expect(await until(server, long, ...ENDED)).toMatchObject({ status: "completed", output: "at last" });
  });

  test("with a longer `timeout` a model has an hour at most", async () => {
    model.replies = [held().reply];
    const id = await start(server, await agentOf(server, ask("prompt: Hi", ", timeout: {after: PT3H}")));
    await eventually(() => model.asked.length === 1);
    await server.clock.advance(LIMITS.callSeconds * 1_000 - 60_000);
    expect((await readRun(server, id)).status).toBe("running");
    await server.clock.advance(61_000);
    expect((await until(server, id, ...ENDED)).error).toMatchObject({
      type: expect.stringMatching(/timeout$/),
      detail: expect.stringContaining(`did not answer within ${LIMITS.callSeconds} s`),
    });
  });

  test("429 with Retry-After holds all runs of the connection: they wait without a try, and go on", async () => {
    model.replies = [status(429, { "retry-after": "600" })];
    const tried =
      "{catch: {retry: {limit: {attempt: {count: 1}}}}, try: [{ask: {call: 'llm:1.0.0@default', with: {connection: held, prompt: Hi}}}]}";
    await connect("held");
    const agent = await agentOf(server, `do: [{tried: ${tried}}]`);
    const first = await start(server, agent);
    await eventually(() => model.asked.length === 1);
    const others = await Promise.all([start(server, agent), start(server, agent)]);
    const ids = [first, ...others];
    await eventually(async () => (await dueLater(ids)) === ids.length);
    expect(model.asked).toHaveLength(1);
    model.replies = ["Hello"];
    await server.clock.advance(540_000);
    expect(model.asked).toHaveLength(1);
    await server.clock.advance(121_000);
    for (const id of ids) {
      const run = await until(server, id, ...ENDED);
      expect(run).toMatchObject({ status: "completed", output: "Hello" });
      expect(run.steps[0].attempts).toHaveLength(1);
    }
    expect(new Set(model.asked.map(({ key }) => key)).size).toBe(3);
  });
});

test("a run that was held asks with what its connection is by then, and fails if that is gone", async () => {
  const [changed, gone] = [await connect("changed"), await connect("gone")];
  const askOver = (name: string): Promise<string> =>
    agentOf(server, ask("prompt: Hi").replace("cheap", name)).then((agent) => start(server, agent));
  model.replies = [status(503, { "retry-after": "600" })];
  const ids = [await askOver("changed"), await askOver("gone")] as const;
  await eventually(() => model.asked.length === 2);
  await eventually(async () => (await dueLater([...ids])) === ids.length);
  const input = { modelConnectionId: changed, apiKey: "sk-another-key" };
  await server.data(UPDATE, { input });
  await server.data(DELETE, { input: { modelConnectionId: gone } });
  model.replies = ["Hello"];
  // The pause was of the former key's.
  expect((await until(server, await askOver("changed"), ...ENDED)).output).toBe("Hello");
  expect(model.asked.at(-1)!.authorization).toBe("Bearer sk-another-key");
  model.asked.length = 0;
  await server.clock.advance(662_000);
  expect(await until(server, ids[0], ...ENDED)).toMatchObject({ status: "completed", output: "Hello" });
  expect((await until(server, ids[1], ...ENDED)).error.type).toMatch(/configuration$/);
  expect(model.asked.map(({ authorization }) => authorization)).toEqual(["Bearer sk-another-key"]);
});

test("a cancelled run leaves the line of its connection, and the next one asks", async () => {
  const hung = held();
  model.replies = [hung.reply];
  await connect("narrow", { limits: { concurrency: 1 } });
  const agent = await agentOf(server, ask("prompt: '${ .text }'").replace("cheap", "narrow"));
  const startWith = async (text: string): Promise<string> =>
    (
      await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
        input: { agentId: agent, input: { text } },
      })
    ).runAgent.id;
  const first = await startWith("first");
  await eventually(() => model.asked.length === 1);
  const [second, third] = [await startWith("second"), await startWith("third")];
  await eventually(async () => (await dueLater([second, third])) === 2);
  await server.data(CANCEL, { id: second });
  expect((await until(server, second, ...ENDED)).status).toBe("cancelled");
  // Also one that is under way gives its place back.
  model.replies = ["Hello"];
  await server.data(CANCEL, { id: first });
  expect((await until(server, third, ...ENDED)).output).toBe("Hello");
  expect(model.asked.map(({ body }) => body.messages[0].content)).toEqual(["first", "third"]);
});

/** How many of these runs have a model's call that waits. */
async function dueLater(ids: string[]): Promise<number> {
  const runs = await Promise.all(ids.map((id) => readRun(server, id)));
  return runs.filter(({ status: is, steps }) => is === "running" && steps[0]?.status === "running").length;
}

test("no more calls at a time than an organization may have, whatever waits", async () => {
  const hung = held();
  model.replies = [hung.reply];
  const all = LIMITS.modelCallsAtOnceOwn + LIMITS.modelCallsWaitingOwn + 3;
  const each = `do: [{all: {call: 'each:1.0.0@default', with: {in: '\${ [range(${all})] }', concurrency: 100, do: [{ask: {call: 'llm:1.0.0@default', with: {connection: cheap, prompt: '\${ "\\(.)" }'}}}]}}}]`;
  const twice = [await start(server, await agentOf(server, each)), await start(server, await agentOf(server, each))];
  await eventually(() => model.asked.length === LIMITS.modelCallsAtOnceOwn);
  await eventually(async () => (await readRun(server, twice[1]!)).steps.length > 100);
  expect(model.asked).toHaveLength(LIMITS.modelCallsAtOnceOwn);
  model.replies = ["Hello"];
  hung.release(send("Hello"));
  for (const id of twice) {
    await eventually(async () => {
      await server.clock.advance(2_000);
      return (await readRun(server, id)).status === "completed";
    });
  }
  expect(new Set(model.asked.map(({ key }) => key)).size).toBe(2 * all);
  expect(model.asked).toHaveLength(2 * all);
});
