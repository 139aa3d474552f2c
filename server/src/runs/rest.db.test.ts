/** A large run stays in memory while all of it waits: what that saves it from reading, and for whom it leaves. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { testClock } from "../../../test/clock.ts";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import type { ApprovalId, RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { allOf } from "../lib/reach.ts";
import { cancelRun } from "./cancel-run.ts";
import { decideApproval } from "./decide-approval.ts";
import { readRun } from "./read/read.ts";
import { noting, openRuns } from "./runs.testsuite.ts";
import { startRun } from "./start-run.ts";

let databases: Databases;
beforeAll(async () => {
  databases = await startDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

async function open() {
  await using stack = new AsyncDisposableStack();
  const plain = stack.use(await databases.open());
  const database = noting(plain);
  const clock = testClock(Date.now());
  const opened = stack.use(await openRuns(database, { clock }));
  const { runs, caller } = opened;
  const { organizationId } = caller;
  const owned = stack.move();
  return {
    ...opened,
    clock,
    organizationId,
    async start(tasks: string): Promise<RunId> {
      const agentId = await opened.agentOf(tasks);
      return (await startRun(runs, caller, { agentId, input: {} })).run.id;
    },
    status: async (id: RunId) => (await readRun(runs, allOf(organizationId), id))!.status,
    /** It knows that it is paused: from then on it looks whether it may stay. */
    rests: (id: RunId) => eventually(() => runs.executions.loaded.get(id)?.journal.committed.status === "paused"),
    isUnloaded: async (id: RunId): Promise<boolean> =>
      (await plain.query("select 1 from runs where id = $1 and owner is null", [id])).length === 1,
    openApprovals: async (id: RunId): Promise<ApprovalId[]> =>
      (await plain.query("select id from approvals where run_id = $1 and status = 'open'", [id])).map(
        (row) => row["id"],
      ),
    /** Journal rows read so far. */
    journalRows: (): number =>
      database.noted
        .filter(({ text }) => text.includes("octet_length(state::text)"))
        .reduce((sum, { rows }) => sum + rows, 0),
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

const COUNT = 121;
/** 121 approvals at once. */
const ASKS = `do: [{ask: {call: 'each:1.0.0@default', with: {in: '[range(11)]', concurrency: 11, do: [{more: {call: 'each:1.0.0@default',
  with: {in: '[range(11)]', concurrency: 11, do: [{one: {call: 'approval:1.0.0@default', with: {question: Well?}}}]}}}]}}}]`;

test("250 waits of two seconds in a row read 5,000 rows of steps, not 31,000", async () => {
  await using opened = await open();
  const { clock } = opened;
  const id = await opened.start("do: [{loop: {for: {in: '${ [range(250)] }'}, do: [{nap: {wait: PT2S}}]}}]");
  while ((await opened.status(id)) !== "completed") {
    clock.pass(2_000);
    await sleep(5);
  }
  // 95 of them until the run is large enough.
  expect(opened.journalRows()).toBeLessThan(7_000);
});

test("a run that stays is paused for all to see, and goes on with each decision without reading itself again", async () => {
  await using opened = await open();
  const { runs, caller } = opened;
  const id = await opened.start(ASKS);
  await eventually(async () => (await opened.status(id)) === "paused");
  expect(await opened.isUnloaded(id)).toBe(false);
  const approvals = await opened.openApprovals(id);
  expect(approvals).toHaveLength(COUNT);
  for (const approvalId of approvals) await decideApproval(runs, caller, { approvalId, decision: "approve" });
  await eventually(async () => (await opened.status(id)) === "completed");
  expect(opened.journalRows()).toBe(0);
});

test("it leaves when its time is over: two seconds for each 100 kB", async () => {
  await using opened = await open();
  const id = await opened.start(ASKS);
  await opened.rests(id);
  opened.clock.pass(2_000);
  await sleep(100);
  expect(await opened.isUnloaded(id)).toBe(false);
  opened.clock.pass(4_000);
  await eventually(() => opened.isUnloaded(id));
  expect(await opened.status(id)).toBe("paused");
});

test("after 300 s, however large it is", async () => {
  await using opened = await open();
  const text = "x".repeat(600_000);
  const agentId = await opened.agentOf(
    "do: [{loop: {for: {in: '${ [range(40)] }'}, do: [{one: {set: {text: '${ $workflow.input.text }'}}}]}}, {ask: {call: 'approval:1.0.0@default', with: {question: Well?}}}]",
  );
  const { run } = await startRun(opened.runs, opened.caller, { agentId, input: { text } });
  await opened.rests(run.id);
  opened.clock.pass((LIMITS.restSeconds - 1) * 1_000);
  await sleep(100);
  expect(await opened.isUnloaded(run.id)).toBe(false);
  opened.clock.pass(2_000);
  await eventually(() => opened.isUnloaded(run.id));
});

test("a wait of a second is sat out in memory, a longer one is not", async () => {
  await using opened = await open();
  const wait = (ms: number): Promise<RunId> => opened.start(`do: [{nap: {wait: {milliseconds: ${ms}}}}]`);
  const short = await wait(LIMITS.waitInMemoryMs);
  const long = await wait(LIMITS.waitInMemoryMs + 1);
  await eventually(() => opened.isUnloaded(long));
  expect(await opened.isUnloaded(short)).toBe(false);
  opened.clock.pass(LIMITS.waitInMemoryMs + 1);
  for (const id of [short, long]) await eventually(async () => (await opened.status(id)) === "completed");
});

test("it leaves within 250 ms when its place is wanted, and when its memory is", async () => {
  await using opened = await open();
  const { runs, organizationId, clock } = opened;
  const one = await opened.start(ASKS);
  await opened.rests(one);
  runs.executions.places.wait(organizationId);
  clock.pass(250);
  await eventually(() => opened.isUnloaded(one));
  runs.executions.places.leave(organizationId);

  const other = await opened.start(ASKS);
  await opened.rests(other);
  const most = runs.executions.memory.most;
  using all = runs.executions.memory.open(undefined);
  all.tryHold(most);
  using charge = runs.executions.memory.open(organizationId);
  const wanted = new AbortController();
  const held = charge.hold(most, wanted.signal);
  expect(runs.executions.memory.isWanted).toBe(true);
  clock.pass(250);
  await eventually(() => opened.isUnloaded(other));
  wanted.abort();
  await held;
});

test("a cancel ends it where it stays", async () => {
  await using opened = await open();
  const id = await opened.start(ASKS);
  await eventually(async () => (await opened.status(id)) === "paused");
  await cancelRun(opened.runs, allOf(opened.organizationId), id);
  await eventually(() => opened.runs.executions.loaded.size === 0);
  expect(await opened.status(id)).toBe("cancelled");
  expect(await opened.openApprovals(id)).toEqual([]);
});
