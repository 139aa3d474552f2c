/** Each way to end a run writes to the outbox in the same statement, and only if somebody listens. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import type { RunId } from "../lib/ids.ts";
import { cancelRun } from "./cancel-run.ts";
import { meddling, noting, openRuns, type TestRuns } from "./runs.testsuite.ts";
import { outboxPart } from "../events/outbox.ts";
import { startRun } from "./start-run.ts";

const stack = new AsyncDisposableStack();
let database: ReturnType<typeof meddling> & Pick<ReturnType<typeof noting>, "noted">;
let opened: TestRuns;
let isHeard = true;
let looks = 0;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  const noticing = noting(stack.use(await databases.open()));
  database = Object.assign(meddling(noticing), { noted: noticing.noted });
  const outbox = outboxPart({ isHeard: () => isHeard, look: () => void looks++ }, false);
  const parts = { guards: [], followers: [outbox] };
  opened = stack.use(await openRuns(database, { parts, answer: () => new Promise(() => {}) }));
});
afterAll(() => stack.disposeAsync());

const SET = "do: [{a: {set: {b: 1}}}]";
const LONG = "do: [{pause: {wait: {hours: 1}}}]";
const ASK = "do: [{ask: {call: approval:1.0.0@default, with: {question: Really?}}}]";
const start = async (body: string, wait?: number): Promise<RunId> => {
  const agentId = await opened.agentOf(body);
  return (await startRun(opened.runs, opened.caller, { agentId, input: {}, ...(wait && { wait }) })).run.id;
};
/** The events of this run, once that many are there. */
const rowsOf = (runId: RunId, many = 1): Promise<string[]> =>
  eventually(async () => {
    const rows = await database.query(
      `select event, run_id = subject_id as is_run, at from untold_events where run_id = $1 order by event`,
      [runId],
    );
    return rows.length >= many ? rows.map(({ event, is_run: isRun }) => `${event}${isRun ? "" : " of it"}`) : undefined;
  }, 60_000);
const statusOf = async (id: RunId): Promise<string> =>
  (await database.query("select status from runs where id = $1", [id]))[0]!["status"];
const cancel = (id: RunId): Promise<unknown> => cancelRun(opened.runs, opened.caller, id);

test("what completes, fails or is cancelled, with its start or later, and what asks", async () => {
  looks = 0;
  expect(await rowsOf(await start(SET))).toEqual(["run.completed"]);
  expect(await rowsOf(await start(SET, 10))).toEqual(["run.completed"]);
  const broken = "do: [{a: {raise: {error: {type: 'https://example.org/broken', status: 422, title: Broken}}}}]";
  expect(await rowsOf(await start(broken))).toEqual(["run.failed"]);
  const waiting = await start(LONG);
  await cancel(waiting);
  expect(await rowsOf(waiting)).toEqual(["run.cancelled"]);
  expect(looks).toBeGreaterThanOrEqual(4);
  await cancel(waiting);
  expect(await rowsOf(waiting)).toHaveLength(1);
  const asking = await start(ASK);
  expect(await rowsOf(asking)).toEqual(["approval.requested of it"]);
  // Withdrawing the question tells nobody of it again.
  await cancel(asking);
  expect(await rowsOf(asking, 2)).toEqual(["approval.requested of it", "run.cancelled"]);
});

test("a child that nobody waits for any more, and a run that this server cannot advance", async () => {
  const name = "untold-child";
  await opened.agentOf(LONG).then((id) => database.query("update agents set handle = $2 where id = $1", [id, name]));
  const parent = await start(`do: [{child: {run: {workflow: {namespace: shop, name: ${name}, version: '1.0.0'}}}}]`);
  const child = await eventually(
    async () => (await database.query("select id from runs where parent_run_id = $1", [parent]))[0]?.["id"],
  );
  await cancel(parent);
  expect(await rowsOf(child)).toEqual(["run.cancelled"]);

  const broken = await start(LONG);
  await eventually(
    async () => (await database.query("select from runs where id = $1 and owner is null", [broken])).length === 1,
  );
  // It throws each time that it is taken up.
  const { programOf } = opened.runs.executions.surroundings;
  opened.runs.executions.surroundings.programOf = () => Promise.reject(new Error("as it should"));
  await database.query("update runs set wake_at = now() where id = $1", [broken]);
  opened.runs.engine.wake(broken, { organizationId: opened.caller.organizationId });
  expect(await rowsOf(broken)).toEqual(["run.failed"]);
  opened.runs.executions.surroundings.programOf = programOf;
});

test("an end whose answer was lost", async () => {
  // The run stays in memory during the wait: the write after its start is its end.
  let writes = 0;
  database.meddle = (name) => {
    if (!name.startsWith("write_") || ++writes === 1) return undefined;
    database.meddle = undefined;
    return "lose";
  };
  const id = await start("do: [{pause: {wait: {milliseconds: 200}}}, {last: {set: {a: 1}}}]");
  expect(await rowsOf(id)).toEqual(["run.completed"]);
  expect(database.meddle).toBe(undefined);
});

test("where nobody listens, no statement has a part for it", async () => {
  isHeard = false;
  database.noted.length = 0;
  const ids = [await start(SET), await start(SET, 10), await start(ASK)];
  await eventually(async () => (await Promise.all(ids.slice(0, 2).map(statusOf))).every((one) => one === "completed"));
  await eventually(async () => (await statusOf(ids[2]!)) === "paused");
  const writes = database.noted.filter(({ text }) => /(insert into|update) runs_/.test(text));
  expect(writes.length).toBeGreaterThanOrEqual(3);
  expect(writes.filter(({ text }) => text.includes("untold_events"))).toEqual([]);
  await cancel(ids[2]!);
  isHeard = true;
  expect(await database.query("select event from untold_events where run_id = any($1::uuid[])", [ids])).toEqual([]);
});
