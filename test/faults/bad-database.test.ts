/** A database that is slow, and one whose connections break in the middle of what is written. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, startTestServer, type TestServer } from "../client.ts";
import { sharedPostgres } from "../postgres.ts";
import { scaled } from "../scale.ts";
import { startSink } from "../sink.ts";
import { connectTo, installAudit, journalOf, violations } from "./audit.ts";
import { startProxy, type Proxy } from "./proxy.ts";
import { seeded } from "./random.ts";
import { CALLS_AT_ONCE, CLIENTS, publishShapes, shapesOf, type Shape } from "./shapes.ts";
import { expectEnds, expectOneRunAKey, expectOnlyAttempts } from "./verify.ts";
import { insisted, startWorkload, type Asked, type Workload } from "./workload.ts";

const CUTS = scaled({ whole: 60, part: 9 });
const SLOW_MS = 5_000;
const SLOW_STARTS = scaled({ whole: 4, part: 2 });
const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";

type World = {
  server: TestServer;
  proxy: Proxy;
  startWorkload(what: string, clients: number): Promise<Workload>;
  /** Everything that must be true at the end of a test, of its runs and those before; answers how many of all calls were repeated. */
  expectWhole(asked: readonly Asked[]): Promise<number>;
  /** A start beside the workload's. */
  shape: Shape;
  startOf(count: number): { agentId: string; input: object; idempotencyKey: string };
} & AsyncDisposable;

async function openWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const sink = stack.use(await startSink());
  const url = await stack.use(await sharedPostgres()).createMigrated();
  const proxy = stack.use(await startProxy(url));
  const env = { DATABASE_URL: proxy.url, OUTBOUND_ALLOW: "127.0.0.1/32" };
  const server = stack.use(await startTestServer({ env }));
  const client = await connectTo(server, url);
  stack.defer(() => client.end());
  await installAudit(client);
  const shapes = shapesOf(sink.url);
  const agents = await publishShapes(server, shapes);
  const shape = shapes.find(({ name }) => name === "data")!;
  const all: Asked[] = [];
  const opened = stack.move();
  return {
    server,
    proxy,
    shape,
    startOf: (count) => ({ agentId: agents.get("data")!, input: shape.input!, idempotencyKey: `beside-${count}` }),
    startWorkload: async (what, clients) =>
      startWorkload({
        servers: [server],
        random: seeded(what),
        shapes,
        agents,
        clients,
        name: `${what} `,
        explain: async (runId) => `${await journalOf(client, runId)}\n${server.log()}`,
      }),
    async expectWhole(asked) {
      expect(new Set(asked.map(({ shape }) => shape.name)).size).toBe(shapes.length);
      all.push(...asked);
      await expectEnds(server, asked);
      await expectOneRunAKey(client, all);
      expect(await violations(client)).toEqual([]);
      return expectOnlyAttempts(client, sink);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

let world: World;
/** Calls that the tests before this one had to repeat. */
let repeated = 0;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function expectRepeatsAtMost(most: number, asked: readonly Asked[]): Promise<void> {
  const all = await world.expectWhole(asked);
  expect(all - repeated).toBeLessThanOrEqual(most);
  repeated = all;
}

test(`connections cut ${CUTS} times before, within and after a batch: each run is there once, nothing is done twice`, async () => {
  const { proxy, server } = world;
  const workload = await world.startWorkload("connections cut", CLIENTS);
  for (let count = 0; count < CUTS; count++) {
    await sleep(100 + (count % 7) * 30);
    await proxy.cut((["before", "within", "after"] as const)[count % 3]!);
  }
  await workload.finish();
  await expectRepeatsAtMost(CUTS * CLIENTS * CALLS_AT_ONCE, workload.asked);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
});

test("wires that are cut without a word: within 60 s everything goes on over new ones", async () => {
  const { proxy, server } = world;
  const workload = await world.startWorkload("wires cut", CLIENTS);
  await sleep(1_500);
  await eventually(() => proxy.connections() > 4);
  proxy.freeze();
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  await eventually(async () => (await fetch(`${server.url}/readyz`)).status === 200, 60_000);
  await workload.finish();
  await expectRepeatsAtMost(CLIENTS * CALLS_AT_ONCE, workload.asked);
});

test(`a database that answers after ${SLOW_MS} ms: starts are late or UNAVAILABLE, none is lost or doubled`, async () => {
  const { proxy, server } = world;
  const workload = await world.startWorkload("slow database", CLIENTS);
  await sleep(1_000);
  proxy.delay(SLOW_MS);
  const asked = [];
  for (let count = 0; count < SLOW_STARTS; count++) {
    asked.push(server.graphql(START, { input: world.startOf(count) }));
    await sleep(3_000);
    // Alive, though it takes no runs for now.
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
  }
  proxy.delay(0);
  const answers = await Promise.all(asked);
  await eventually(async () => (await fetch(`${server.url}/readyz`)).status === 200);
  const late: Asked[] = [];
  for (const [count, { data, errors }] of answers.entries()) {
    if (errors) expect(errors[0]!.extensions.code).toBe("UNAVAILABLE");
    const input = world.startOf(count);
    const { runAgent } = await insisted(server, START, { input });
    if (!errors) expect(runAgent).toEqual(data.runAgent);
    late.push({ shape: world.shape, key: input.idempotencyKey, runId: runAgent.id });
  }
  await workload.finish();
  await world.expectWhole([...workload.asked, ...late]);
});
