/** Two processes on one database, both well: either may be asked, one executes, and each learns what the other does. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "../in-time.ts";
import { decodeId } from "../../server/src/lib/ids.ts";
import { publish } from "../agents.ts";
import { eventually, shortest, type Data, type TestServer } from "../client.ts";
import { eventTriggerOf, firingsOfEvent, publishEvent } from "../published-events.ts";
import { agentOf, CANCEL, DECIDE, ENDED, readRun, stepsOf, until } from "../runs.ts";
import { scaled } from "../scale.ts";
import { call as post, firingsOf, webhookOf } from "../webhooks.ts";
import { violations } from "./audit.ts";
import { callTask, listenersOf, rolesOf, startAt, startPair, START, type Pair } from "./pair.ts";

let pair: Pair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair[Symbol.asyncDispose]());

const call = (behaviour: string, name = "post"): string => callTask(pair.sink, behaviour, name);

test("a run started at either is executed by one within 4 s, without waiting for a sweep", async () => {
  const { executor, standby } = await rolesOf(pair);
  const three = await publish(executor, "three");
  const fourRuns = async (): Promise<void> => {
    const ids = [];
    for (const server of [standby, executor, standby, standby])
      ids.push(await startAt(server, three, { input: { n: 1 } }));
    for (const id of ids) expect((await until(executor, id, ...ENDED)).output).toEqual({ n: 4 });
  };
  expect(await shortest(4_000, fourRuns)).toBeLessThan(4_000);
  const { rows } = await pair.client.query("select distinct program from audit where step is not null");
  expect(rows).toEqual([{ program: executor.name }]);
});

test("subscriptions at the one that stands by: what the other does, the final state; events without gaps", async () => {
  const { executor, standby } = await rolesOf(pair);
  const agentId = await agentOf(executor, `do: [${call("/hold", "one")}, ${call("/delay/200", "two")}]`);
  const id = await startAt(standby, agentId);
  const watch = async (query: string, seen: Data[]): Promise<void> => {
    for await (const { data } of standby.server.watch(query, { id }, pair.token)) seen.push(data);
  };
  const [updates, events]: [Data[], Data[]] = [[], []];
  const watching = Promise.all([
    watch("subscription($id: ID!) { runUpdated(runId: $id) { status revision currentStep } }", updates),
    watch(
      "subscription($id: ID!) { runEvents(runId: $id) { revision run { status } step { number status } } }",
      events,
    ),
  ]);
  // Both are open before the first call ends.
  await eventually(() => updates.some(({ runUpdated }) => runUpdated.status === "running") && events.length > 0);
  await eventually(() => pair.sink.count(id, "one"));
  pair.sink.letGo();
  await watching;
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
  await eventually(() => pair.sink.summary().waiting === 0);
  // Ten times the promise, for a busy machine.
  expectInTime(performance.now() - since, 10 * 1_000);
  expect(stepsOf(await readRun(executor, id))).toEqual(["post cancelled"]);
});

test("an approval decided at the one lets the other go on and end within 2 s; a second decision is CONFLICT at either", async () => {
  const { executor, standby } = await rolesOf(pair);
  const agentId = await publish(executor, "approve");
  const decide = async (): Promise<void> => {
    const id = await startAt(standby, agentId);
    const approvalId = (await until(standby, id, "paused")).approvals.nodes[0].id;
    const input = { approvalId, decision: "approve", answer: { costCentre: "office" }, comment: "here" };
    await standby.data(DECIDE, { input });
    const { errors } = await executor.graphql(DECIDE, { input: { approvalId, decision: "reject" } });
    expect(errors![0]!.extensions.code).toBe("CONFLICT");
    expect((await until(executor, id, ...ENDED)).output).toEqual({ said: "here" });
  };
  expect(await shortest(2_000, decide)).toBeLessThan(2_000);
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
  const KEYS = scaled({ whole: 10_000, part: 50 });
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
  await eventually(async () => (await done()) === KEYS);
  const other = await executor.graphql(START, { input: { agentId, input: { key: -1 }, idempotencyKey: "twice-0" } });
  expect(other.errors![0]!.extensions.code).toBe("CONFLICT");
  // The whole are 20,000 starts, each with its own fsync: half a minute alone, three beside a load of 18.
}, 900_000);

const DELIVERIES = scaled({ whole: 50, part: 6 });

test("a webhook's deliveries sent eight times at once, to either: one run each, and all are told which", async () => {
  const { executor, standby } = await rolesOf(pair);
  const hook = await webhookOf(executor, await publish(executor, "echo"));
  const urls = [executor, standby].map(({ server }) => hook.url.replace(/^.*(?=\/webhook\/)/, server.url));
  const runs = new Set<string>();
  for (let delivery = 0; delivery < DELIVERIES; delivery++) {
    const headers = { "idempotency-key": `delivery-${delivery}` };
    const calls = Array.from({ length: 8 }, (_, index) => post(urls[index % 2]!, { delivery }, { headers }));
    const answers = (await Promise.all(calls)).map(({ status, body }) => `${status} ${body["runId"]}`);
    expect(new Set(answers).size, answers.join()).toBe(1);
    expect(answers[0]).toMatch(/^202 run_/);
    runs.add(answers[0]!);
  }
  expect(runs.size).toBe(DELIVERIES);
  const { rows } = await pair.client.query(
    "select outcome, count(*)::int from firings where trigger_id = $1 group by outcome order by outcome",
    [decodeId("trigger", hook.id)],
  );
  expect(rows).toEqual([
    { outcome: "duplicate", count: 7 * DELIVERIES },
    { outcome: "started", count: DELIVERIES },
  ]);
});

test("triggers that were made at the one a moment ago: a webhook, events and ends of runs at the other start runs", async () => {
  const { executor, standby } = await rolesOf(pair);
  const [echo, three] = [await publish(executor, "echo"), await publish(executor, "three")];
  for (const [maker, other] of [
    [standby, executor],
    [executor, standby],
  ] as const) {
    const source = `made at ${maker.name}`;
    const send = async (id: string): Promise<string> =>
      (await publishEvent(other, { source, event: "paid", id, data: {} })).data.publishEvent.id;
    // The other one has it cached: nobody listens.
    expect(await firingsOfEvent(other, await send("before"))).toEqual([]);
    const hook = await webhookOf(maker, echo, { name: source });
    const url = hook.url.replace(/^.*(?=\/webhook\/)/, other.server.url);
    expect(await post(url, { a: 1 })).toMatchObject({ status: 202 });

    const [paid, ended] = [
      await eventTriggerOf(maker, echo, { source, event: "paid" }),
      await eventTriggerOf(maker, echo, { source: "autograph", event: "run.completed", filter: { agent: ["three"] } }),
    ];
    // The first one, whether the notice has come or not.
    const first = await send("first");
    const fired = await eventually(async () => (await firingsOfEvent(other, first))[0]);
    expect(fired).toMatchObject({ outcome: "started", trigger: { id: paid.id } });
    // Promised: a few milliseconds, and 5 s if the notice is lost.
    await eventually(async () => {
      await startAt(other, three, { input: { n: 1 } });
      return (await firingsOf(maker, ended, ["started"])).length > 0;
    });
    // Not fired any more by either.
    for (const { id } of [paid, ended])
      await maker.data("mutation($input: DeleteTriggerInput!) { deleteTrigger(input: $input) { id } }", {
        input: { triggerId: id },
      });
  }
});

test("calls at both at once: what is queued goes one after the other, and of those that cancel each other one stays", async () => {
  const { executor, standby } = await rolesOf(pair);
  const callBoth = async (hook: { url: string }, count: number): Promise<void> => {
    const urls = [executor, standby].map(({ server }) => hook.url.replace(/^.*(?=\/webhook\/)/, server.url));
    /** A sender that got UNAVAILABLE and sends it again. */
    const send = async (index: number): Promise<number> => {
      const { status } = await post(urls[index % 2]!, { index });
      return status === 503 ? send(index) : status;
    };
    const statuses = await Promise.all(Array.from({ length: count }, (_, index) => send(index)));
    expect(new Set(statuses)).toEqual(new Set([202]));
  };
  /** In the order of their beginnings, which the audit has with their ends: a time may be that of the call which waited for its turn. */
  const runsOf = async ({ id }: { id: string }): Promise<Data[]> =>
    (
      await pair.client.query(
        `select r.status, min(a.seq) filter (where a.after = 'running')::int as began, max(a.seq) filter (where a.before <> a.after)::int as ended
           from runs r join audit a on a.run_id = r.id and a.step is null
          where r.started_by_id = $1 group by r.id order by began`,
        [decodeId("trigger", id)],
      )
    ).rows;
  const brief = await agentOf(executor, "do: [{a: {wait: {milliseconds: 20}}}]");
  const queued = await webhookOf(executor, brief, { name: "queued", policy: { overlap: "queue" } });
  await callBoth(queued, 12);
  const ran = await eventually(async () => {
    const runs = await runsOf(queued);
    return runs.every(({ status }) => status === "completed") ? runs : undefined;
  });
  expect(ran).toHaveLength(12);
  for (const [index, { ended }] of ran.slice(0, -1).entries()) expect(ran[index + 1]!["began"]).toBeGreaterThan(ended);

  const patient = await publish(executor, "patient");
  const last = await webhookOf(executor, patient, { name: "last", policy: { overlap: "cancelPrevious" } });
  await callBoth(last, 8);
  const statuses = (await runsOf(last)).map(({ status }) => status);
  expect(statuses.filter((status) => status === "cancelled")).toHaveLength(7);
  expect(statuses).toHaveLength(8);
});

