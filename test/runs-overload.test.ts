/** More runs than this process advances at once: accepted without waiting, then done; nobody else is held up. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { decodeId } from "../server/src/lib/ids.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { multiplyRuns, startDoor } from "./flood.ts";
import { connectTo } from "./faults/audit.ts";
import { agentOf } from "./runs.ts";
import { scaled } from "./scale.ts";

const RUN_AGENT = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status } }";
/** By then it is found what nobody told of. */
const SWEEP_MS = 5_000;
const STARTS = LIMITS.runsInMemory + 100;
/** More than have a place. */
const BEFORE = scaled({ whole: 10_000, part: 2_000 });

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
});
afterAll(() => server[Symbol.asyncDispose]());

test("runs beyond the slots are pending, another organization's run goes first, all end", async () => {
  await using door = await startDoor();
  const agentId = await agentOf(server, `do: [{hold: {call: http, with: {method: post, endpoint: '${door.url}'}}}]`);
  const started: string[] = [];
  const some = Array.from({ length: 10 }, (_, at) => `a${at}: runAgent(input: {agentId: "${agentId}"}) { status }`);
  const starter = async (): Promise<void> => {
    while (started.length < STARTS) {
      const runs: Data = await server.data(`mutation { ${some.join(" ")} }`);
      for (const { status } of Object.values<Data>(runs)) started.push(status);
    }
  };
  await Promise.all(Array.from({ length: 4 }, starter));
  expect(started.filter((status) => status === "pending").length).toBeGreaterThanOrEqual(100);
  expect(new Set(started)).toEqual(new Set(["pending", "running"]));

  const left = async (status: string): Promise<Data[]> =>
    (await server.data(`{ runs(filter: {agentId: "${agentId}", status: [${status}]}, first: 1) { nodes { id } } }`))
      .runs.nodes;
  const neighbour = await server.organization("neighbour");
  const input = { agentId: await publish(server, "echo", neighbour), input: { a: 1 }, wait: 30 };
  expect((await server.data(RUN_AGENT, { input }, neighbour.apiKey)).runAgent.status).toBe("completed");
  // Waits of 100 ms: a claim for each would be 31.
  const slow = { agentId: await publish(server, "slow", neighbour), wait: 30 };
  expect((await server.data(RUN_AGENT, { input: slow }, neighbour.apiKey)).runAgent.status).toBe("completed");
  const client = await connectTo(server);
  const { rows } = await client.query("select epoch from runs order by id desc limit 1");
  await client.end();
  expect(rows[0].epoch).toBeLessThan(20);
  expect(await left("pending")).toHaveLength(1);

  door.open();
  await eventually(async () => (await left("pending, running")).length === 0, 60_000);
  expect(await left("failed, cancelled, paused")).toEqual([]);
  expect(door.calls()).toBe(started.length);
});

test(`behind ${BEFORE} runs of one organization another's single run ends within 10 s`, async () => {
  await using door = await startDoor();
  const agentId = await agentOf(server, `do: [{hold: {call: http, with: {method: post, endpoint: '${door.url}'}}}]`);
  const neighbour = await server.organization("another");
  const input = { agentId: await publish(server, "echo", neighbour), input: { a: 1 }, wait: 30 };
  await server.data(RUN_AGENT, { input: { agentId } });
  const client = await connectTo(server);
  // By the API 10,000 starts take a minute on a busy machine.
  await multiplyRuns(client, BEFORE - 1, [decodeId("agent", agentId)!]);
  await client.end();
  await server.clock.advance(SWEEP_MS);
  await eventually(() => door.calls() > 200);
  const since = performance.now();
  expect((await server.data(RUN_AGENT, { input }, neighbour.apiKey)).runAgent.status).toBe("completed");
  expectInTime(performance.now() - since, 10 * 1_000);
});
