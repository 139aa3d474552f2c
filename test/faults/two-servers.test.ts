/** Two processes on one database: either may be asked, one executes, and when it dies or stops the other goes on. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish } from "../agents.ts";
import { eventually, type Data } from "../client.ts";
import { agentOf, CANCEL, DECIDE, ENDED, readRun, stepsOf, until } from "../runs.ts";
import { askedAs } from "./asked-as.ts";
import { violations } from "./audit.ts";
import { executorOf, startPair, untilExecuting, type Pair } from "./pair.ts";
import { insisted } from "./workload.ts";

const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";

let pair: Pair;
/** `b`, asked with the key that `a` made. */
let b: Pick<Pair["b"], "data" | "graphql" | "world">;
beforeAll(async () => {
  pair = await startPair();
  b = askedAs(pair.b, pair.a.world);
});
afterAll(() => pair[Symbol.asyncDispose]());

const call = (behaviour: string, name = "post"): string =>
  `{${name}: {call: http, with: {method: post, endpoint: '${pair.sink.url}${behaviour}', query: {run: '\${ $workflow.id }', step: ${name}}}}}`;
const startAt = async (server: Pick<Pair["b"], "data">, agentId: string, more: object = {}): Promise<string> =>
  (await server.data(START, { input: { agentId, ...more } })).runAgent.id;

describe("a executes, b serves", () => {
  test("what is started at either is executed by a, without waiting for a sweep", async () => {
    expect(await executorOf(pair.client)).toBe("a");
    const three = await publish(pair.a, "three");
    const since = performance.now();
    const ids = [];
    for (const server of [b, pair.a, b, b]) ids.push(await startAt(server, three, { input: { n: 1 } }));
    for (const id of ids) expect((await until(pair.a, id, ...ENDED)).output).toEqual({ n: 4 });
    expect(performance.now() - since).toBeLessThan(4_000);
    const { rows } = await pair.client.query("select distinct program from audit where step is not null");
    expect(rows).toEqual([{ program: "a" }]);
  });

  test("subscriptions at b: the present state, what a does, the final state; events without gaps", async () => {
    const agentId = await agentOf(pair.a, `do: [${call("/delay/200", "one")}, ${call("/delay/200", "two")}]`);
    const id = await startAt(b, agentId);
    const watched = async (query: string): Promise<Data[]> => {
      const seen = [];
      for await (const { data } of pair.b.watch(query, { id }, pair.token)) seen.push(data);
      return seen;
    };
    const [updates, events] = await Promise.all([
      watched("subscription($id: ID!) { runUpdated(runId: $id) { status revision currentStep } }"),
      watched("subscription($id: ID!) { runEvents(runId: $id) { revision run { status } step { number status } } }"),
    ]);
    const revisions = updates.map(({ runUpdated }) => runUpdated.revision);
    expect(revisions).toEqual(revisions.toSorted((x, y) => x - y));
    expect(updates.at(-1).runUpdated).toMatchObject({ status: "completed", currentStep: 2 });
    expect(updates.some(({ runUpdated }) => runUpdated.status === "running")).toBe(true);
    const last = (await readRun(b, id)).revision;
    expect(events.at(-1).runEvents).toMatchObject({ revision: last, run: { status: "completed" } });
    const finals = events.filter(({ runEvents }) => runEvents.step?.status === "completed");
    expect(finals.map(({ runEvents }) => runEvents.step.number)).toEqual([1, 2]);
  });

  test("a cancel at b closes the socket of a's call within a second", async () => {
    const id = await startAt(pair.a, await agentOf(pair.a, `do: [${call("/delay/30000")}, {after: {set: {n: 1}}}]`));
    await eventually(() => pair.sink.summary().waiting === 1);
    const since = performance.now();
    expect((await b.data(CANCEL, { id })).cancelRun.status).toBe("cancelled");
    await eventually(() => pair.sink.summary().waiting === 0, 5_000);
    expect(performance.now() - since).toBeLessThan(1_000);
    expect(stepsOf(await readRun(pair.a, id))).toEqual(["post cancelled"]);
  });

  test("an approval decided at b lets a go on at once; a second decision at a is CONFLICT", async () => {
    const id = await startAt(b, await publish(pair.a, "approve"));
    const approvalId = (await until(b, id, "paused")).approvals.nodes[0].id;
    const since = performance.now();
    const input = { approvalId, decision: "approve", answer: { costCentre: "office" }, comment: "at b" };
    await b.data(DECIDE, { input });
    const { errors } = await pair.a.graphql(DECIDE, { input: { approvalId, decision: "reject" } });
    expect(errors![0]!.extensions.code).toBe("CONFLICT");
    expect((await until(pair.a, id, ...ENDED)).output).toEqual({ said: "at b" });
    expect(performance.now() - since).toBeLessThan(2_000);
  });
});

