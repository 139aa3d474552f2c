/** Thousands of subscriptions of one organization to all of its changes: what they hold, and for how long a change holds the thread. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { MAIN_THREAD_MS } from "./meter.ts";
import { connect, head, MB } from "./raw.ts";
import { leftToLong, scaled } from "./scale.ts";
import { acknowledged } from "./web-socket.ts";

const SOCKETS = scaled({ whole: 40, part: 16 });
const LEAVING_SOCKETS = 400;
const STREAMS = 2_000;
const EACH = 100;
const AT_ONCE = 20;
const CHANGES = "subscription { runsChanged { id status } }";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ env: { METRICS_PORT: "0" } });
});
afterAll(() => server[Symbol.asyncDispose]());

const subscriptions = async (): Promise<number> =>
  Number(/^autograph_subscriptions (\d+)$/m.exec(await (await fetch(server.metricsUrl!)).text())![1]);

test(`${SOCKETS * EACH} subscriptions and 400 runs that change`, async () => {
  const world = await server.organization("watched");
  const agentId = await publish(server, "echo", world);
  const all = [];
  for (let count = 0; count < SOCKETS; count++) {
    const one = await acknowledged(server, world.apiKey);
    for (let id = 0; id < EACH; id++) one.send({ type: "subscribe", id: `${id}`, payload: { query: CHANGES } });
    all.push(one);
    // A slow machine would refuse some if more came together.
    await eventually(async () => (await subscriptions()) === all.length * EACH, 60_000);
  }
  // Nobody reads: all that changes waits.
  for (const { socket } of all) socket.pause();

  const start = Array.from({ length: AT_ONCE }, (_, at) => `r${at}: runAgent(input: {agentId: "${agentId}"}) { id }`);
  const before = (await server.measure(true)).heapBytes;
  const stretches: number[] = [];
  for (let time = 0; time < 2; time++) {
    await server.measure();
    await Promise.all(
      Array.from({ length: 10 }, () => server.data(`mutation { ${start.join(" ")} }`, {}, world.apiKey)),
    );
    await eventually(async () => {
      const { runCount } = await server.data("{ runCount(filter: {status: completed}) { value } }", {}, world.apiKey);
      return runCount.value === 200 * (time + 1);
    }, 60_000);
    stretches.push((await server.measure()).longestMs);
  }
  const held = (await server.measure(true)).heapBytes - before;
  for (const one of all) one[Symbol.dispose]();
  expect(Math.min(...stretches)).toBeLessThan(MAIN_THREAD_MS);
  expect(held).toBeLessThan(60 * MB);
});

/** The least of three times. Each time all are opened, leave together, and are let go of. */
async function leavingMs(open: () => Promise<Disposable[]>, count: number): Promise<number> {
  const stretches: number[] = [];
  while (stretches.length < 3 && (stretches.length === 0 || Math.min(...stretches) >= MAIN_THREAD_MS)) {
    const all = await open();
    await eventually(async () => (await subscriptions()) === count, 60_000);
    await server.measure(true);
    for (const one of all) one[Symbol.dispose]();
    await eventually(async () => (await subscriptions()) === 0, 60_000);
    stretches.push((await server.measure()).longestMs);
  }
  return Math.min(...stretches);
}

test.skipIf(leftToLong)(`${LEAVING_SOCKETS * 20} that leave together over ${LEAVING_SOCKETS} WebSockets`, async () => {
  const { apiKey } = await server.organization("leaving");
  const open = async (): Promise<Disposable[]> => {
    const all = [];
    while (all.length < LEAVING_SOCKETS) {
      const one = await acknowledged(server, apiKey);
      for (let id = 0; id < 20; id++) one.send({ type: "subscribe", id: `${id}`, payload: { query: CHANGES } });
      all.push(one);
    }
    return all;
  };
  expect(await leavingMs(open, LEAVING_SOCKETS * 20)).toBeLessThan(MAIN_THREAD_MS);
});

test(`${STREAMS} event streams that leave together`, async () => {
  const { apiKey } = await server.organization("streams");
  const body = JSON.stringify({ query: CHANGES });
  const open = async (): Promise<Disposable[]> => {
    const all = [];
    while (all.length < STREAMS) {
      const some = await Promise.all(Array.from({ length: 50 }, () => connect(server)));
      for (const raw of some) raw.write(head(body.length, apiKey, "accept: text/event-stream\r\n") + body);
      // Some would be refused if more came together.
      await eventually(() => some.every((raw) => raw.got().startsWith("HTTP/1.1 200")));
      all.push(...some);
    }
    return all;
  };
  expect(await leavingMs(open, STREAMS)).toBeLessThan(MAIN_THREAD_MS);
});
