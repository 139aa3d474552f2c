/** The next start finishes what a crash left undone between a run's end and its relatives. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { testClock } from "../../../test/clock.ts";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import type { RunId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import { cancelRun } from "./cancel-run.ts";
import { mendFamilies } from "./families.ts";
import { readRun } from "./read/read.ts";
import type { Runs } from "./handle/runs.ts";
import { idle, openRuns } from "./runs.testsuite.ts";
import { startRun } from "./start-run.ts";
import { sweepRuns } from "./sweep-runs.ts";

const HOUR_MS = 3_600_000;

let databases: Databases;
beforeAll(async () => {
  databases = await startDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

type Family = { parent: RunId; child: RunId };

async function openFamilies(database: Database) {
  const opened = await openRuns(database);
  const { runs, caller } = opened;
  await opened.agentOf("do: [{pause: {wait: PT1H}}]");
  const agentId = await opened.agentOf(
    "do: [{child: {run: {workflow: {namespace: shop, name: agent-1, version: '1.0.0'}}}}]",
  );
  return {
    runs,
    caller,
    /** Returns when both have begun and wait. */
    async family(): Promise<Family> {
      const { run } = await startRun(runs, caller, { agentId, input: {} });
      const waiting = "owner is null and current_step is not null";
      const child = await eventually(
        async () => (await database.query(`select id from runs where parent_run_id = $1 and ${waiting}`, [run.id]))[0],
      );
      await eventually(
        async () => (await database.query(`select id from runs where id = $1 and ${waiting}`, [run.id])).length === 1,
      );
      return { parent: run.id, child: child["id"] };
    },
    /** Ends the child without telling its parent. */
    async endChild({ child }: Family, at: number): Promise<void> {
      await database.query(
        "update runs set status = 'completed', output = '{}', finished_at = $2, wake_at = null where id = $1",
        [child, new Date(at)],
      );
    },
    statusOf: async (id: RunId): Promise<string | undefined> => (await readRun(runs, caller, id))?.status,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

test("a parent whose child has ended goes on; a child whose parent was cancelled is cancelled", async () => {
  await using database = await databases.open();
  await using opened = await openFamilies(database);
  const { runs, caller, family, statusOf } = opened;
  const ended = await family();
  await opened.endChild(ended, Date.now());
  const left = await family();
  await database.query(
    `update runs set status = 'cancelled', cancelled_at = now(), finished_at = now(), wake_at = null, epoch = epoch + 1
      where id = $1`,
    [left.parent],
  );
  await database.query("update steps set status = 'cancelled', finished_at = now() where run_id = $1", [left.parent]);
  await mendFamilies(runs, new Date(0));
  await eventually(async () => (await statusOf(ended.parent)) === "completed");
  expect(await statusOf(left.child)).toBe("cancelled");

  const whole = await family();
  await cancelRun(runs, caller, whole.parent);
  expect(await statusOf(whole.child)).toBe("cancelled");
});

test("also when it ended long ago, and no process since has lived long enough to say so", async () => {
  await using database = await databases.open();
  await using opened = await openFamilies(database);
  const { runs } = opened;
  const now = runs.clock.now();
  const ended = await opened.family();
  await opened.endChild(ended, now - 3 * HOUR_MS);
  await database.query("update mended set at = $1", [new Date(now - 4 * HOUR_MS)]);
  await using _sweep = sweepRuns(runs);
  await eventually(async () => (await opened.statusOf(ended.parent)) === "completed");
  const moved = "select at >= $1 as moved from mended";
  await eventually(async () => (await database.query(moved, [new Date(now)]))[0]?.["moved"] === true);
});

test("also when its end bears a time before the last look, as one does that was committed after it", async () => {
  await using database = await databases.open();
  await using opened = await openFamilies(database);
  const { runs } = opened;
  const now = runs.clock.now();
  const ended = await opened.family();
  await opened.endChild(ended, now - 30_000);
  await database.query("insert into mended (at) values ($1) on conflict (singleton) do update set at = $1", [
    new Date(now),
  ]);
  await using _sweep = sweepRuns(runs);
  await eventually(async () => (await opened.statusOf(ended.parent)) === "completed");
});

test("it is done again at the next sweep after an error and in a new term, else once a minute", async () => {
  await using database = await databases.open();
  await using opened = await openRuns(database);
  const clock = testClock();
  const engine = { ...idle, executing: true };
  let looks = 0;
  let isAway = false;
  const query: Runs["database"]["query"] = async (text, ...more) => {
    if (text.includes("children as materialized") && ++looks && isAway) throw new Error("Connection terminated");
    return database.query(text, ...more);
  };
  const runs: Runs = { ...opened.runs, clock, engine, database: { ...database, query } };
  await using _sweep = sweepRuns(runs);
  await eventually(() => looks === 1);
  /** So many by then, and no more a moment later. */
  const pass = async (ms: number, wanted: number): Promise<void> => {
    clock.pass(ms);
    await eventually(() => looks >= wanted);
    await sleep(200);
    expect(looks).toBe(wanted);
  };
  await pass(5_000, 1);
  // As after an answer that was lost.
  runs.mended = false;
  isAway = true;
  await pass(5_000, 2);
  isAway = false;
  await pass(5_000, 3);
  await pass(5_000, 3);
  engine.executing = false;
  await pass(5_000, 3);
  await eventually(() => !runs.mended);
  engine.executing = true;
  await pass(5_000, 4);
  clock.pass(60_000);
  await eventually(() => looks > 4);
});

test("a step whose state no PostgreSQL operator on JSON can read keeps no other family from being mended", async () => {
  await using database = await databases.open();
  await using opened = await openFamilies(database);
  const { runs, family, statusOf } = opened;
  const [one, two] = [await family(), await family()];
  // As a task with `input.from` keeps it: its value comes before the child's id.
  await database.query(
    `update steps set state = ('{"taskInput":{"a":"\\u0000\\ud800"},' || substr(state::text, 2))::json where run_id = $1`,
    [one.parent],
  );
  await database.query("update steps set status = 'cancelled', finished_at = now() where run_id = $1", [two.parent]);
  await mendFamilies(runs, new Date(0));
  expect(await statusOf(two.child)).toBe("cancelled");
  expect(await statusOf(one.child)).toBe("running");
});
