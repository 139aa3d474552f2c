/** Runs that wait cost nothing, outlive everything, and end when their time has come, whatever the clock does meanwhile. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { calmMs } from "../../server/src/lib/processor-time.testsuite.ts";
import { expectInTime } from "../in-time.ts";
import { publish, start } from "../agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "../client.ts";
import { multiplyWaits } from "../flood.ts";
import { agentOf, ENDED, readRun, stepsOf, until } from "../runs.ts";
import { scaled } from "../scale.ts";
import { startSink, type Sink } from "../sink.ts";
import { auditServer, connectTo, statusesOf, violations } from "./audit.ts";
import { postgresProcesses } from "./kills.ts";
import { cpuMsOf } from "./processes.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const WAITS = 10_000;
/** The number that ends within the test: those that were started; the others are copies of one that waits longer. */
const STARTED = scaled({ whole: 10_000, part: 200 });
const CLIENTS = 50;
const MEASURED_MS = scaled({ whole: 5_000, part: 3_000 });
/** Per second, beside what an idle server computes. */
const MAX_MS = 40;

let server: TestServer;
let sink: Sink;
beforeAll(async () => {
  sink = await startSink();
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await sink[Symbol.asyncDispose]();
});

/** The server and all of PostgreSQL. */
const processesOf = (server: TestServer): number[] => [
  server.pid,
  ...(server.isEmbedded ? postgresProcesses(server) : []),
];

/** Their processor time per second, in ms, over some seconds. */
async function cpuMsASecond(server: TestServer): Promise<number> {
  const before = cpuMsOf(processesOf(server));
  await sleep(MEASURED_MS);
  return ((cpuMsOf(processesOf(server)) - before) / MEASURED_MS) * 1_000;
}

// The first: it counts all the runs that there are.
test(`${WAITS} waits of days: no CPU, not lost by a kill, all over when their time has come and none before`, async () => {
  const idleMs = await cpuMsASecond(server);
  const waiting = async (): Promise<number> =>
    (await client.query("select count(*)::int as runs from runs where owner is null and wake_at is not null")).rows[0]
      .runs;
  const client = await connectTo(server);
  if (STARTED < WAITS) {
    await start(server, await agentOf(server, "do: [{pause: {wait: {days: 9}}}]"));
    await eventually(async () => (await waiting()) === 1);
    await multiplyWaits(client, WAITS - STARTED - 1);
  }
  const agentId = await agentOf(server, "do: [{pause: {wait: {days: 3}}}, {done: {set: {n: '${ .n }'}}}]");
  let next = 0;
  const startMany = async (): Promise<void> => {
    while (next < STARTED) await start(server, agentId, { n: next++ });
  };
  await Promise.all(Array.from({ length: CLIENTS }, startMany));
  await eventually(async () => (await waiting()) === WAITS);
  await server.kill();
  await server.restart();
  await sleep(3_000);

  // 10,000 that are looked at once a second would be hundreds of ms.
  let openMs = Infinity;
  // The momentary cost of a start or of PostgreSQL's own work is gone at the next look.
  for (let time = 0; time < 5 && openMs >= idleMs + MAX_MS; time++)
    openMs = Math.min(openMs, await cpuMsASecond(server));
  process.stderr.write(`${WAITS} open waits: ${openMs.toFixed(0)} ms CPU a second, ${idleMs.toFixed(0)} without any\n`);
  expect(calmMs(openMs - idleMs, MAX_MS)).toBeLessThan(MAX_MS);
  await server.clock.advance(3 * DAY_MS - HOUR_MS);
  await sleep(1_000);
  expect(await statusesOf(client)).toEqual({ running: WAITS });
  await server.clock.advance(HOUR_MS);
  await eventually(async () => (await statusesOf(client))["completed"] === STARTED, 60_000);
  const { rows } = await client.query(
    "select count(distinct (output ->> 'n')::int)::int as outputs, min(finished_at - created_at) >= interval '3 days' as late from runs",
  );
  expect(rows).toEqual([{ outputs: STARTED, late: true }]);
  await client.query("truncate runs, steps, attempts, approvals cascade");
  await client.end();
  await auditServer(server);
});

const CALL = (sink: string, behaviour: string, more = ""): string =>
  `{${more}call: http, with: {method: post, endpoint: '${sink}${behaviour}', query: {run: '\${ $workflow.id }', step: post}}}`;

