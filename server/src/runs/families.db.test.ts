/** What a crash between a run's end and its relatives left undone is done at the next start. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases, type Databases } from "../auth/auth.testsuite.ts";
import { cancelRun } from "./cancel-run.ts";
import { mendFamilies } from "./families.ts";
import { readRun } from "./read.ts";
import { openRuns } from "./runs.testsuite.ts";
import { startRun } from "./start-run.ts";

let databases: Databases;
beforeAll(async () => {
  databases = await startDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());

test("a parent whose child has ended goes on; a child whose parent was cancelled is cancelled", async () => {
  await using database = await databases.open();
  await using opened = await openRuns(database);
  const { runs, caller } = opened;
  await opened.agentOf("do: [{pause: {wait: PT1H}}]");
  const agentId = await opened.agentOf(
    "do: [{child: {run: {workflow: {namespace: shop, name: agent-1, version: '1.0.0'}}}}]",
  );
  const family = async () => {
    const { run } = await startRun(runs, caller, { agentId, input: {} });
    // Both have begun and wait.
    const waiting = "owner is null and current_step is not null";
    const child = await eventually(
      async () => (await database.query(`select id from runs where parent_run_id = $1 and ${waiting}`, [run.id]))[0],
    );
    await eventually(
      async () => (await database.query(`select id from runs where id = $1 and ${waiting}`, [run.id])).length === 1,
    );
    return { parent: run.id, child: child["id"] };
  };
  const statusOf = async (id: typeof ended.parent): Promise<string | undefined> =>
    (await readRun(runs, caller.organizationId, id))?.status;

  const ended = await family();
  await database.query(
    "update runs set status = 'completed', output = '{}', finished_at = now(), wake_at = null where id = $1",
    [ended.child],
  );
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
  await cancelRun(runs, caller.organizationId, whole.parent);
  expect(await statusOf(whole.child)).toBe("cancelled");
});
