/** The one door to a run, opened by what is no user: a trigger. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { RefusedStart } from "../execution/journal/journal.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import { leastIdOf, newId, type AgentId } from "../lib/ids.ts";
import { allOf } from "../lib/reach.ts";
import { monthOf, startOfMonth } from "../storage/partitions.ts";
import { decideApproval } from "./decide-approval.ts";
import { insertRun, newHead } from "./insert-run.ts";
import { prepareRun } from "./prepare-run.ts";
import { readRun } from "./read/read.ts";
import { call, charged, idle, meddling, openRuns, type TestRuns } from "./runs.testsuite.ts";
import { setAgentLimit } from "./set-agent-limit.ts";
import { startRun } from "./start-run.ts";

let databases: Databases;
let database: ReturnType<typeof meddling>;
let opened: TestRuns;
beforeAll(async () => {
  databases = await startDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());
beforeEach(async () => {
  database = meddling(await databases.open());
  opened = await openRuns(database);
  return async () => {
    await opened[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  };
});

const TRIGGER = { kind: "trigger", id: newId() } as const;
const SET = "do: [{one: {set: {n: '${ .n }'}}}]";

/** Acts as a trigger when it is time. `text` tells its firings apart. */
async function fire(agentId: AgentId, { runs, text }: { runs?: TestRuns["runs"]; text?: string } = {}): Promise<Head> {
  const room = runs ?? opened.runs;
  const { organizationId } = opened.caller;
  const prepared = await prepareRun(room, allOf(organizationId), { agentId, input: { n: 1 } });
  const head = newHead(room, prepared, { organizationId, startedBy: TRIGGER });
  return insertRun(room, head, { ...prepared, ...(text && { key: { organizationId, agentId, text, body: text } }) });
}

const statusOf = async ({ id, organizationId }: Head): Promise<string> =>
  (await readRun(opened.runs, allOf(organizationId), id))!.status;

test("a trigger's run is begun at once, and says who started it", async () => {
  const head = await fire(await opened.agentOf(SET));
  expect(head).toMatchObject({ startedBy: TRIGGER, epoch: 1, status: "running" });
  await eventually(async () => (await statusOf(head)) === "completed");
  expect(await readRun(opened.runs, allOf(head.organizationId), head.id)).toMatchObject({ startedBy: TRIGGER });
});

test("where no place is free it is due in the table, and taken up from there", async () => {
  const agentId = await opened.agentOf(SET);
  const held = charged(opened.runs);
  const head = await fire(agentId, {
    runs: { ...opened.runs, executions: { ...opened.runs.executions, engine: idle } },
  });
  expect(head).toMatchObject({ epoch: 0, status: "pending" });
  await eventually(async () => (await statusOf(head)) === "completed");
  await eventually(() => held() === 0);
});

test("a start that throws gives back the place and the memory that it took", async () => {
  const { runs, caller } = opened;
  const held = charged(runs);
  const prepared = await prepareRun(runs, allOf(caller.organizationId), {
    agentId: await opened.agentOf(SET),
    input: { n: 1 },
  });
  const head = newHead(runs, prepared, { organizationId: caller.organizationId, startedBy: TRIGGER });
  const broken = Object.defineProperty({}, "context", { enumerable: true, get: () => expect.fail("broken") });
  await expect(insertRun(runs, { ...head, state: broken }, prepared)).rejects.toThrow("broken");
  expect(held()).toBe(0);
  await eventually(() => runs.executions.places.taken === 0);
});

test("where its month gets a partition while it starts, it is written there", async () => {
  const agentId = await opened.agentOf(SET);
  const now = opened.runs.clock.now();
  const other = await database.dedicated();
  await other.query("begin");
  for (const table of ["runs", "steps", "attempts"])
    await other.query(`create table ${table}_${monthOf(now)} partition of ${table}
      for values from ('${leastIdOf(startOfMonth(now, 0))}') to ('${leastIdOf(startOfMonth(now, 1))}')`);
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  const fired = fire(agentId);
  await eventually(async () => (await database.query(waiting)).length > 0);
  await other.query("commit");
  await other.end();
  const head = await fired;
  await eventually(async () => (await statusOf(head)) === "completed");
  const home =
    "select tableoid::regclass::text as home from runs union select tableoid::regclass::text from steps order by 1";
  expect(await database.query(home)).toEqual([{ home: `runs_${monthOf(now)}` }, { home: `steps_${monthOf(now)}` }]);
});

