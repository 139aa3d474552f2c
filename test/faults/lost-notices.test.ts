/** Two processes on one database: what subscribers of one are told of the other's work, also when its word was lost. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "../agents.ts";
import { eventually, type Data } from "../client.ts";
import { eventTriggerOf, firingsOfEvent, publishEvent } from "../published-events.ts";
import { agentOf, CANCEL, decide, ENDED, until } from "../runs.ts";
import { callTask, listenersOf, makeExecutor, rolesOf, startAt, startPair, type Named, type Pair } from "./pair.ts";

let pair: Pair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair[Symbol.asyncDispose]());

/** A look every 5 s, 10 s for its answer; or three looks in which the other says nothing. */
const MISSED_MS = 20_000;

type Watched = { sent: Data[]; refused: Data[] | undefined; isOver: boolean };

/** Collects what a subscription at this one sends. */
function watched(at: Named, query: string, variables: object = {}): Watched {
  const of: Watched = { sent: [], refused: undefined, isOver: false };
  void (async () => {
    for await (const { data, errors } of at.server.watch(query, { ...variables }, pair.token)) {
      if (errors) of.refused = errors;
      else of.sent.push(Object.values(data)[0]);
    }
    of.isOver = true;
  })().catch(() => {});
  return of;
}

const BADGES = "subscription { badgesChanged { openRuns openApprovals } }";
const AGENTS = "subscription { agentsChanged { id handle status draft { revision } } }";
const RUNS = "subscription { runsChanged { id status } }";
const APPROVALS = "subscription { approvalsChanged { id status } }";
const badges = async (at: Named): Promise<Data> => (await at.data("{ badges { openRuns openApprovals } }")).badges;
const SAVE = "mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }";
const ASK = "do: [{ask: {call: approval:1.0.0@default, with: {question: Really?}}}]";

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const definition = (name: string): string =>
  `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '1.0.0'}\ndo: [{a: {set: {a: 1}}}]\n`;

/** Subscriptions at this one that are open: each was told of what is asked for at `there`, again and again, until then. */
async function opened(at: Named, queries: string[], there: Named): Promise<Watched[]> {
  for (;;) {
    const all = queries.map((query) => watched(at, query));
    await eventually(async () => {
      await there.data(CANCEL, { id: await asking(there) });
      return all.every(({ sent, refused }) => sent.length > 0 || refused);
    }, MISSED_MS);
    // If it had heard of the changes of the test before, it would say nothing about those that are missed now.
    if (all.every(({ refused }) => !refused)) return all;
  }
}

async function asking(at: Named): Promise<string> {
  const id = await startAt(at, await agentOf(at, ASK));
  await until(at, id, "paused");
  return id;
}

test("badges, agents, runs and approvals at either: what the other does", async () => {
  const { executor, standby } = await rolesOf(pair);
  for (const [here, there] of [
    [standby, executor],
    [executor, standby],
  ] as const) {
    const [counted, agents, runs, approvals] = (await opened(here, [BADGES, AGENTS, RUNS, APPROVALS], there)) as [
      Watched,
      Watched,
      Watched,
      Watched,
    ];
    const before = await badges(there);
    await eventually(() => same(counted.sent.at(-1), before));
    const handle = `made-at-${there.name}`;
    await there.data(SAVE, { input: { definition: definition(handle) } });
    await eventually(() => agents.sent.some((agent) => agent.handle === handle && agent.draft.revision === 1));
    const id = await asking(there);
    const open = { openRuns: before.openRuns + 1, openApprovals: before.openApprovals + 1 };
    await eventually(() => same(counted.sent.at(-1), open));
    await eventually(() => approvals.sent.at(-1).status === "open");
    expect((await decide(there, id, "approve")).errors).toBeUndefined();
    await eventually(() => same(counted.sent.at(-1), before));
    await eventually(() => runs.sent.findLast((run) => run.id === id)?.status === "completed");
    await eventually(() => approvals.sent.at(-1).status === "approved");
  }
});

test("changes missed while no notice came: the numbers are right again, and a watcher that cannot know what changed is told so", async () => {
  const { executor, standby } = await rolesOf(pair);
  await listening();
  const [counted, ...others] = (await opened(standby, [BADGES, AGENTS, RUNS, APPROVALS], standby)) as [
    Watched,
    ...Watched[],
  ];
  expect(await endListening(standby)).toBe(1);
  await executor.data(SAVE, { input: { definition: definition("unheard") } });
  const id = await asking(executor);
  const open = await badges(executor);
  await eventually(() => others.every(({ refused }) => refused), MISSED_MS);
  for (const { refused } of others)
    expect(refused).toMatchObject([{ extensions: { code: "UNAVAILABLE", retryAfter: 1 } }]);
  await eventually(() => same(counted.sent.at(-1), open), MISSED_MS);
  await executor.data(CANCEL, { id });
});

test("a trigger of which no word came: the first event at the other fires it", async () => {
  const { executor, standby } = await rolesOf(pair);
  const echo = await publish(executor, "echo");
  for (const [maker, other] of [
    [standby, executor],
    [executor, standby],
  ] as const) {
    const source = `unheard of ${maker.name}`;
    const send = async (id: string): Promise<string> =>
      (await publishEvent(other, { source, event: "paid", id, data: {} })).data.publishEvent.id;
    // In memory there: nobody listens.
    expect(await firingsOfEvent(other, await send("before"))).toEqual([]);
    await listening();
    expect(await endListening(other)).toBe(1);
    const trigger = await eventTriggerOf(maker, echo, { source, event: "paid" });
    const id = await send("after");
    const fired = await eventually(async () => (await firingsOfEvent(other, id))[0], MISSED_MS);
    expect(fired).toMatchObject({ outcome: "started", trigger: { id: trigger.id } });
  }
});

/** Both listen: who has lost its connection opens another at its next look. */
const listening = (): Promise<unknown> => eventually(async () => (await listenersOf(pair)) === 2, MISSED_MS);

async function endListening({ name }: Named): Promise<number | null> {
  const { rowCount } = await pair.client.query(
    "select pg_terminate_backend(pid, $2) from pg_stat_activity where query = 'listen autograph' and application_name = $1",
    [name, MISSED_MS],
  );
  return rowCount;
}

test("a process that dies before it has told of its last commits: the other's subscribers see them all the same", async () => {
  // Who executes must be behind the proxy.
  await makeExecutor(pair, "a");
  const { executor, standby } = await rolesOf(pair);
  await listening();
  const [runs] = (await opened(standby, [RUNS], executor)) as [Watched];
  const call = await agentOf(executor, `do: [${callTask(pair.sink, "/hold")}]`);
  const id = await startAt(executor, call);
  await eventually(() => pair.sink.count(id, "post"));
  const run = watched(standby, "subscription($id: ID!) { runUpdated(runId: $id) { status } }", { id });
  await eventually(() => same(run.sent.at(-1), { status: "running" }));
  pair.proxy.freezeAt("pg_notify");
  pair.sink.letGo();
  await until(standby, id, ...ENDED);
  await executor.server.kill();
  expect(run.sent.at(-1)).toEqual({ status: "running" });
  await eventually(() => run.isOver && runs.refused, 1.5 * MISSED_MS);
  expect(run.sent.at(-1)).toEqual({ status: "completed" });
});
