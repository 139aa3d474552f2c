/** Subscribers see every state in order, the last one always, nothing twice, and nothing that the table of states forbids. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { RUN_TRANSITIONS } from "../server/src/execution/run/states.ts";
import { publish, start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { agentOf, CANCEL, decide, ENDED, readRun } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const UPDATED = "subscription($id: ID!) { runUpdated(runId: $id) { id status currentStep progress revision } }";
const EVENTS = `subscription($id: ID!, $after: Int) { runEvents(runId: $id, after: $after) {
  revision run { status revision output progress } step { number name status output attempts { number } } } }`;

/** Until the end; `begun` is called with the first. */
async function updatesOf(id: string, begun = () => {}): Promise<Data[]> {
  const updates: Data[] = [];
  for await (const { data } of server.watch(UPDATED, { id })) {
    updates.push(data.runUpdated);
    begun();
  }
  return updates;
}

/** Reads until `enough` says so, then leaves; all of them without it. */
async function eventsOf(id: string, after = 0, enough: (event: Data) => boolean = () => false): Promise<Data[]> {
  const events: Data[] = [];
  for await (const { data } of server.watch(EVENTS, { id, after })) {
    events.push(data.runEvents);
    if (enough(data.runEvents)) break;
  }
  return events;
}

function expectInOrder(updates: Data[]): void {
  for (const [index, { status, revision, progress }] of updates.entries()) {
    if (index === 0) continue;
    const before = updates[index - 1];
    expect(revision).toBeGreaterThan(before.revision);
    expect(progress).toBeGreaterThanOrEqual(before.progress);
    // States between two updates were not sent; a final state is the last.
    expect(ENDED).not.toContain(before.status);
    expect(RUN_TRANSITIONS).toHaveProperty(status);
  }
  expect(ENDED).toContain(updates.at(-1).status);
}

test("a hundred subscribers all get the final state, in order, and their streams end", async () => {
  const agent = await agentOf(
    server,
    "do: [{loop: {for: {in: '${ [range(15)] }'}, do: [{pause: {wait: {milliseconds: 40}}}]}}]",
  );
  const ids = await Promise.all(Array.from({ length: 4 }, () => start(server, agent)));
  const all = await Promise.all(Array.from({ length: 100 }, (_, index) => updatesOf(ids[index % 4]!)));
  for (const updates of all) {
    expectInOrder(updates);
    expect(updates.at(-1)).toMatchObject({ status: "completed", progress: 100 });
  }
});

test("runEvents has each revision at most once and in order, each change of state as the table has it", async () => {
  const id = await start(
    server,
    await agentOf(
      server,
      `
do:
  - one: {set: {a: 1}}
  - rest: {wait: {hours: 1}}
  - ask: {call: approval:1.0.0@default, with: {question: Now?}}
  - attempt: {try: [{fail: {if: '\${ $task.attempt < 3 }', raise: {error: {type: 'https://example.org/x', status: 500}}}}], catch: {retry: {limit: {attempt: {count: 3}}}}}
`,
    ),
  );
  const resting = Promise.withResolvers<void>();
  const watching = eventsOf(id, 0, ({ step }) => (step?.name === "rest" && resting.resolve(), false));
  // A later subscriber gets everything as it is then.
  await resting.promise;
  await server.clock.advance(3_600_000);
  await decide(server, id, "approve");
  const events = await watching;
  const revisions = events.map(({ revision }) => revision);
  expect(revisions).toEqual([...new Set(revisions)].toSorted((x, y) => x - y));
  // The run as the decision left it may have changed again before it was read.
  const missing = Array.from({ length: revisions.at(-1)! }, (_, index) => index + 1).filter(
    (revision) => !revisions.includes(revision),
  );
  const paused = events.findLast(({ run }) => run?.status === "paused")!.revision;
  expect([[], [paused + 1]]).toContainEqual(missing);
  const told = events.filter(({ run }) => run);
  const states = told.map(({ run }) => run.status);
  for (const [index, { revision }] of told.entries()) {
    const [before, state] = [states[index - 1], states[index]];
    const isTold = !missing.some((one) => one > (told[index - 1]?.revision ?? 0) && one < revision);
    if (isTold && before !== undefined && before !== state)
      expect(RUN_TRANSITIONS[before as keyof typeof RUN_TRANSITIONS]).toContain(state);
  }
  expect(states).toContain("paused");
  expect(states.at(-1)).toBe("completed");
  const last = new Map(events.flatMap(({ step }) => (step ? [[step.number, step.status]] : [])));
  expect(Object.fromEntries(last)).toEqual({
    1: "completed",
    2: "completed",
    3: "completed",
    4: "completed",
    5: "skipped",
  });
});

