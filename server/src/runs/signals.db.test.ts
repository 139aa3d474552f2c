/** A run with many waiting branches: how many statements it costs when one of them continues. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import type { ApprovalId, RunId } from "../lib/ids.ts";
import { allOf } from "../lib/reach.ts";
import type { Database } from "../storage/database.ts";
import { readJournalSteps } from "../execution/journal/read-journal.ts";
import { cancelRun } from "./cancel-run.ts";
import { decideApproval } from "./decide-approval.ts";
import type { JournalStep } from "../execution/journal/loaded-run.ts";
import { call, noting, openRuns, type TestRuns } from "./runs.testsuite.ts";
import type { Approval, Run } from "../execution/run/run.ts";
import { tellApproval, tellChanged } from "./handle/runs.ts";
import { startRun } from "./start-run.ts";
import { watchApprovals, watchRuns } from "./watch/watch-changes.ts";

/** Branches of branches: 400 of them. */
const SIDE = 20;
const COUNT = SIDE * SIDE;
/** A claim, a journal, a look for each 256 that wait, the answers, the release; and the engine's own looks meanwhile. */
const MAX_STATEMENTS = 50;

let databases: Databases;
/** For the test's own queries. */
let plain: Database;
let noted: { text: string; rows: number }[];
let opened: TestRuns;
const hanging = Promise.withResolvers<null>();
beforeAll(async () => {
  databases = await startDatabases();
  plain = await databases.open();
  const database = noting(plain);
  ({ noted } = database);
  opened = await openRuns(database, { answer: () => hanging.promise });
  return async () => {
    hanging.resolve(null);
    await opened[Symbol.asyncDispose]();
    await plain[Symbol.asyncDispose]();
  };
});
afterAll(() => databases[Symbol.asyncDispose]());
const each = (list: string, inner: string, more = ""): string =>
  `{call: 'each:1.0.0@default', with: {in: '${list}', concurrency: 100, do: [{one: ${inner}}]${more}}}`;
const side = (inner: string): string =>
  each(`[range(${SIDE})]`, each(`[range(${SIDE})]`, inner, ", onError: collect"), ", onError: collect");

async function start(tasks: string): Promise<RunId> {
  const agentId = await opened.agentOf(`do: ${tasks}`);
  return (await startRun(opened.runs, opened.caller, { agentId, input: {} })).run.id;
}

const rowsOf = async (text: string, id: RunId): Promise<string[]> =>
  (await plain.query(text, [id])).map((row) => row["id"]);
const openApprovals = (id: RunId): Promise<string[]> =>
  rowsOf("select id from approvals where run_id = $1 and status = 'open'", id);
const openChildren = (id: RunId): Promise<string[]> =>
  rowsOf("select id from runs where parent_run_id = $1 and status = 'running' and wake_at is not null", id);

/** The run is not in memory, where others need the room, and nothing is due. */
const isUnloaded = async (id: RunId): Promise<boolean> => {
  opened.runs.executions.places.wait(opened.caller.organizationId);
  return (
    (await rowsOf("select id from runs where id = $1 and owner is null and wake_at > now() + interval '1 minute'", id))
      .length === 1
  );
};
const ended = async (id: RunId): Promise<boolean> =>
  (
    await rowsOf(
      "select number as id from steps where run_id = $1 and name = 'one' and status in ('completed', 'failed')",
      id,
    )
  ).length === 1;

const decide = (approvalId: string): Promise<unknown> =>
  decideApproval(opened.runs, opened.caller, { approvalId: approvalId as ApprovalId, decision: "approve" });

async function statements(work: () => Promise<unknown>, until: () => Promise<boolean> | boolean): Promise<string[]> {
  noted.length = 0;
  await work();
  await eventually(async () => until());
  // Branches that it does not concern would have looked meanwhile.
  await sleep(200);
  return noted.map(({ text }) => text);
}

const APPROVAL = "{call: 'approval:1.0.0@default', with: {question: Well?}}";

test(`a decision in a run with ${COUNT} open approvals looks at no other approval by itself`, async () => {
  const id = await start(`[{ask: ${side(APPROVAL)}}]`);
  await eventually(async () => (await openApprovals(id)).length === COUNT);
  await eventually(() => isUnloaded(id));
  const [first] = await openApprovals(id);
  const done = async (): Promise<boolean> => (await ended(id)) && isUnloaded(id);
  expect((await statements(() => decide(first!), done)).length).toBeLessThan(MAX_STATEMENTS);
  await cancelRun(opened.runs, opened.caller, id);
});