test("a clock that is an hour ahead of the other's: neither takes over, and each learns what the other does", async () => {
  const { executor, standby } = await rolesOf(pair);
  await standby.server.clock.advance(3_600_000);
  const three = await publish(executor, "three");
  const oneRun = async (): Promise<void> => {
    const early = await startAt(standby, three, { input: { n: 1 } });
    expect((await until(executor, early, ...ENDED)).output).toEqual({ n: 4 });
  };
  expect(await shortest(2_000, oneRun)).toBeLessThan(2_000);
  const id = await startAt(executor, await agentOf(executor, `do: [${call("/delay/30000")}]`));
  await eventually(() => pair.sink.count(id, "post"));
  // Longer than the four looks of an election, and than both need to look for each other.
  await sleep(11_000);
  expect((await rolesOf(pair)).executor.name).toBe(executor.name);
  const cancelledAt = performance.now();
  await standby.data(CANCEL, { id });
  await eventually(() => pair.sink.summary().waiting === 0);
  expectInTime(performance.now() - cancelledAt, 10 * 1_000);
  await standby.server.clock.advance(-3_600_000);
});

/** A look every 5 s, 10 s for its answer. */
const MISSED_MS = 20_000;
const LOST: Record<string, () => Promise<void>> = {
  "is cut": async () => {
    const { rowCount } = await pair.client.query(
      "select pg_terminate_backend(pid, $1) from pg_stat_activity where query = 'listen autograph' and datname = current_database()",
      [MISSED_MS],
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
    // Who has lost its connection a moment ago opens another at its next look.
    await eventually(async () => (await listenersOf(pair)) === 2, MISSED_MS);
    await LOST[how]!();
    // Who has lost it hears nothing for a moment of what the other does.
    await executor.data(DECIDE, { input: { approvalId, decision: "approve" } });
    await standby.data(CANCEL, { id: calling });
    await Promise.race([watching, sleep(MISSED_MS)]);
    expect(seen.at(-1)).toBe("completed");
    await eventually(() => pair.sink.summary().waiting === 0, MISSED_MS);
    expect(await violations(pair.client)).toEqual([]);
  },
);