test("a firing that comes twice starts one run", async () => {
  const agentId = await opened.agentOf(SET);
  await fire(agentId, { text: "at noon" });
  await expect(fire(agentId, { text: "at noon" })).rejects.toThrow(RefusedStart);
  await fire(agentId, { text: "at one" });
  expect(await database.query("select count(*)::int as count from runs")).toEqual([{ count: 2 }]);
});

test("those of an agent with a limit queue like all others", async () => {
  const agentId = await opened.agentOf("do: [{ask: {call: approval:1.0.0@default, with: {question: Now?}}}]");
  await setAgentLimit(opened.runs, opened.caller, { agentId, concurrency: 1 });
  const first = await fire(agentId);
  const second = await fire(agentId);
  await eventually(async () => (await statusOf(first)) === "paused");
  expect(await statusOf(second)).toBe("pending");
  // The next begins at the end of the one before it, without a sweep.
  const [row] = await database.query("select id from approvals where run_id = $1", [first.id]);
  await decideApproval(opened.runs, opened.caller, { approvalId: row!["id"], decision: "approve" });
  await eventually(async () => (await statusOf(second)) === "paused");
});

test("whatever becomes of the first write, the place and the memory are given back", async () => {
  const { runs, caller } = opened;
  const { places, loaded } = runs.executions;
  const agents = await Promise.all(
    [
      SET,
      `do: [${call("one")}, ${call("two")}]`,
      `do: [{both: {fork: {branches: [{pause: {wait: PT1S}}, ${call("three")}]}}}]`,
      // In a worker: the start is not held up, and its answer comes before that of the expression.
      "do: [{slow: {set: {n: '${ [range(200000)] | length }'}}}]",
    ].map((body) => opened.agentOf(body)),
  );
  const held = charged(runs);
  const room = places.room(caller.organizationId);
  let writes = 0;
  database.meddle = (name) =>
    name.startsWith("write_") ? (["refuse", undefined, "lose"] as const)[writes++ % 3] : undefined;
  const starts = Array.from({ length: 40 }, async (_, index) => {
    // In several writes.
    await new Promise((resolve) => setTimeout(resolve, index * 5));
    const request = { agentId: agents[index % 4]!, input: { n: index }, ...(index % 3 === 0 && { waitSeconds: 1 }) };
    return startRun(runs, caller, request).then(
      () => "begun",
      () => "failed",
    );
  });
  expect(new Set(await Promise.all(starts))).toEqual(new Set(["begun", "failed"]));
  database.meddle = undefined;
  const open = "select id from runs where status <> 'completed'";
  await eventually(async () => (await database.query(open)).length === 0);
  await eventually(() => loaded.size === 0 && held() === 0);
  await eventually(() => places.room(caller.organizationId) === room);
});

test("what its first stretch throws while the start is being written is heard, and the run goes on", async () => {
  const { tasks, loaded } = opened.runs.executions;
  const { set } = tasks;
  let calls = 0;
  const flawed: typeof set = (...of) => {
    if (calls++ === 0) throw new TypeError("an internal error");
    return set(...of);
  };
  Object.assign(tasks, { set: flawed });
  const agentId = await opened.agentOf(SET);
  const held = Promise.withResolvers<void>();
  database.meddle = (name) => (name.startsWith("write_") ? held.promise : undefined);
  const starting = fire(agentId);
  await eventually(() => calls === 1 && loaded.size === 0);
  // Long enough for a rejection that nobody hears, which ends a process.
  await new Promise((resolve) => setTimeout(resolve, 50));
  database.meddle = undefined;
  held.resolve();
  const head = await starting;
  await eventually(async () => (await statusOf(head)) === "completed");
  expect(calls).toBe(2);
});