test("nor while another branch of it keeps it in memory", async () => {
  const id = await start(`[{both: {fork: {branches: [{ask: ${side(APPROVAL)}}, ${call("hangs")}]}}}]`);
  await eventually(async () => (await openApprovals(id)).length === COUNT);
  const [first] = await openApprovals(id);
  const steps = (): Iterable<JournalStep> => opened.runs.executions.loaded.get(id)!.journal.steps;
  const done = (): boolean => Array.from(steps()).some(({ name, status }) => name === "one" && status === "completed");
  expect((await statements(() => decide(first!), done)).length).toBeLessThan(MAX_STATEMENTS);
  await cancelRun(opened.runs, opened.caller, id);
});

test(`a child's end in a run that waits for ${COUNT} looks at no other child by itself`, async () => {
  const agentId = await opened.agentOf("do: [{pause: {wait: PT1H}}]");
  const [name] = await rowsOf("select handle as id from agents where id = $1", agentId as string as RunId);
  const child = `{run: {workflow: {namespace: shop, name: ${name}, version: '1.0.0', input: {}}}}`;
  const id = await start(`[{go: ${side(child)}}]`);
  await eventually(async () => (await openChildren(id)).length === COUNT);
  await eventually(() => isUnloaded(id));
  const [first] = await openChildren(id);
  const done = async (): Promise<boolean> => (await ended(id)) && isUnloaded(id);
  const cancelled = (): Promise<unknown> => cancelRun(opened.runs, opened.caller, first as RunId);
  expect((await statements(cancelled, done)).length).toBeLessThan(MAX_STATEMENTS);
  await cancelRun(opened.runs, opened.caller, id);
});

test("20 approvals and 20 runs that change are read once for 100 subscriptions, each as it is committed", async () => {
  const { runs, caller } = opened;
  const { organizationId } = caller;
  const agentId = await opened.agentOf(`do: [{ask: ${APPROVAL}}]`);
  const ids: RunId[] = [];
  for (let count = 0; count < 20; count++)
    ids.push((await startRun(runs, caller, { agentId, input: {}, waitSeconds: 30 })).run.id);
  const approvals = (await Promise.all(ids.map(openApprovals))).flat() as ApprovalId[];
  await eventually(
    async () =>
      (await rowsOf("select id from runs where agent_id = $1 and owner is null", agentId as string as RunId)).length ===
      20,
  );
  const controller = new AbortController();
  const shown: string[] = [];
  const show = async (changes: AsyncIterable<Run | Approval>): Promise<void> => {
    for await (const { id, status } of changes) shown.push(`${id} ${status}`);
  };
  const subscriptions = Array.from({ length: 50 }, () => [
    show(watchRuns(runs, allOf(organizationId), { agentId }, controller.signal)),
    show(watchApprovals(runs, allOf(organizationId), { agentId }, controller.signal)),
  ]).flat();
  const tell = async (): Promise<void> => {
    for (const id of ids) tellChanged(runs, organizationId, id);
    for (const id of approvals) tellApproval(runs, organizationId, id);
  };
  const noticed = await statements(tell, () => shown.length === 50 * 40);
  expect(new Set(shown)).toEqual(new Set([...ids.map((id) => `${id} paused`), ...approvals.map((id) => `${id} open`)]));
  // One after the other, each kind in its own statement; and the engine's own looks meanwhile.
  expect(noticed.length).toBeLessThan(100);
  controller.abort();
  await Promise.all(subscriptions);
  for (const id of ids) await cancelRun(runs, allOf(organizationId), id);
});

test("a cancel asks for no queue of an agent without a limit", async () => {
  const id = await start("[{pause: {wait: PT1H}}]");
  await eventually(async () => (await rowsOf("select id from runs where id = $1 and owner is null", id)).length === 1);
  noted.length = 0;
  await cancelRun(opened.runs, opened.caller, id);
  expect(noted.filter(({ text }) => text.includes("concurrency_limit"))).toEqual([]);
});

test("a journal of 3,000 steps is read a thousand at a time, in order and each once", async () => {
  const { runs, caller } = opened;
  const { organizationId } = caller;
  const id = await start("[{pause: {wait: PT1H}}]");
  await eventually(async () => (await rowsOf("select id from runs where id = $1 and owner is null", id)).length === 1);
  await plain.query(
    `insert into steps (run_id, number, organization_id, key, name, kind, status, round, attempt, revision, started_at, finished_at)
     select $1, number, $2, 'pause#' || number, 'pause', 'wait', 'completed', '', 1, number, now(), now() from generate_series(2, 3000) number`,
    [id, organizationId],
  );
  noted.length = 0;
  const steps = await readJournalSteps(runs.database, { id, organizationId });
  expect(steps.map(({ number }) => number)).toEqual(Array.from({ length: 3_000 }, (_, index) => index + 1));
  expect(noted.filter(({ text }) => text.includes("from steps_")).map(({ rows }) => rows)).toEqual([
    1_000, 1_000, 1_000, 0,
  ]);
  await cancelRun(runs, allOf(organizationId), id);
});
