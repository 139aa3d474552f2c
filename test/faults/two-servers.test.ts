/** Two processes on one database, both well: either may be asked, one executes, and each is told what the other does. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId } from "../../server/src/lib/ids.ts";
import { publish } from "../agents.ts";
import { eventually, type Data, type TestServer } from "../client.ts";
import { agentOf, CANCEL, DECIDE, ENDED, readRun, stepsOf, until } from "../runs.ts";
import { violations } from "./audit.ts";
import { callTask, rolesOf, startAt, startPair, START, type Pair } from "./pair.ts";

let pair: Pair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair[Symbol.asyncDispose]());

const call = (behaviour: string, name = "post"): string => callTask(pair.sink, behaviour, name);

test("what is started at either is executed by one within 4 s, without waiting for a sweep", async () => {
  const { executor, standby } = await rolesOf(pair);
  const three = await publish(executor, "three");
  const since = performance.now();
  const ids = [];
  for (const server of [standby, executor, standby, standby])
    ids.push(await startAt(server, three, { input: { n: 1 } }));
  for (const id of ids) expect((await until(executor, id, ...ENDED)).output).toEqual({ n: 4 });
  expect(performance.now() - since).toBeLessThan(4_000);
  const { rows } = await pair.client.query("select distinct program from audit where step is not null");
  expect(rows).toEqual([{ program: executor.name }]);
});

test("subscriptions at the one that stands by: what the other does, the final state; events without gaps", async () => {
  const { executor, standby } = await rolesOf(pair);
  const agentId = await agentOf(executor, `do: [${call("/delay/200", "one")}, ${call("/delay/200", "two")}]`);
  const id = await startAt(standby, agentId);
  const watched = async (query: string): Promise<Data[]> => {
    const seen = [];
    for await (const { data } of standby.server.watch(query, { id }, pair.token)) seen.push(data);
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
  const last = (await readRun(standby, id)).revision;
  expect(events.at(-1).runEvents).toMatchObject({ revision: last, run: { status: "completed" } });
  const finals = events.filter(({ runEvents }) => runEvents.step?.status === "completed");
  expect(finals.map(({ runEvents }) => runEvents.step.number)).toEqual([1, 2]);
});

test("a cancel at the one closes the socket of the other's call within 1 s", async () => {
  const { executor, standby } = await rolesOf(pair);
  const id = await startAt(executor, await agentOf(executor, `do: [${call("/delay/30000")}, {after: {set: {n: 1}}}]`));
  await eventually(() => pair.sink.summary().waiting === 1);
  const since = performance.now();
  expect((await standby.data(CANCEL, { id })).cancelRun.status).toBe("cancelled");
  await eventually(() => pair.sink.summary().waiting === 0, 5_000);
  expect(performance.now() - since).toBeLessThan(1_000);
  expect(stepsOf(await readRun(executor, id))).toEqual(["post cancelled"]);
});

test("an approval decided at the one lets the other go on and end within 2 s; a second decision is CONFLICT at either", async () => {
  const { executor, standby } = await rolesOf(pair);
  const id = await startAt(standby, await publish(executor, "approve"));
  const approvalId = (await until(standby, id, "paused")).approvals.nodes[0].id;
  const since = performance.now();
  const input = { approvalId, decision: "approve", answer: { costCentre: "office" }, comment: "here" };
  await standby.data(DECIDE, { input });
  const { errors } = await executor.graphql(DECIDE, { input: { approvalId, decision: "reject" } });
  expect(errors![0]!.extensions.code).toBe("CONFLICT");
  expect((await until(executor, id, ...ENDED)).output).toEqual({ said: "here" });
  expect(performance.now() - since).toBeLessThan(2_000);
});

test("of 100 requests at once on Free, at either, exactly 10 pass, and it is the same 10", async () => {
  const { a, b } = pair;
  const world = await a.organization("free-at-both");
  await a.setPlan(world.organizationId, "free");
  const ask = async (server: TestServer): Promise<number> =>
    (await server.graphql("{ me { id } }", {}, world.apiKey)).status;
  const all = await Promise.all(Array.from({ length: 100 }, (_, index) => ask(index % 2 === 0 ? a : b)));
  expect(all.filter((status) => status === 200)).toHaveLength(10);
  expect(all.filter((status) => status === 429)).toHaveLength(90);
  for (const server of [a, b]) {
    const { rateLimit } = await server.data("{ rateLimit { limit remaining } }", {}, world.apiKey);
    expect(rateLimit).toEqual({ limit: 10, remaining: 0 });
    await server.clock.advance(60_000);
  }
  expect(await ask(b)).toBe(200);
});

test("of 40 wrong passwords at either, ten are tried in all; then both refuse, and nobody else", async () => {
  const { a, b } = pair;
  const [world, other] = [await a.organization("guessed-at-both"), await a.organization("guessed-at-neither")];
  const login =
    "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { expiresAt } }";
  const signIn = async (server: TestServer, email: string, password: string): Promise<unknown> =>
    (await server.graphql(login, { email, password }, null)).errors?.[0]!.extensions ?? "in";
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, index) => signIn([a, b][index % 2]!, world.email, `wrong password ${index}`)),
  );
  expect(outcomes.filter((one) => (one as Data).code === "UNAUTHENTICATED")).toHaveLength(10);
  expect(outcomes.filter((one) => (one as Data).code === "RATE_LIMITED")).toHaveLength(30);
  for (const server of [a, b]) {
    expect(await signIn(server, world.email, world.password)).toEqual({
      code: "RATE_LIMITED",
      retryAfter: expect.any(Number),
    });
    expect(await signIn(server, other.email, other.password)).toBe("in");
  }
  for (const server of [a, b]) await server.clock.advance(60_000);
  for (const server of [a, b]) expect(await signIn(server, world.email, world.password)).toBe("in");
});

test("idempotency keys sent twice at once, to either: one run each", async () => {
  const KEYS = 10_000;
  const AT_ONCE = 25;
  const { executor, standby } = await rolesOf(pair);
  const agentId = await publish(executor, "echo");
  const ids = new Map<number, string>();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let key = next++; key < KEYS; key = next++) {
      const more = { input: { key }, idempotencyKey: `twice-${key}` };
      const [one, two] = await Promise.all([startAt(executor, agentId, more), startAt(standby, agentId, more)]);
      expect(one).toBe(two);
      ids.set(key, one);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  expect(new Set(ids.values()).size).toBe(KEYS);
  const { rows } = await pair.client.query(
    "select count(*)::int as runs, count(distinct input ->> 'key')::int as keys from runs where agent_id = $1",
    [decodeId("agent", agentId)],
  );
  expect(rows).toEqual([{ runs: KEYS, keys: KEYS }]);
  const done = async (): Promise<number> =>
    (
      await pair.client.query("select count(*)::int as done from runs where status = 'completed' and agent_id = $1", [
        decodeId("agent", agentId),
      ])
    ).rows[0].done;
  await eventually(async () => (await done()) === KEYS, 30_000);
  const other = await executor.graphql(START, { input: { agentId, input: { key: -1 }, idempotencyKey: "twice-0" } });
  expect(other.errors![0]!.extensions.code).toBe("CONFLICT");
}, 240_000);

test("a clock that is an hour ahead of the other's: nobody takes over, and each is told what the other does", async () => {
  const { executor, standby } = await rolesOf(pair);
  await standby.server.clock.advance(3_600_000);
  const since = performance.now();
  const early = await startAt(standby, await publish(executor, "three"), { input: { n: 1 } });
  expect((await until(executor, early, ...ENDED)).output).toEqual({ n: 4 });
  expect(performance.now() - since).toBeLessThan(2_000);
  const id = await startAt(executor, await agentOf(executor, `do: [${call("/delay/30000")}]`));
  await eventually(() => pair.sink.count(id, "post"));
  // Longer than the four looks of an election, and than both need to look for each other.
  await sleep(11_000);
  expect((await rolesOf(pair)).executor.name).toBe(executor.name);
  const cancelledAt = performance.now();
  await standby.data(CANCEL, { id });
  await eventually(() => pair.sink.summary().waiting === 0, 10_000);
  expect(performance.now() - cancelledAt).toBeLessThan(1_000);
  await standby.server.clock.advance(-3_600_000);
});

/** A look every 5 s, 10 s for its answer. */
const MISSED_MS = 20_000;
const LOST: Record<string, () => Promise<void>> = {
  "is cut": async () => {
    const { rowCount } = await pair.client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen autograph'",
    );
    expect(rowCount).toBe(2);
  },
  "goes silent": async () => expect(pair.proxy.freeze("listen autograph")).toBe(1),
};

