/** Idempotency keys over the wire: one run a key, organization and agent, for a day. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { post, type Answer, type Data } from "./client.ts";
import { agentOf, ran, until, ENDED } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
let echo: string;
beforeAll(async () => {
  server = await movedServer();
  echo = await publish(server, "echo");
});
afterAll(() => server[Symbol.asyncDispose]());

const RUN_AGENT = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status input version } }";
const run = (idempotencyKey: string, more: object = {}, agentId = echo): Promise<Answer> =>
  server.graphql(RUN_AGENT, { input: { agentId, input: { a: 1 }, idempotencyKey, ...more } });
const idOf = ({ data, errors }: Answer): string => {
  expect(errors).toBeUndefined();
  return data.runAgent.id;
};
const codeOf = ({ errors }: Answer): string | undefined => errors?.[0]!.extensions.code;
const countRuns = async (agentId: string): Promise<number> =>
  (await server.data(`{ runs(filter: {agentId: "${agentId}"}, first: 200) { nodes { id } } }`)).runs.nodes.length;

test("the same key fifty times at once is one run, which everybody gets", async () => {
  const agent = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
  for (const key of ["fifty", "fifty more"]) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => run(key, {}, agent)));
    expect(new Set(answers.map(idOf)).size).toBe(1);
  }
  expect(await countRuns(agent)).toBe(2);
});

test("many keys twice at once: as many runs as keys", async () => {
  const agent = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
  const keys = Array.from({ length: 90 }, (_, index) => `key ${index}`);
  const answers = await Promise.all([...keys, ...keys.toReversed()].map((key) => run(key, {}, agent)));
  const ids = answers.map(idOf);
  expect(ids.slice(0, 90)).toEqual(ids.slice(90).toReversed());
  expect(await countRuns(agent)).toBe(90);
});

test("the order of keys in the input is no difference, anything else is CONFLICT", async () => {
  const first = idOf(await run("body", { input: { a: 1, b: { c: [1, 2], d: null } } }));
  expect(idOf(await run("body", { input: { b: { d: null, c: [1, 2] }, a: 1 } }))).toBe(first);
  for (const more of [
    { input: { a: 1, b: { c: [2, 1], d: null } } },
    { input: { a: "1", b: { c: [1, 2], d: null } } },
    { input: { a: 1, b: { c: [1, 2] } } },
    { input: { a: 1, b: { c: [1, 2], d: null } }, version: "1.0.0" },
  ]) {
    expect(codeOf(await run("body", more))).toBe("CONFLICT");
  }
});

test("keys of two agents, and of two organizations, are different keys", async () => {
  const agent = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
  const other = await server.organization("other");
  const theirs = await publish(server, "echo", other);
  const answers = [
    await run("shared"),
    await run("shared", {}, agent),
    await server.graphql(
      RUN_AGENT,
      { input: { agentId: theirs, input: { a: 1 }, idempotencyKey: "shared" } },
      other.apiKey,
    ),
  ];
  expect(new Set(answers.map(idOf)).size).toBe(3);
});

test("a refused start leaves its key free", async () => {
  const agent = await publish(server, "three");
  expect(codeOf(await run("refused", { input: { n: "1" } }, agent))).toBe("BAD_USER_INPUT");
  const id = idOf(await run("refused", { input: { n: 1 } }, agent));
  // The key stands for that run already.
  expect(codeOf(await run("refused", { input: { n: "1" } }, agent))).toBe("CONFLICT");
  expect(idOf(await run("refused", { input: { n: 1 } }, agent))).toBe(id);
});

test("the known run is answered also when the agent takes no more, and after a kill", async () => {
  const agent = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
  const id = idOf(await run("known", {}, agent));
  await server.data("mutation($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { id } }", {
    input: { agentId: agent, status: "archived" },
  });
  expect(idOf(await run("known", {}, agent))).toBe(id);
  expect(codeOf(await run("unknown", {}, agent))).toBe("CONFLICT");
  await server.kill();
  await server.restart();
  expect(idOf(await run("known", {}, agent))).toBe(id);
  expect((await until(server, id, ...ENDED)).status).toBe("completed");
});

test("after 24 hours a key is free, not before", async () => {
  const id = idOf(await run("day"));
  await server.clock.advance(24 * 3_600_000 - 60_000);
  expect(idOf(await run("day"))).toBe(id);
  expect(codeOf(await run("day", { input: { a: 2 } }))).toBe("CONFLICT");
  await server.clock.advance(61_000);
  const answers = await Promise.all(Array.from({ length: 20 }, () => run("day", { input: { a: 2 } })));
  const next = new Set(answers.map(idOf));
  expect(next.size).toBe(1);
  expect(next).not.toContain(id);
  const { data }: Data = await server.graphql(`{ run(id: "${[...next][0]}") { input } }`);
  expect(data.run.input).toEqual({ a: 2 });
});

describe("of runs that repeat others", () => {
  const RERUN = "mutation($input: RerunRunInput!) { rerunRun(input: $input) { id input } }";
  const RETRY = "mutation($input: RetryRunInput!) { retryRun(input: $input) { id input } }";
  const again = (mutation: string, input: object) => server.graphql(mutation, { input });
  const idIn = ({ data, errors }: Answer): string => {
    expect(errors).toBeUndefined();
    return (data.rerunRun ?? data.retryRun).id;
  };

  test.each([
    ["rerunRun", RERUN],
    ["retryRun", RETRY],
  ])("%s with the same key fifty times at once is one run", async (_, mutation) => {
    const agent = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
    const { id: runId } = await ran(server, agent, { a: 1 });
    const from = mutation === RETRY ? { fromTask: "a" } : {};
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => again(mutation, { runId, idempotencyKey: "fifty", ...from })),
    );
    const ids = new Set(answers.map(idIn));
    expect(ids.size).toBe(1);
    expect(ids).not.toContain(runId);
    expect(await countRuns(agent)).toBe(2);
    await until(server, [...ids][0]!, "completed");
  });

  test("another run, step, version or mutation is another body: CONFLICT", async () => {
    const agent = await agentOf(server, "do: [{a: {set: {a: 1}}}, {b: {set: {b: 1}}}]");
    const [first, second] = [await ran(server, agent, { a: 1 }), await ran(server, agent, { a: 1 })];
    const idempotencyKey = "body of a retry";
    const retried = idIn(await again(RETRY, { runId: first.id, fromStep: 2, idempotencyKey }));
    expect(idIn(await again(RETRY, { runId: first.id, fromStep: 2, idempotencyKey }))).toBe(retried);
    for (const [mutation, input] of [
      [RETRY, { runId: second.id, fromStep: 2 }],
      [RETRY, { runId: first.id, fromStep: 1 }],
      [RETRY, { runId: first.id, fromTask: "b" }],
      [RETRY, { runId: first.id, fromStep: 2, version: "1.0.0" }],
      [RERUN, { runId: first.id }],
    ] as const) {
      expect(codeOf(await again(mutation, { ...input, idempotencyKey }))).toBe("CONFLICT");
    }
    expect(codeOf(await run(idempotencyKey, {}, agent))).toBe("CONFLICT");
    idIn(await again(RETRY, { runId: first.id, fromTask: "a", idempotencyKey: "body with a task" }));
    const other = await again(RETRY, { runId: first.id, fromTask: "b", idempotencyKey: "body with a task" });
    expect(codeOf(other)).toBe("CONFLICT");
    idIn(await again(RERUN, { runId: first.id, idempotencyKey: "body of a rerun" }));
    expect(codeOf(await again(RERUN, { runId: second.id, idempotencyKey: "body of a rerun" }))).toBe("CONFLICT");
  });

  test("the known run is answered also when the agent takes no more; a refused one leaves its key free", async () => {
    const agent = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
    const { id: runId } = await ran(server, agent, { a: 1 });
    const rerun = idIn(await again(RERUN, { runId, idempotencyKey: "rerun" }));
    const retried = idIn(await again(RETRY, { runId, fromStep: 1, idempotencyKey: "retry" }));
    expect(codeOf(await again(RETRY, { runId, fromStep: 9, idempotencyKey: "free" }))).toBe("BAD_USER_INPUT");
    idIn(await again(RETRY, { runId, fromStep: 1, idempotencyKey: "free" }));
    await server.data("mutation($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { id } }", {
      input: { agentId: agent, status: "archived" },
    });
    expect(idIn(await again(RERUN, { runId, idempotencyKey: "rerun" }))).toBe(rerun);
    expect(idIn(await again(RETRY, { runId, fromStep: 1, idempotencyKey: "retry" }))).toBe(retried);
    expect(codeOf(await again(RERUN, { runId, idempotencyKey: "unknown" }))).toBe("CONFLICT");
  });

  test("the header is the key too; both and different are refused", async () => {
    const { id: runId } = await ran(server, echo, { a: 1 });
    const send = (input: object) =>
      post(`${server.url}/graphql`, RERUN, { input: { runId, ...input } }, server.world.apiKey, {
        "Idempotency-Key": "header of a rerun",
      });
    const id = idIn(await send({}));
    expect(idIn(await send({ idempotencyKey: "header of a rerun" }))).toBe(id);
    expect(codeOf(await send({ idempotencyKey: "another" }))).toBe("BAD_USER_INPUT");
  });
});