test("idempotency keys sent twice at once, to a and to b: one run each", async () => {
  const KEYS = 10_000;
  const AT_ONCE = 25;
  const agentId = await publish(pair.a, "echo");
  const ids = new Map<number, string>();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let key = next++; key < KEYS; key = next++) {
      const more = { input: { key }, idempotencyKey: `twice-${key}` };
      const [one, two] = await Promise.all([startAt(pair.a, agentId, more), startAt(b, agentId, more)]);
      expect(one).toBe(two);
      ids.set(key, one);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  expect(new Set(ids.values()).size).toBe(KEYS);
  const { rows } = await pair.client.query(
    "select count(*)::int as runs, count(distinct input ->> 'key')::int as keys from runs where agent_id = (select agent_id from idempotency_keys limit 1)",
  );
  expect(rows).toEqual([{ runs: KEYS, keys: KEYS }]);
  const done = (): Promise<Data> =>
    pair.client.query(
      "select count(*)::int as open from runs where status in ('pending', 'running') and wake_at is not null",
    );
  await eventually(async () => (await done()).rows[0].open === 0, 30_000);
  const other = await pair.a.graphql(START, { input: { agentId, input: { key: -1 }, idempotencyKey: "twice-0" } });
  expect(other.errors![0]!.extensions.code).toBe("CONFLICT");
}, 120_000);

test("kill -9 of a: b executes within 5 s, a stands by when it is back", async () => {
  const agentId = await agentOf(pair.a, `do: [${call("/hang/1")}, {after: {set: {n: 1}}}]`);
  const id = await startAt(pair.a, agentId);
  await eventually(() => pair.sink.count(id, "post")?.requests === 1);
  const since = performance.now();
  await pair.a.kill();
  await eventually(() => pair.sink.count(id, "post")!.requests === 2, 15_000);
  expect(performance.now() - since).toBeLessThan(5_000);
  expect(pair.sink.count(id, "post")!.keys).toHaveLength(1);
  await pair.a.restart();
  const run = await until(pair.a, id, ...ENDED);
  expect([run.status, ...stepsOf(run)]).toEqual(["completed", "post completed", "after completed"]);
  expect(await executorOf(pair.client)).toBe("b");
  // Where it is started no longer matters either.
  await insisted(pair.a, START, { input: { agentId: await publish(pair.a, "patient") } });
});