test("a client that comes back with `after` misses no final state and sees nothing twice", async () => {
  const agent = await agentOf(
    server,
    "do: [{loop: {for: {in: '${ [range(20)] }'}, do: [{pause: {wait: {milliseconds: 30}}}]}}]",
  );
  const id = await start(server, agent);
  let after = 0;
  const seen: Data[] = [];
  for (let visits = 0; visits < 8; visits++) {
    let count = 0;
    const events = await eventsOf(id, after, () => ++count === 3);
    seen.push(...events);
    after = events.at(-1)?.revision ?? after;
  }
  seen.push(...(await eventsOf(id, after)));
  for (const [index, { revision }] of seen.entries())
    if (index > 0) expect(revision).toBeGreaterThan(seen[index - 1].revision);
  expect(seen.at(-1).run).toMatchObject({ status: "completed" });
  const final = new Map(seen.flatMap(({ step }) => (step ? [[step.number, step.status]] : [])));
  expect(final.size).toBe(21);
  expect(new Set(final.values())).toEqual(new Set(["completed"]));
  const { revision } = await readRun(server, id);
  expect(await eventsOf(id, revision)).toEqual([]);
  expect(await eventsOf(id, revision + 1_000)).toEqual([]);
  // In its present state each, as it was after the end.
  const whole = await eventsOf(id);
  expect(whole.map(({ step, run }) => step?.status ?? run.status)).toEqual(Array(22).fill("completed"));
});

test("over a kill: a client that comes back sees the rest", async () => {
  const id = await start(server, await agentOf(server, "do: [{one: {wait: {hours: 1}}}, {two: {set: {a: 1}}}]"));
  const before = await eventsOf(id, 0, ({ step }) => step?.status === "running");
  await server.kill();
  await server.restart();
  await server.clock.advance(3_600_000);
  const rest = await eventsOf(id, before.at(-1)!.revision);
  expect(rest.flatMap(({ step }) => (step ? [`${step.name} ${step.status}`] : []))).toEqual(
    expect.arrayContaining(["one completed", "two completed"]),
  );
  expect(rest.at(-1)!.run).toMatchObject({ status: "completed", output: { a: 1 } });
});

test("a cancel reaches every watcher with its steps", async () => {
  const id = await start(server, await publish(server, "patient"));
  await eventually(async () => (await readRun(server, id)).steps.length === 1);
  const updating = Promise.withResolvers<void>();
  const telling = Promise.withResolvers<void>();
  const watching = [
    updatesOf(id, updating.resolve),
    eventsOf(id, 0, ({ run }) => (run && telling.resolve(), false)),
  ] as const;
  // A run that is cancelled before it is watched is shown as it is then.
  await Promise.all([updating.promise, telling.promise]);
  await server.data(CANCEL, { id });
  const [updates, events] = await Promise.all(watching);
  expect(updates.at(-1)).toMatchObject({ status: "cancelled" });
  expect(events.at(-1)!.run.status).toBe("cancelled");
  expect(events.findLast(({ step }) => step)!.step).toMatchObject({ number: 1, status: "cancelled" });
  const revisions = events.map(({ revision }) => revision);
  expect(revisions).toEqual(revisions.map((_, index) => revisions[0]! + index));
});

test("2,500 steps are read in pages: each once, in the order of revisions, the run's end behind them", async () => {
  const id = await start(
    server,
    await agentOf(server, "do: [{loop: {for: {in: '${ [range(2500)] }'}, do: [{one: {set: {n: '${ $item }'}}}]}}]"),
  );
  await eventually(async () => (await readRun(server, id)).status === "completed");
  const events = await eventsOf(id);
  const revisions = events.map(({ revision }) => revision);
  expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
  const numbers = events.flatMap(({ step }) => (step ? [step.number] : []));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2_501 }, (_, index) => index + 1));
  expect(events.at(-1).run.status).toBe("completed");
  const middle = revisions[1_700]!;
  expect(await eventsOf(id, middle)).toEqual(events.filter(({ revision }) => revision > middle));
});