/** One of each that has a time in it, each of about ten minutes. */
async function startTimed(server: TestServer, sink: string): Promise<Record<string, string>> {
  const retry = "{delay: PT10M, limit: {attempt: {count: 3}}}";
  const bodies = {
    wait: "do: [{pause: {wait: PT10M}}, {done: {set: {n: 1}}}]",
    retry: `do: [{again: {try: [{post: ${CALL(sink, "/refuse/1")}}], catch: {when: '\${ true }', retry: ${retry}}}}]`,
    // Still under way when its time is over.
    timeout: `do: [{slow: {do: [{nap: {wait: P1D}}], timeout: {after: PT10M}}}]`,
    // Without a timeout of its own the call would end first, after a minute.
    call: `do: [{slow: {do: [{post: ${CALL(sink, "/hang", "timeout: {after: PT30M}, ")}}], timeout: {after: PT10M}}}]`,
    question: "do: [{ask: {call: approval:1.0.0@default, with: {question: Really?, timeout: PT10M}}}]",
    branches: "do: [{all: {fork: {branches: [{a: {wait: PT10M}}, {b: {wait: PT9M}}]}}}]",
  };
  const started: Record<string, string> = {};
  for (const [name, body] of Object.entries(bodies)) started[name] = await start(server, await agentOf(server, body));
  return started;
}

const ENDS: Record<string, string[]> = {
  wait: ["pause completed", "done completed"],
  retry: ["again completed"],
  timeout: ["slow failed", "nap cancelled"],
  call: ["slow failed", "post cancelled"],
  question: ["ask failed"],
  branches: ["all completed", "a completed", "b completed"],
};

const statuses = async (server: TestServer, started: Record<string, string>): Promise<string[]> =>
  Promise.all(Object.values(started).map(async (id) => (await readRun(server, id)).status));

/** Resolves when each has reached the time in it. */
async function timed(): Promise<Record<string, string>> {
  sink.reset();
  const started = await startTimed(server, sink.url);
  await eventually(async () => (await statuses(server, started)).filter((one) => one === "running").length === 5);
  await eventually(() => sink.summary().requests === 2);
  await eventually(async () => (await readRun(server, started["retry"]!)).steps[0].attempts[0]?.status === "failed");
  return started;
}

/** The times of a run after its end: every time is there, none before the one it must follow. */
function expectOrder(run: Data): void {
  const times = [run.createdAt, run.startedAt, run.finishedAt].map(Date.parse);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  for (const step of run.steps) expect(step.duration).toBeGreaterThanOrEqual(0);
  expect(run.progress).toBeLessThanOrEqual(100);
}

async function expectAllEnd(server: TestServer, started: Record<string, string>, ends = ENDS): Promise<void> {
  for (const [name, id] of Object.entries(started)) {
    const run = await until(server, id, ...ENDED);
    expect([name, ...stepsOf(run)]).toEqual([name, ...ends[name]!]);
    expectOrder(run);
  }
  const client = await connectTo(server);
  expect(await violations(client)).toEqual([]);
  await client.end();
}

test("the clock is set forward an hour: what is due ends, once; the rest goes on", async () => {
  const started = await timed();
  const patient = await start(server, await agentOf(server, "do: [{pause: {wait: PT3H}}]"));
  await until(server, patient, "running");
  await server.clock.advance(HOUR_MS);
  await expectAllEnd(server, started);
  expect((await readRun(server, patient)).status).toBe("running");
  await server.clock.advance(2 * HOUR_MS);
  await until(server, patient, "completed");
});

test.each(["", " and the server is killed"])(
  "the clock is set back an hour%s: nothing ends early, new runs go on, each ends at its own time",
  async (killed) => {
    const started = await timed();
    await server.clock.advance(-HOUR_MS);
    if (killed) {
      await server.kill();
      await server.restart();
    }
    const quick = await start(server, await publish(server, "three"), { n: 1 });
    expect((await until(server, quick, ...ENDED)).output).toEqual({ n: 4 });
    const short = await start(server, await agentOf(server, "do: [{pause: {wait: PT1.5S}}, {done: {set: {n: 1}}}]"));
    const since = Date.now();
    expectOrder(await until(server, short, "completed"));
    expectInTime(Date.now() - since, 15_000);
    await server.clock.advance(HOUR_MS + 300_000);
    await sleep(1_500);
    // A call's timeout counts the time that passes while it is under way.
    const { call: _call, ...asleep } = started;
    expect((await statuses(server, asleep)).filter((status) => ENDED.includes(status))).toEqual([]);
    await server.clock.advance(300_000);
    // Sent again when the clock was an hour behind: an hour, the longest a call may take, ends before the timeout around it.
    await expectAllEnd(server, started, killed ? { ...ENDS, call: ["slow failed", "post failed"] } : ENDS);
  },
);
