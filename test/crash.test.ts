/** `kill -9` in the middle of the work, over and over: nobody loses anything, nothing finished is done again. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { startDoor } from "./flood.ts";
import { expectNothingLost, publishCalls, startOn, startThroughKills } from "./kills.ts";
import { agentOf, decide, ENDED, readRun, stepsOf, until } from "./runs.ts";
import { scaled } from "./scale.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { startSink, type Sink } from "./sink.ts";

const KILLS = scaled({ whole: 10, part: 2 });
const STARTS = KILLS * scaled({ whole: 200, part: 40 });

let sink: Sink;
let server: MovedServer;
beforeAll(async () => {
  sink = await startSink();
  server = await movedServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await sink[Symbol.asyncDispose]();
});

// The first: it counts all the runs and calls that there are.
test(`${KILLS} times kill -9 during ${STARTS} starts of call`, async () => {
  const calls = await publishCalls(server, sink);
  const servers = [{ server, start: startOn(server) }];
  const acknowledged = await startThroughKills(calls, servers, { starts: STARTS, kills: KILLS });
  await expectNothingLost(server, calls, acknowledged, KILLS);
});

/** A call that hangs until it is made again. */
const hang = (run: string): string =>
  `{call: http, with: {method: post, endpoint: '${sink.url}/hang/1?run=${run}&step=1'}}`;

describe("after a kill that met all of them", () => {
  let [asking, decided, short, long, loop, tried, called] = ["", "", "", "", "", "", ""];
  let askingBefore: Data;
  let loopBefore: Data;
  beforeAll(async () => {
    asking = await start(server, await publish(server, "approve"));
    decided = await start(server, await agentOf(server, APPROVE));
    short = await start(server, await agentOf(server, "do: [{pause: {wait: PT3S}}, {after: {set: {a: 1}}}]"));
    long = await start(server, await publish(server, "patient"));
    loop = await start(server, await agentOf(server, LOOP(sink.url)));
    const retry = "{retry: {limit: {attempt: {count: 1, duration: PT5M}}}}";
    const attempt = `do: [{attempt: {try: [{post: ${hang("tried")}}], catch: ${retry}}}]`;
    tried = await start(server, await agentOf(server, attempt));
    called = await start(server, await agentOf(server, `do: [{post: ${hang("called")}}]`));
    await until(server, asking, "paused");
    await until(server, decided, "paused");
    await eventually(async () => (await readRun(server, long)).steps[0]?.status === "running");
    await eventually(async () => sink.count("loop", 1) && (await readRun(server, loop)).steps.length === 3);
    await eventually(() => sink.count("tried", 1) && sink.count("called", 1));
    [askingBefore, loopBefore] = [await readRun(server, asking), await readRun(server, loop)];
    await server.kill();
    // Longer than the limit of all tries.
    await server.restart({}, 300_000);
  });

  test("an open run's next step begins within 10 s, and its attempt is made again with the same key", async () => {
    // Ten times the promise.
    await eventually(() => sink.count("called", 1)!.requests > 1);
    const run = await until(server, called, ...ENDED);
    expect(run.status).toBe("completed");
    expect(run.steps[0].attempts.map(({ status }: Data) => status)).toEqual(["failed", "completed"]);
    expect(sink.count("called", 1)!.keys).toHaveLength(1);
  });

  test("what was evaluated before the last commit is not evaluated again", async () => {
    const after = await until(server, loop, ...ENDED);
    const { one, at } = loopBefore.steps[1].output;
    expect(after).toMatchObject({ status: "completed", output: { items: [one, null] } });
    expect(after.steps.map(({ name }: Data) => name)).toEqual(["loop", "note", "post", "note", "post", "last"]);
    expect(after.steps[1].output).toEqual({ one, at });
    expect(sink.count("loop", 1)!.requests).toBe(3);
  });

  test("an attempt that a kill interrupted uses up neither a try nor its time", async () => {
    const run = await until(server, tried, ...ENDED);
    expect(run.status).toBe("completed");
    expect(run.steps[0].attempts.map(({ error }: Data) => error?.detail ?? null)).toEqual([
      expect.stringMatching(/process stopped/),
      null,
    ]);
  });

  test("approvals and waits are there, and a decision that was acknowledged before another kill", async () => {
    const { steps: _steps, ...rest } = await readRun(server, asking);
    expect(askingBefore).toMatchObject(rest);
    // Acknowledged, then killed before the run could go on.
    expect((await decide(server, decided, "approve")).errors).toBeUndefined();
    await server.kill();
    await server.restart();
    expect((await until(server, decided, ...ENDED)).output).toEqual({ approved: true });
    expect((await decide(server, asking, "approve", { answer: { costCentre: "office" }, comment: "go" })).errors).toBe(
      undefined,
    );
    expect((await until(server, asking, ...ENDED)).output).toEqual({ said: "go" });
    expect((await until(server, short, ...ENDED)).output).toEqual({ a: 1 });
    expect((await readRun(server, long)).status).toBe("running");
    await server.clock.advance(3_600_000);
    expect(stepsOf(await until(server, long, ...ENDED))).toEqual(["pause completed"]);
  });
});

