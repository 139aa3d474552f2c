/** A cancel is final, wherever the run is when it comes; and of two that want to end a run one wins. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "../in-time.ts";
import { publish, start } from "../agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "../client.ts";
import { agentOf, CANCEL, DECIDE, ENDED, readRun, stepsOf, until } from "../runs.ts";
import { scaled } from "../scale.ts";
import { startSink, type Sink } from "../sink.ts";
import { auditServer, connectTo, violations } from "./audit.ts";
import { seeded } from "./random.ts";

let server: TestServer;
let sink: Sink;
beforeAll(async () => {
  sink = await startSink();
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
  await auditServer(server);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await sink[Symbol.asyncDispose]();
});

async function expectSound(): Promise<void> {
  const client = await connectTo(server);
  expect(await violations(client)).toEqual([]);
  await client.end();
}

const cancel = async (id: string): Promise<Data> => (await server.data(CANCEL, { id })).cancelRun;
const call = (name: string, behaviour: string): string =>
  `{${name}: {call: http, with: {method: post, endpoint: '${sink.url}${behaviour}', query: {run: '\${ $workflow.id }', step: ${name}}}}}`;

/** It stays as it is, and nobody is called any more. */
async function expectFinal(ids: string[]): Promise<void> {
  const before = await Promise.all(ids.map((id) => readRun(server, id)));
  const { requests } = sink.summary();
  await sleep(1_500);
  await server.clock.advance(7_200_000);
  await sleep(300);
  expect(await Promise.all(ids.map((id) => readRun(server, id)))).toEqual(before);
  expect(sink.summary().requests).toBe(requests);
  await expectSound();
}

test("during calls of 30 s, its own and its children's: the sockets close within 1 s, no later step is reached", async () => {
  sink.reset();
  const after = "{after: {set: {reached: true}}}";
  await agentOf(server, `do: [${call("deep", "/delay/30000")}, ${after}]`, "grandchild");
  const run = (name: string): string => `run: {workflow: {namespace: test, name: ${name}, version: '1.0.0'}}`;
  await agentOf(server, `do: [{down: {${run("grandchild")}}}, ${after}]`, "child");
  const agentId = await agentOf(
    server,
    `do:
  - all:
      fork:
        branches:
          - one: {do: [${call("left", "/delay/30000")}, ${after}]}
          - two: {do: [{down: {${run("child")}}}, ${after}]}
          - three: {do: [{nap: {wait: PT1H}}, ${after}]}
  - last: {set: {reached: true}}`,
  );
  const id = await start(server, agentId);
  await eventually(() => sink.summary().waiting === 2);
  const since = performance.now();
  const { status, cancelledAt } = await cancel(id);
  // Ten times the promise: a busy machine has its own.
  expectInTime(performance.now() - since, 10 * 100);
  expect([status, typeof cancelledAt]).toEqual(["cancelled", "string"]);
  await eventually(() => sink.summary().waiting === 0);
  expectInTime(performance.now() - since, 10 * 1_000);
  expect(sink.summary().abandoned).toBe(2);
  const { runs } = await server.data("{ runs(first: 3) { nodes { id status agent { handle } } } }");
  expect(runs.nodes.map(({ status: one, agent }: Data) => `${agent.handle} ${one}`).slice(0, 2)).toEqual([
    "grandchild cancelled",
    "child cancelled",
  ]);
  expect(stepsOf(await readRun(server, id)).toSorted()).toEqual(
    ["all", "down", "left", "nap", "one", "three", "two"].map((name) => `${name} cancelled`),
  );
  expect(stepsOf(await readRun(server, runs.nodes[0].id))).toEqual(["deep cancelled"]);
  expect(await cancel(id)).toEqual({ id, status, cancelledAt });
  await expectFinal([id, ...runs.nodes.slice(0, 2).map(({ id: child }: Data) => child)]);
});