test.each(Object.keys(LOST))(
  "a connection that carries word between the two %s: what was missed meanwhile is seen within seconds",
  async (how) => {
    const { executor, standby } = await rolesOf(pair);
    const ask = "do: [{ask: {call: approval:1.0.0@default, with: {question: Really?}}}]";
    const asking = await startAt(executor, await agentOf(executor, ask));
    const calling = await startAt(executor, await agentOf(executor, `do: [${call("/delay/60000")}]`));
    const approvalId = (await until(executor, asking, "paused")).approvals.nodes[0].id;
    await eventually(() => pair.sink.count(calling, "post"));
    const seen: string[] = [];
    const watching = (async () => {
      const query = "subscription($id: ID!) { runUpdated(runId: $id) { status } }";
      for await (const { data } of standby.server.watch(query, { id: asking }, pair.token))
        seen.push(data.runUpdated.status);
    })();
    await eventually(() => seen.includes("paused"));
    await LOST[how]!();
    // Who has lost it hears nothing for a moment of what the other does.
    await executor.data(DECIDE, { input: { approvalId, decision: "approve" } });
    await standby.data(CANCEL, { id: calling });
    await Promise.race([watching, sleep(MISSED_MS)]);
    expect(seen.at(-1)).toBe("completed");
    await eventually(() => pair.sink.summary().waiting === 0, MISSED_MS);
    expect(await violations(pair.client)).toEqual([]);
  },
  60_000,
);
