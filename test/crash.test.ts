/** `kill -9` in the middle of the work, over and over: nobody loses anything, nothing finished is done again. */
import { afterEach, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { startDoor } from "./flood.ts";
import { expectNothingLost, publishCall, startOn, startThroughKills } from "./kills.ts";
import { agentOf, decide, ENDED, readRun, stepsOf, until } from "./runs.ts";
import { scaled } from "./scale.ts";
import { startSink, type Sink } from "./sink.ts";

const ALLOW = { OUTBOUND_ALLOW: "127.0.0.1/32" };
const KILLS = scaled({ whole: 10, part: 4 });
const STARTS = 200 * KILLS;

let stack = new AsyncDisposableStack();
afterEach(async () => {
  const before = stack;
  stack = new AsyncDisposableStack();
  await before.disposeAsync();
});

async function serverAndSink(): Promise<{ server: TestServer; sink: Sink }> {
  const sink = stack.use(await startSink());
  return { sink, server: stack.use(await startTestServer({ env: ALLOW })) };
}

test(`${KILLS} times kill -9 during ${STARTS} starts of call`, async () => {
  const { server, sink } = await serverAndSink();
  const agentId = await publishCall(server, `${sink.url}/delay/5`);
  const servers = [{ server, start: startOn(server) }];
  const acknowledged = await startThroughKills(agentId, servers, { starts: STARTS, kills: KILLS });
  await expectNothingLost(server, sink, acknowledged, KILLS);
});

test("approvals and waits that a kill meets are there after it", async () => {
  const server = stack.use(await startTestServer());
  const asking = await start(server, await publish(server, "approve"));
  const decided = await start(server, await agentOf(server, APPROVE));
  const short = await start(server, await agentOf(server, "do: [{pause: {wait: PT3S}}, {after: {set: {a: 1}}}]"));
  const long = await start(server, await publish(server, "patient"));
  await until(server, asking, "paused");
  await eventually(async () => (await readRun(server, long)).steps[0]?.status === "running");
  const before = await readRun(server, asking);
  await server.kill();
  await server.restart();

  const { steps: _steps, ...rest } = await readRun(server, asking);
  expect(before).toMatchObject(rest);
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

const APPROVE = `
do:
  - ask: {call: approval:1.0.0@default, with: {question: Really?}}
  - done: {set: {approved: '\${ .approved }'}}
`;

test("what was evaluated before the last commit is not evaluated again", async () => {
  const { server, sink } = await serverAndSink();
  // The loop's list comes from jq, in a worker: the start is committed before it is there.
  const agentId = await agentOf(
    server,
    `
do:
  - loop:
      for: {in: '\${ [$runtime.now.epoch.milliseconds, $context] | sort_by(.) | reverse }', each: one}
      while: '\${ $context == null or $index > 0 }'
      do:
        - note:
            set: {at: '\${ $runtime.now.epoch.milliseconds }', one: '\${ $one }'}
            export: {as: '\${ ($context // []) + [$one] }'}
        - post: {call: http, with: {method: post, endpoint: '${sink.url}/hang/1?run=r&step=s', body: '\${ . }'}, output: {as: '\${ $input }'}}
  - last: {set: {items: '\${ $context }', at: '\${ .at }'}}
`,
  );
  const id = await start(server, agentId);
  await eventually(async () => sink.count("r", "s") && (await readRun(server, id)).steps.length === 3);
  const before = await readRun(server, id);
  await server.kill();
  await server.restart();
  const after = await until(server, id, ...ENDED);
  const { one, at } = before.steps[1].output;
  expect(after).toMatchObject({ status: "completed", output: { items: [one, null] } });
  expect(after.steps.map(({ name }: Data) => name)).toEqual(["loop", "note", "post", "note", "post", "last"]);
  expect(after.steps[1].output).toEqual({ one, at });
  expect(sink.count("r", "s")!.requests).toBe(3);
});

/** It has heard that it is to stop. */
const refusesRuns = (server: TestServer, agentId: string): Promise<boolean> =>
  eventually(async () => {
    const { errors } = await server.graphql(`mutation { runAgent(input: {agentId: "${agentId}"}) { id } }`);
    return errors?.[0]!.extensions.code === "UNAVAILABLE";
  });

test("SIGTERM lets what is under way finish, and the rest goes on at the next start", async () => {
  const { server, sink } = await serverAndSink();
  const door = stack.use(await startDoor());
  const post = (name: string, url: string): string =>
    `- ${name}: {call: http, with: {method: post, endpoint: '${url}/?run=${name}&step=1'}}`;
  const agentId = await agentOf(server, `do:\n  ${post("one", door.url)}\n  ${post("two", sink.url)}\n`);
  const other = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
  const id = await start(server, agentId);
  await eventually(() => door.calls() === 1);
  const stopping = server.stop();
  await refusesRuns(server, other);
  door.open();
  expect(await stopping).toBe(0);
  expect(door.calls()).toBe(1);
  expect(sink.count("two", 1)).toBe(undefined);
  await server.restart();
  const run = await until(server, id, ...ENDED);
  expect(run.status).toBe("completed");
  expect(run.steps.map(({ attempts }: Data) => attempts.length)).toEqual([1, 1]);
  expect([door.calls(), sink.count("two", 1)!.requests]).toEqual([1, 1]);
});

test("what SIGTERM finds under way for longer than it gets is resumed at the next start, with the same key", async () => {
  const { server, sink } = await serverAndSink();
  const agentId = await agentOf(
    server,
    `do: [{post: {call: http, with: {method: post, endpoint: '${sink.url}/hang/1?run=h&step=1'}}}]`,
  );
  const other = await agentOf(server, "do: [{a: {set: {a: 1}}}]");
  const id = await start(server, agentId);
  await eventually(() => sink.count("h", 1));
  const began = performance.now();
  const stopping = server.stop();
  await refusesRuns(server, other);
  expect(await stopping).toBe(0);
  expect(performance.now() - began).toBeGreaterThanOrEqual(LIMITS.drainSeconds * 1000 - 100);
  await server.restart();
  const run = await until(server, id, ...ENDED);
  expect(run).toMatchObject({
    status: "completed",
    steps: [{ attempts: [{ status: "failed" }, { status: "completed" }] }],
  });
  expect(sink.count("h", 1)).toMatchObject({ requests: 2, answered: 1, keys: [expect.any(String)] });
});

test("an attempt that a kill interrupted uses up neither a try nor its time", async () => {
  const { server, sink } = await serverAndSink();
  const id = await start(
    server,
    await agentOf(
      server,
      `
do:
  - attempt:
      try: [{post: {call: http, with: {method: post, endpoint: '${sink.url}/hang/1?run=i&step=1'}}}]
      catch: {retry: {limit: {attempt: {count: 1, duration: PT2S}}}}
`,
    ),
  );
  await eventually(() => sink.count("i", 1));
  await server.kill();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await server.restart();
  const run = await until(server, id, ...ENDED);
  expect(run.status).toBe("completed");
  expect(run.steps[0].attempts.map(({ error }: Data) => error?.detail ?? null)).toEqual([
    expect.stringMatching(/process stopped/),
    null,
  ]);
});

test("after a restart an open run's next step begins within 10 s, and its attempt is made again with the same key", async () => {
  const { server, sink } = await serverAndSink();
  const id = await start(
    server,
    await agentOf(
      server,
      `do: [{post: {call: http, with: {method: post, endpoint: '${sink.url}/hang/1?run=a&step=1'}}}]`,
    ),
  );
  await eventually(() => sink.count("a", 1)?.requests === 1);
  await server.kill();
  await server.restart();
  // Ten times the promise.
  await eventually(() => sink.count("a", 1)!.requests > 1);
  const run = await until(server, id, ...ENDED);
  expect(run.status).toBe("completed");
  expect(run.steps[0].attempts.map(({ status }: Data) => status)).toEqual(["failed", "completed"]);
  expect(sink.count("a", 1)!.keys).toHaveLength(1);
});