test("during a wait, while paused, while queued and before its time", async () => {
  const waiting = await start(server, await publish(server, "patient"));
  const asking = await start(server, await publish(server, "approve"));
  const slow = await agentOf(server, "do: [{pause: {wait: PT1H}}]", "one-at-a-time");
  await server.data("mutation($input: SetAgentLimitInput!) { setAgentLimit(input: $input) { id } }", {
    input: { agentId: slow, concurrency: 1 },
  });
  const first = await start(server, slow);
  const queued = await start(server, slow);
  const runAt = new Date((await server.clock.now()) + 3_600_000).toISOString();
  const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
    input: { agentId: slow, runAt },
  });
  const { approvals } = await until(server, asking, "paused");
  await eventually(async () => (await readRun(server, waiting)).steps[0]?.status === "running");
  await until(server, first, "running");
  const all = [waiting, asking, queued, runAgent.id];
  const states = await Promise.all(all.map(async (id) => (await readRun(server, id)).status));
  expect(states).toEqual(["running", "paused", "pending", "pending"]);
  for (const id of all) expect((await cancel(id)).status).toBe("cancelled");
  expect((await readRun(server, asking)).approvals.nodes[0].status).toBe("withdrawn");
  const late = await server.graphql(DECIDE, { input: { approvalId: approvals.nodes[0].id, decision: "reject" } });
  expect(late.errors![0]!.extensions.code).toBe("CONFLICT");
  expect(stepsOf(await readRun(server, waiting))).toEqual(["pause cancelled"]);
  expect((await readRun(server, queued)).startedAt).toBeNull();
  expect((await readRun(server, first)).status).toBe("running");
  await cancel(first);
  await expectFinal([...all, first]);
});

/**
 * Starts something, waits about as long as it takes, cancels; the time is sought where both may win, until each has. Some tries are
 * enough on a quick machine; a slow one needs more to find it.
 */
async function race(agentId: string, tries: number): Promise<void> {
  const won = { completed: 0, cancelled: 0 };
  let pauseMs = 5;
  for (let count = 0; count < tries || Math.min(won.completed, won.cancelled) < tries / 10; count++) {
    const id = await start(server, agentId);
    const end = performance.now() + pauseMs;
    while (performance.now() < end) await new Promise(setImmediate);
    const { data, errors } = await server.graphql(CANCEL, { id });
    const answer = errors ? errors[0]!.extensions.code : data.cancelRun.status;
    const { status, output, finishedAt, cancelledAt } = await until(server, id, ...ENDED);
    expect([answer, status]).toEqual(answer === "CONFLICT" ? ["CONFLICT", "completed"] : ["cancelled", "cancelled"]);
    expect([output === null, cancelledAt === finishedAt]).toEqual([status === "cancelled", status === "cancelled"]);
    won[status as keyof typeof won]++;
    // A tenth each time: on a slow machine a run takes a hundred times as long as the first pause.
    pauseMs = status === "cancelled" ? pauseMs * 1.1 + 0.1 : pauseMs / 1.1;
  }
}

test("racing the end of the run: one of the two wins, never both", async () => {
  const RACES = scaled({ whole: 600, part: 30 });
  const agentId = await agentOf(server, "do: [{nap: {wait: {milliseconds: 10}}}, {done: {set: {n: 1}}}]");
  await race(agentId, RACES);
  await expectSound();
});

const DECISIONS = scaled({ whole: 120, part: 10 });

