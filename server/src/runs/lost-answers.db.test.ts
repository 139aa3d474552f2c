/** A commit whose answer is lost or late: the run continues from what is there, and its watchers see it. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import type { Engine } from "../engine/engine.ts";
import type { ClaimedRun } from "../execution/journal/claimed-run.ts";
import type { Run } from "../execution/run/run.ts";
import type { RunId } from "../lib/ids.ts";
import { allOf } from "../lib/reach.ts";
import { readRun } from "./read/read.ts";
import { call, meddling, openRuns, type Answer, type TestRuns } from "./runs.testsuite.ts";
import { startRun } from "./start-run.ts";
import { watchRuns } from "./watch/watch-changes.ts";
import { watchRunEvents, type RunEvent } from "./watch/watch-run-events.ts";
import { watchRun } from "./watch/watch-run.ts";

let databases: Databases;
beforeAll(async () => {
  databases = await startDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

let stack = new AsyncDisposableStack();
afterEach(async () => {
  const before = stack;
  stack = new AsyncDisposableStack();
  await before.disposeAsync();
});

type Opened = TestRuns & { database: ReturnType<typeof meddling> };

async function open(options: { answer?: Answer; engine?: Engine<ClaimedRun> } = {}): Promise<Opened> {
  const database = meddling(stack.use(await databases.open()));
  return { ...stack.use(await openRuns(database, options)), database };
}

/** Loses the answer of the next write, or of one after it. */
function loseOne(database: Opened["database"], after = 0): void {
  let left = after;
  database.meddle = (name) => {
    if (!name.startsWith("write_") || left-- > 0) return undefined;
    database.meddle = undefined;
    return "lose";
  };
}

const idOf = async (opened: Opened, body: string): Promise<RunId> => {
  const { run } = await startRun(opened.runs, opened.caller, { agentId: await opened.agentOf(body), input: {} });
  return run.id;
};

test("of the end: who watches gets the final state all the same", async () => {
  const opened = await open();
  // The run stays in memory during the wait: the write after its start is its end.
  loseOne(opened.database, 1);
  const id = await idOf(opened, "do: [{pause: {wait: {milliseconds: 200}}}, {last: {set: {a: 1}}}]");
  const watching = await watchRun(opened.runs, opened.caller, id, new AbortController().signal);
  const seen = await Array.fromAsync(watching);
  expect(opened.database.meddle).toBe(undefined);
  expect(JSON.parse(JSON.stringify(seen.at(-1)))).toMatchObject({ status: "completed", output: { a: 1 } });
});

test("of the end: who watches all runs gets the final state, too", async () => {
  const opened = await open();
  const { runs, caller } = opened;
  loseOne(opened.database, 1);
  const id = await idOf(opened, "do: [{pause: {wait: {milliseconds: 200}}}, {last: {set: {a: 1}}}]");
  const leaving = new AbortController();
  const watching = watchRuns(runs, caller, {}, leaving.signal);
  const timer = setTimeout(() => leaving.abort(), 60_000);
  const seen: Run[] = [];
  for await (const run of watching) {
    seen.push(run);
    if (run.id === id && run.status === "completed") break;
  }
  clearTimeout(timer);
  expect(opened.database.meddle).toBe(undefined);
  expect(seen.map(({ status }) => status)).toEqual(["completed"]);
});

test("in the middle: the run goes on, nothing done is done again, and the watchers miss no step's end", async () => {
  const answered = Promise.withResolvers<null>();
  const opened = await open({ answer: (body) => (body === "one" ? answered.promise : null) });
  const id = await idOf(opened, `do: [${call("one")}, ${call("two")}, ${call("three")}]`);
  const { organizationId } = opened.caller;
  const events: RunEvent[] = [];
  const watching = await watchRunEvents(
    opened.runs,
    allOf(organizationId),
    { runId: id, after: 0, withTexts: false },
    new AbortController().signal,
  );
  const watched = (async () => {
    for await (const event of watching) events.push(event);
  })();
  await eventually(() => events.length === 2);
  // The commit that ends `one` and begins `two`.
  loseOne(opened.database);
  answered.resolve(null);
  await watched;
  expect(events.at(-1)!.run).toMatchObject({ status: "completed" });
  const ends = events.flatMap(({ step }) => (step?.status === "completed" ? [step.name] : []));
  expect(ends).toEqual(["one", "two", "three"]);
  // `two` was written as begun but never called: what looks like a repeat is the first call.
  expect(opened.calls).toEqual(["one", "two", "three"]);
});