test("SIGSTOP of the executor while the other takes over: it writes and calls nothing after SIGCONT", async () => {
  await untilExecuting(pair.client, "b");
  const { sink, client } = pair;
  const ROUNDS = 40;
  const body = `
do:
  - loop:
      for: {in: '\${ [range(${ROUNDS})] }'}
      do:
        - pause: {wait: {milliseconds: 100}}
        - post: {call: http, with: {method: post, endpoint: '${sink.url}/delay/150', query: {run: '\${ $workflow.id }', step: '\${ "\\($index)" }'}}}`;
  const agentId = await agentOf(pair.a, body);
  const ids: string[] = [];
  for (let count = 0; count < 20; count++) ids.push(await startAt(pair.a, agentId));
  await eventually(() => sink.count(ids.at(-1)!, "2"));
  const { pid } = pair.b;
  process.kill(pid, "SIGSTOP");
  const tookMs = await untilExecuting(client, "a");
  // Four looks a second apart, and the one that takes the lock.
  expect(tookMs).toBeLessThan(8_000);
  await eventually(() => sink.count(ids.at(-1)!, "12"), 30_000);
  const last = async (program: string): Promise<number> =>
    (await client.query("select coalesce(max(seq), 0)::int as seq from audit where program = $1", [program])).rows[0]
      .seq;
  const before = await last("b");
  process.kill(pid, "SIGCONT");
  // As if it had been stopped for longer: whatever it waited for is due.
  await pair.b.clock.advance(30_000);
  await sleep(3_000);
  expect(await last("b")).toBe(before);
  expect(await executorOf(client)).toBe("a");
  for (const id of ids) expect((await until(pair.a, id, ...ENDED)).status).toBe("completed");
  expect(await last("b")).toBe(before);
  // What was under way when it stopped was repeated by the other, and nothing else was called twice.
  for (const id of ids) {
    const counts = Array.from({ length: ROUNDS }, (_, index) => sink.count(id, String(index))!);
    expect(counts.filter(({ requests }) => requests > 2)).toEqual([]);
    expect(counts.filter(({ requests }) => requests === 2).length).toBeLessThanOrEqual(1);
    expect(counts.filter(({ keys }) => keys.length !== 1)).toEqual([]);
  }
  // It serves on, and stands by.
  const id = await startAt(b, await publish(pair.a, "three"), { input: { n: 1 } });
  expect((await until(pair.a, id, ...ENDED)).output).toEqual({ n: 4 });
  expect(await violations(client)).toEqual([]);
}, 90_000);

test("a clock that is an hour ahead of the other's: nobody takes over, and each is told what the other does", async () => {
  const { a, client } = pair;
  expect(await executorOf(client)).toBe("a");
  await pair.b.clock.advance(3_600_000);
  const since = performance.now();
  const early = await startAt(b, await publish(a, "three"), { input: { n: 1 } });
  expect((await until(a, early, ...ENDED)).output).toEqual({ n: 4 });
  expect(performance.now() - since).toBeLessThan(2_000);
  const id = await startAt(a, await agentOf(a, `do: [${call("/delay/30000")}]`));
  await eventually(() => pair.sink.count(id, "post"));
  // Longer than the four looks of an election, and than both need to look for each other.
  await sleep(11_000);
  expect(await executorOf(client)).toBe("a");
  const cancelledAt = performance.now();
  await b.data(CANCEL, { id });
  await eventually(() => pair.sink.summary().waiting === 0, 10_000);
  expect(performance.now() - cancelledAt).toBeLessThan(1_000);
  await pair.b.clock.advance(-3_600_000);
});

test("a connection that carries word between the two is cut: what was missed meanwhile is seen within seconds", async () => {
  const { a, client, token } = pair;
  const cutListeners = (): Promise<unknown> =>
    client.query("select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen %'");
  const asking = await startAt(
    a,
    await agentOf(a, "do: [{ask: {call: approval:1.0.0@default, with: {question: Really?}}}]"),
  );
  const calling = await startAt(a, await agentOf(a, `do: [${call("/delay/60000")}]`));
  const approvalId = (await until(a, asking, "paused")).approvals.nodes[0].id;
  await eventually(() => pair.sink.count(calling, "post"));
  const seen: string[] = [];
  const watching = (async () => {
    const query = "subscription($id: ID!) { runUpdated(runId: $id) { status } }";
    for await (const { data } of pair.b.watch(query, { id: asking }, token)) seen.push(data.runUpdated.status);
  })();
  await eventually(() => seen.includes("paused"));
  await cutListeners();
  // Nobody listens for a moment: neither b to what a does, nor a to what b does.
  await a.data(DECIDE, { input: { approvalId, decision: "approve" } });
  await b.data(CANCEL, { id: calling });
  await Promise.race([watching, sleep(15_000)]);
  expect(seen.at(-1)).toBe("completed");
  await eventually(() => pair.sink.summary().waiting === 0, 15_000);
}, 60_000);
