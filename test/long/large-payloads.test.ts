/**
 * One organization's large payloads do not slow another down: beside each case its runs begin, its waits end and its
 * queries are answered about as soon as without. `npm run bench -- --only neighbours` prints the times.
 */
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../client.ts";
import {
  CASES,
  createNeighbour,
  p99,
  startLargeDoor,
  type LargeDoor,
  type Neighbour,
  type Party,
  type Times,
} from "../large-payloads.ts";
import type { World } from "../server.ts";

/** A part of what the bench does: as much at once, and for less long. */
const SCALE = 0.15;
/** The promise, ms. */
const PROMISED = { run: 1_000, wait: 1_000, query: 250 };
const ALONE_MS = 2_500;
/** A machine may be this many times slower than promised. */
const SLOWER = 4;
/** More than a neighbour has alone, and much less than a statement of 60 MB took (a hundred times as long as alone). */
const TIMES_ALONE = 25;
/** With a heap of 3 GB one organization's runs may hold 440 MB. */
const HEAP_MB = 3_072;
const MAX_MORE_MB = 900;

let server: TestServer;
let door: LargeDoor;
let neighbour: Neighbour;
beforeAll(async () => {
  door = await startLargeDoor();
  server = await startTestServer({
    env: { OUTBOUND_ALLOW: "127.0.0.1/32", NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` },
  });
  neighbour = await createNeighbour(partyOf(await server.organization("neighbour")));
  await server.measure(true);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await door[Symbol.asyncDispose]();
});

const partyOf = ({ apiKey, projectId }: World): Party => ({
  projectId,
  handle: "test",
  data: async (query, variables) => {
    for (;;) {
      const { data, errors } = await server.graphql(query, variables, apiKey);
      if (!errors) return data;
      if (errors[0]!.extensions.code !== "UNAVAILABLE") throw new Error(JSON.stringify(errors));
      await sleep(200);
    }
  },
});

const residentMb = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`, "utf8"))![1]) / 1024;

/** Measures the neighbour while nobody else does anything. */
async function timesAlone(): Promise<Times> {
  const alone = neighbour.start();
  await sleep(ALONE_MS);
  return alone.stop();
}

test.each(Object.entries(CASES))(
  "beside %s another organization's runs, waits and queries take about what they take alone",
  async (name, { flood, what }) => {
    const world = await server.organization(name);
    const earlier = await timesAlone();
    await server.measure();
    const before = residentMb();
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, residentMb())), 50);
    const beside = neighbour.start();
    await flood(partyOf(world), door, SCALE);
    const times = await beside.stop();
    clearInterval(watch);
    const { longestMs } = await server.measure();
    const later = await timesAlone();
    const found = (["run", "wait", "query"] as const).map((kind) => {
      // The machine may have become busy since.
      const alone = Math.round(Math.max(p99(earlier[kind]), p99(later[kind])));
      const allowed = Math.max(SLOWER * PROMISED[kind], TIMES_ALONE * alone);
      return { kind, p99: Math.round(p99(times[kind])), alone, allowed };
    });
    const shown = found
      .map((one) => `${one.kind} ${one.p99} ms (alone ${one.alone}, at most ${one.allowed})`)
      .join(", ");
    process.stderr.write(
      `${name} (${what}): ${shown}; ${Math.round(most - before)} MB more, main thread ${Math.round(longestMs)} ms\n`,
    );
    for (const { kind, p99: measured, allowed } of found) expect(measured, `${kind}: ${shown}`).toBeLessThan(allowed);
    expect(most - before).toBeLessThan(MAX_MORE_MB);
    if (name === "items") door.open();
  },
);