test("of a watcher's first look: a run that ends meanwhile is told of all the same", async () => {
  const answered = Promise.withResolvers<null>();
  const opened = await open({ answer: () => answered.promise });
  const id = await idOf(opened, `do: [${call("one")}, {last: {set: {a: 1}}}]`);
  const within = allOf(opened.caller.organizationId);
  const runNow = async (): Promise<Run> => (await readRun(opened.runs, within, id))!;
  await eventually(() => opened.calls.length === 1);
  opened.database.meddle = (name) => {
    if (!name.startsWith("steps_after_")) return undefined;
    opened.database.meddle = undefined;
    return async () => {
      answered.resolve(null);
      await eventually(async () => (await runNow()).status === "completed");
    };
  };
  const { revision } = await runNow();
  const events: RunEvent[] = [];
  const watching = await watchRunEvents(
    opened.runs,
    within,
    { runId: id, after: revision, withTexts: false },
    new AbortController().signal,
  );
  for await (const event of watching) events.push(event);
  expect(opened.database.meddle).toBe(undefined);
  expect(events.at(-1)?.run).toMatchObject({ status: "completed" });
  expect(events.flatMap(({ step }) => step?.name ?? [])).toEqual(["one", "last"]);
});

test("of the start: the caller hears that it is not known, the run goes on", async () => {
  const opened = await open();
  const agentId = await opened.agentOf("do: [{pause: {wait: PT1.2S}}, {last: {set: {a: 1}}}]");
  loseOne(opened.database);
  await expect(startRun(opened.runs, opened.caller, { agentId, input: {} })).rejects.toThrow(/terminated/);
  const [row] = await opened.database.query("select id, organization_id from runs");
  await eventually(
    async () => (await readRun(opened.runs, allOf(row!["organization_id"]), row!["id"]))?.status === "completed",
  );
});

test("a start that takes longer than its `wait`, and then fails, breaks nothing", async () => {
  const opened = await open();
  const agentId = await opened.agentOf("do: [{last: {set: {a: 1}}}]");
  opened.database.meddle = (name) =>
    name.startsWith("write_")
      ? new Promise((_, reject) => setTimeout(reject, 1_500, new Error("Connection terminated unexpectedly")))
      : undefined;
  const starting = startRun(opened.runs, opened.caller, { agentId, input: {}, waitSeconds: 1 });
  await expect(starting).rejects.toThrow(/terminated/);
  opened.database.meddle = (name) =>
    name.startsWith("write_") ? new Promise((resolve) => setTimeout(resolve, 1_500)) : undefined;
  const { run } = await startRun(opened.runs, opened.caller, { agentId, input: {}, waitSeconds: 1 });
  expect(JSON.parse(JSON.stringify(run))).toMatchObject({ status: "completed", output: { a: 1 } });
});

test("a run that the engine finds before its start's answer has come is not begun twice", async () => {
  const opened = await open();
  const { database, runs } = opened;
  const { organizationId } = opened.caller;
  const agentId = await opened.agentOf(`do: [${call("one")}]`);
  const held = Promise.withResolvers<void>();
  database.meddle = (name) => (name.startsWith("write_") ? held.promise : undefined);
  const starting = startRun(runs, opened.caller, { agentId, input: {} });
  const { id } = await eventually(async () => (await database.query("select id from runs"))[0]);
  // As a sweep does when it finds a run that this process holds.
  runs.engine.wake(id, { organizationId });
  await new Promise((resolve) => setTimeout(resolve, 100));
  database.meddle = undefined;
  held.resolve();
  await starting;
  await eventually(async () => (await readRun(runs, allOf(organizationId), id))!.status === "completed");
  expect(opened.calls).toEqual(["one"]);
  expect(await database.query("select epoch from runs")).toEqual([{ epoch: 1 }]);
});
