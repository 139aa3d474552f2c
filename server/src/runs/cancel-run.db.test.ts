/** A cancel and what it costs: nothing is interrupted before its commit, and 9,900 open steps are closed at once. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases, type Databases } from "../auth/auth.testsuite.ts";
import { newId, type OrganizationId, type RunId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import { cancelRun } from "./cancel-run.ts";
import { cancelRuns } from "./cancel-runs.ts";
import { readRun } from "./read.ts";
import type { Runs } from "./runs.ts";
import { openRuns, type TestRuns } from "./runs.testsuite.ts";
import { startRun } from "./start-run.ts";

let databases: Databases;
let database: Database;
let opened: TestRuns;
beforeAll(async () => {
  databases = await startDatabases();
  database = await databases.open();
  opened = await openRuns(database);
  return async () => {
    await opened[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  };
});
afterAll(() => databases[Symbol.asyncDispose]());

/** Waits an hour, and is not in memory. */
async function waiting(): Promise<RunId> {
  const agentId = await opened.agentOf("do: [{pause: {wait: PT1H}}]");
  const { run } = await startRun(opened.runs, opened.caller, { agentId, input: {} });
  await eventually(async () => {
    const [row] = await database.query("select owner, wake_at from runs where id = $1", [run.id]);
    return row!["owner"] === null && row!["wake_at"] !== null;
  });
  return run.id;
}

/** Notes what is interrupted, and what the database says of it then. */
function noting(): { runs: Runs; interrupted: Promise<string>[] } {
  const interrupted: Promise<string>[] = [];
  const { runs, caller } = opened;
  const engine: Runs["engine"] = {
    executing: true,
    start: (advance) => runs.engine.start(advance),
    wake: (id, wake) => runs.engine.wake(id, wake),
    interrupt: (id) => {
      interrupted.push(readRun(runs, caller.organizationId, id).then((run) => run!.status));
      runs.engine.interrupt(id);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { runs: { ...runs, engine }, interrupted };
}

test("what is in flight is interrupted when the cancel is committed, once", async () => {
  const { runs, interrupted } = noting();
  const id = await waiting();
  await cancelRun(runs, opened.caller.organizationId, id);
  await cancelRun(runs, opened.caller.organizationId, id);
  expect(await Promise.all(interrupted)).toEqual(["cancelled"]);
});

test("another organization's run is not interrupted", async () => {
  const { runs, interrupted } = noting();
  const id = await waiting();
  const other = newId<"organization">() as OrganizationId;
  await expect(cancelRun(runs, other, id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(interrupted).toEqual([]);
  expect((await readRun(runs, opened.caller.organizationId, id))!.status).toBe("running");
});

test("a cancel that is not committed interrupts nothing", async () => {
  const { runs, interrupted } = noting();
  const id = await waiting();
  const broken: Runs = {
    ...runs,
    database: {
      ...database,
      transaction: (work) =>
        database.transaction(async (query) => {
          await work(query);
          throw new Error("the connection was lost at the commit");
        }),
    },
  };
  await expect(cancelRun(broken, opened.caller.organizationId, id)).rejects.toThrow("lost at the commit");
  expect(interrupted).toEqual([]);
});

test("cancelRuns leaves a run that ends meanwhile as it ended, and cancels the others", async () => {
  const { runs, caller } = opened;
  const agentId = await opened.agentOf("do: [{pause: {wait: PT1H}}]");
  const ids: RunId[] = [];
  for (let count = 0; count < 5; count++) ids.push((await startRun(runs, caller, { agentId, input: {} })).run.id);
  const ending = ids[2]!;
  const { promise: listed, resolve: isListed } = Promise.withResolvers<void>();
  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();
  // It has the run's row when the list is read, and the run has completed when the cancel gets it.
  const end = database.transaction(async (query) => {
    await query(`update runs set status = 'completed', finished_at = now(), owner = null where id = $1`, [ending]);
    hasEnded();
    await listed;
  });
  await ended;
  const locked: Runs = {
    ...runs,
    database: {
      ...database,
      transaction: (work) => (isListed(), database.transaction(work)),
    },
  };
  expect(await cancelRuns(locked, caller.organizationId, { agentId })).toBe(4);
  await end;
  const states = await Promise.all(ids.map(async (id) => (await readRun(runs, caller.organizationId, id))!.status));
  expect(states).toEqual(ids.map((id) => (id === ending ? "completed" : "cancelled")));
});

test("what is no refusal ends cancelRuns", async () => {
  const { runs, caller } = opened;
  const agentId = await opened.agentOf("do: [{pause: {wait: PT1H}}]");
  await startRun(runs, caller, { agentId, input: {} });
  const broken: Runs = {
    ...runs,
    database: { ...database, transaction: () => Promise.reject(new Error("the connection was lost")) },
  };
  await expect(cancelRuns(broken, caller.organizationId, { agentId })).rejects.toThrow("the connection was lost");
});

test("the steps of a run with 9,900 open ones are cancelled within a second, whatever the statistics say", async () => {
  const { organizationId } = opened.caller;
  const steps = 9_900;
  for (const statistics of ["none", "of an empty table", "of the rows"]) {
    const id = await waiting();
    const month = partitionOf(database, id);
    if (statistics === "of an empty table") {
      await database.query(`delete from steps_${month}`);
      await database.query(`analyze steps_${month}`);
    }
    await database.query(
      `insert into steps_${month} (run_id, number, organization_id, key, name, kind, status, round, attempt, revision)
       select $1, number, $2, 'pause#' || number, 'pause', 'wait', 'running', '', 1, number from generate_series(2, $3::int) number`,
      [id, organizationId, steps],
    );
    if (statistics === "of the rows") await database.query(`analyze steps_${month}`);
    const since = performance.now();
    const { revision } = await cancelRun(opened.runs, organizationId, id);
    // A tenth of a second when nothing else runs; 10 s by a loop in a loop.
    expect(performance.now() - since).toBeLessThan(1_000);
    const [row] = await database.query(
      `select count(*) filter (where status = 'cancelled' and finished_at is not null) as cancelled,
          count(distinct revision) as revisions, max(revision) as last, count(*) as steps
         from steps_${month} where run_id = $1`,
      [id],
    );
    const all = statistics === "of an empty table" ? steps - 1 : steps;
    expect(row).toEqual({ cancelled: all, revisions: all, last: revision - 1, steps: all });
  }
});