const APPROVE = `
do:
  - ask: {call: approval:1.0.0@default, with: {question: Really?}}
  - done: {set: {approved: '\${ .approved }'}}
`;

/** Its list comes from jq, in a worker: the start is committed before it is there. */
const LOOP = (url: string): string => `
do:
  - loop:
      for: {in: '\${ [$runtime.now.epoch.milliseconds, $context] | sort_by(.) | reverse }', each: one}
      while: '\${ $context == null or $index > 0 }'
      do:
        - note:
            set: {at: '\${ $runtime.now.epoch.milliseconds }', one: '\${ $one }'}
            export: {as: '\${ ($context // []) + [$one] }'}
        - post: {call: http, with: {method: post, endpoint: '${url}/hang/1?run=loop&step=1', body: '\${ . }'}, output: {as: '\${ $input }'}}
  - last: {set: {items: '\${ $context }', at: '\${ .at }'}}
`;

/** It has heard that it is to stop. */
const refusesRuns = (agentId: string): Promise<boolean> =>
  eventually(async () => {
    const { errors } = await server.graphql(`mutation { runAgent(input: {agentId: "${agentId}"}) { id } }`);
    return errors?.[0]!.extensions.code === "UNAVAILABLE";
  });

test("what a branch has brought is not done again, however long another takes", async () => {
  const post = (path: string): string => `{call: http, with: {method: post, endpoint: '${sink.url}${path}'}}`;
  const branches = [
    `{long: ${hang("long")}}`,
    `{short: ${post("?run=beside&step=1")}}`,
    // Ends after the other was written.
    `{later: ${post("/delay/300?run=beside&step=2")}}`,
  ];
  const id = await start(server, await agentOf(server, `do: [{all: {fork: {branches: [${branches.join(", ")}]}}}]`));
  const over = async (): Promise<string[]> => stepsOf(await readRun(server, id)).toSorted();
  await expect.poll(over).toEqual(["all running", "later completed", "long running", "short completed"]);
  await eventually(() => sink.count("long", 1));
  await server.kill();
  await server.restart();
  expect(await until(server, id, ...ENDED)).toMatchObject({ status: "completed" });
  const counts = [sink.count("long", 1), sink.count("beside", 1), sink.count("beside", 2)];
  expect(counts.map((count) => count!.requests)).toEqual([2, 1, 1]);
});

test("SIGTERM lets what is under way finish; what takes longer than it gets is resumed at the next start, with the same key", async () => {
  await using door = await startDoor();
  const post = (name: string, url: string): string =>
    `- ${name}: {call: http, with: {method: post, endpoint: '${url}/?run=${name}&step=1'}}`;
  const two = await agentOf(server, `do:\n  ${post("one", door.url)}\n  ${post("two", sink.url)}\n`);
  const other = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
  const finishing = await start(server, two);
  const hanging = await start(server, await agentOf(server, `do: [{post: ${hang("stopped")}}]`));
  await eventually(() => door.calls() === 1 && sink.count("stopped", 1));
  const began = performance.now();
  const stopping = server.stop();
  await refusesRuns(other);
  // Also what needs no run, so that the process ends with the work that it has.
  const looked = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${server.world.apiKey}` },
    body: JSON.stringify({ query: "{ me { name } }" }),
  });
  expect([looked.status, looked.headers.get("retry-after"), looked.headers.get("connection")]).toEqual([
    503,
    "1",
    "close",
  ]);
  door.open();
  expect(await stopping).toBe(0);
  expect(performance.now() - began).toBeGreaterThanOrEqual(LIMITS.drainSeconds * 1000 - 100);
  expect(door.calls()).toBe(1);
  expect(sink.count("two", 1)).toBe(undefined);
  await server.restart();
  const finished = await until(server, finishing, ...ENDED);
  expect(finished.status).toBe("completed");
  expect(finished.steps.map(({ attempts }: Data) => attempts.length)).toEqual([1, 1]);
  expect([door.calls(), sink.count("two", 1)!.requests]).toEqual([1, 1]);
  const resumed = await until(server, hanging, ...ENDED);
  expect(resumed).toMatchObject({
    status: "completed",
    steps: [{ attempts: [{ status: "failed" }, { status: "completed" }] }],
  });
  expect(sink.count("stopped", 1)).toMatchObject({ requests: 2, answered: 1, keys: [expect.any(String)] });
});