test("racing a decision, and two decisions at once: one of them counts", async () => {
  const random = seeded("decisions");
  const agentId = await agentOf(
    server,
    "do: [{ask: {call: approval:1.0.0@default, with: {question: Really?, onReject: continue}}}, {done: {set: {yes: '${ .approved }'}}}]",
  );
  const outcomes = new Set<string>();
  const sought = ["completed approved", "completed rejected"];
  for (let count = 0; count < DECISIONS || !sought.every((one) => outcomes.has(one)); count++) {
    const id = await start(server, agentId);
    const approvalId = (await until(server, id, "paused")).approvals.nodes[0].id;
    const decision = (word: string) => server.graphql(DECIDE, { input: { approvalId, decision: word } });
    const asked = [() => decision("approve"), () => decision("reject"), () => server.graphql(CANCEL, { id })];
    // Two of the three, in any order, at once.
    const two = random.next() < 0.5 ? asked.slice(0, 2) : asked.slice(random.between(0, 1)).slice(-2);
    if (random.next() < 0.5) two.reverse();
    const answers = await Promise.all(two.map((ask) => ask()));
    const run = await until(server, id, ...ENDED);
    const codes = answers.flatMap(({ errors }) => errors?.map(({ extensions }) => extensions.code) ?? []);
    const decided = answers.flatMap(({ data }) => data?.decideApproval?.status ?? []);
    expect(decided.length).toBeLessThanOrEqual(1);
    expect(codes.filter((code) => code !== "CONFLICT")).toEqual([]);
    if (run.status === "completed") expect(run.output).toEqual({ yes: decided[0] === "approved" });
    else expect([run.status, answers.some(({ data }) => data?.cancelRun)]).toEqual(["cancelled", true]);
    expect(run.approvals.nodes.map(({ status }: Data) => status)).toEqual([decided[0] ?? "withdrawn"]);
    outcomes.add(`${run.status} ${decided[0]}`);
  }
  await expectSound();
});

/** Ten of twelve call, more than the 256 connections that one server gets. */
const MANY = scaled({ whole: 1_000, part: 320 });

test(`cancelRuns of ${MANY} runs in every state within 20 s; what the filter leaves out goes on`, async () => {
  const other = await start(server, await publish(server, "patient"));
  const agentId = await agentOf(
    server,
    `do:
  - which:
      switch:
        - ask: {when: '\${ .n % 12 == 0 }', then: ask}
        - nap: {when: '\${ .n % 12 == 1 }', then: nap}
        - post: {then: post}
  - ask: {call: approval:1.0.0@default, with: {question: Really?}, then: end}
  - nap: {wait: PT1H, then: end}
  - ${call("post", "/delay/60000").slice(1, -1)}
`,
  );
  sink.reset();
  const inputs = Array.from({ length: MANY }, (_, n) => ({ n }));
  for (let from = 0; from < MANY; from += 50) {
    await Promise.all(inputs.slice(from, from + 50).map((input) => start(server, agentId, input)));
  }
  // A server is called by 256 connections at most; the other calls queue.
  await eventually(() => sink.summary().waiting === 256);
  await eventually(async () => (await server.data("{ badges { openApprovals } }")).badges.openApprovals > MANY / 15);
  const since = performance.now();
  const input = { runs: { filter: { agentId } } };
  const { cancelRuns } = await server.data(
    "mutation($input: CancelRunsInput!) { cancelRuns(input: $input) { cancelledCount } }",
    {
      input,
    },
  );
  const tookMs = performance.now() - since;
  expect(cancelRuns.cancelledCount).toBe(MANY);
  expectInTime(tookMs, 20_000);
  await eventually(() => sink.summary().waiting === 0, 10 * 1_000);
  const client = await connectTo(server);
  const { rows } = await client.query(
    "select r.status, count(*)::int as runs, count(a.status)::int as withdrawn from runs r left join approvals a on a.run_id = r.id and a.status = 'withdrawn' where r.agent_id = (select agent_id from runs order by id desc limit 1) group by 1",
  );
  await client.end();
  expect(rows).toEqual([{ status: "cancelled", runs: MANY, withdrawn: expect.any(Number) }]);
  expect(rows[0].withdrawn).toBeGreaterThan(MANY / 15);
  expect((await readRun(server, other)).status).toBe("running");
  expect(
    (
      await server.data("mutation($input: CancelRunsInput!) { cancelRuns(input: $input) { cancelledCount } }", {
        input,
      })
    ).cancelRuns.cancelledCount,
  ).toBe(0);
  await expectSound();
});
