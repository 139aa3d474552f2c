/** The fence: a process that lost the run writes nothing, not even a step, and nothing overwrites a person's decision. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { newId, type RunId } from "../lib/ids.ts";
import { allOf } from "../lib/reach.ts";
import type { Database } from "../storage/database.ts";
import { cancelRun } from "./cancel-run.ts";
import { createClaims } from "../engine/claims.ts";
import { CLAIMED_RUN } from "../execution/journal/claimed-run.ts";
import { decideApproval } from "./decide-approval.ts";
import { commitEnd } from "../execution/journal/commit-end.ts";
import { Journal, LostRun } from "../execution/journal/journal.ts";
import { asRunError } from "../execution/journal/loaded-run.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { listSteps, readRun } from "./read/read.ts";
import { idle, openRuns, type TestRuns } from "./runs.testsuite.ts";
import { startRun } from "./start-run.ts";
import type { RunStatus } from "../storage/schema.ts";

let databases: Databases;
let database: Database;
let opened: TestRuns;
beforeAll(async () => {
  databases = await startDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());
beforeEach(async () => {
  database = await databases.open();
  opened = await openRuns(database);
  return async () => {
    await opened[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  };
});

const ASK = "do: [{ask: {call: approval:1.0.0@default, with: {question: Now?, timeout: PT1H}}}]";
const PATIENT = "do: [{pause: {wait: PT1H}}]";

async function start(body: string, until: RunStatus): Promise<RunId> {
  const { run } = await startRun(opened.runs, opened.caller, { agentId: await opened.agentOf(body), input: {} });
  await eventually(async () => {
    const [row] = await database.query("select status, owner from runs where id = $1", [run.id]);
    return row!["status"] === until && row!["owner"] === null;
  });
  return run.id;
}

/** Stops the engine: its sweep would take up runs that a test holds or leaves due. */
const stopEngine = (): PromiseLike<void> => opened.runs.engine[Symbol.asyncDispose]();

const owned = (id: RunId) => ({ id, organizationId: opened.caller.organizationId });

/** Takes the run as an advance does. */
async function claim(id: RunId): Promise<Journal> {
  await stopEngine();
  await database.query("update runs set wake_at = $2 where id = $1", [id, new Date(opened.runs.clock.now())]);
  const { head } = (await opened.claims.add(owned(id)))!;
  const { journals, writer } = opened.runs.executions;
  return new Journal({ head, steps: await journals.add(head, 0), writer, published: () => {} });
}

/** The decision's wake does not arrive. */
const unheard = () => ({ ...opened.runs, engine: idle });

const steps = async (id: RunId): Promise<string[]> => {
  const { organizationId } = opened.caller;
  const { items } = await listSteps(opened.runs, { id, organizationId }, { first: 100 });
  return items.map(({ name, status }) => `${name} ${status}`);
};

const set = (name: string) => ({ name, kind: "set", reference: `/do/0/${name}` });

test("of two that hold one run the later writes; also when both write in one statement", async () => {
  const now = opened.runs.clock.now();
  const ids = [await start(PATIENT, "running"), await start(PATIENT, "running")];
  for (const [index, id] of ids.entries()) {
    const isTogether = index === 1;
    const before = await claim(id);
    const after = await claim(id);
    // Rows that do not meet in one statement: only the fence tells them apart.
    before.close(before.step("pause#1")!, "failed", now);
    after.open("theirs#1", set("theirs"), "", now);
    const first = before.commit(now).catch((reason: unknown) => reason);
    if (!isTogether) await first;
    await after.commit(now);
    expect(await first).toBeInstanceOf(LostRun);
    expect(await steps(id)).toEqual(["pause running", "theirs running"]);
    await expect(before.commit(now)).rejects.toThrow(LostRun);
  }
});

test("after a cancel nothing is written, neither a checkpoint nor an end", async () => {
  const now = opened.runs.clock.now();
  const id = await start(PATIENT, "running");
  const journal = await claim(id);
  const { revision } = await cancelRun(opened.runs, opened.caller, id);
  journal.open("late#1", set("late"), "", now);
  Object.assign(journal.head, { status: "completed", output: {}, finishedAt: now });
  await expect(journal.commit(now)).rejects.toThrow(LostRun);
  expect(await steps(id)).toEqual(["pause cancelled"]);
  expect(await readRun(opened.runs, opened.caller, id)).toMatchObject({ status: "cancelled", revision });
});

test("a change of state that the table does not have is refused before it is written", async () => {
  const now = opened.runs.clock.now();
  const id = await start(PATIENT, "running");
  const journal = await claim(id);
  journal.head.status = "pending";
  await expect(journal.commit(now)).rejects.toThrow("a run that is running can't become pending");
  const [row] = await database.query("select status from runs where id = $1", [id]);
  expect(row).toEqual({ status: "running" });
});

test("a decision between the claim and the expiry counts: the expiry is not written", async () => {
  const now = opened.runs.clock.now();
  const id = await start(ASK, "paused");
  const journal = await claim(id);
  const [approval] = await database.query("select id, status from approvals where run_id = $1", [id]);
  await decideApproval(unheard(), opened.caller, { approvalId: approval!["id"], decision: "approve" });
  journal.changeApproval(approval!["id"], "expired", now);
  await expect(journal.commit(now)).rejects.toThrow(LostRun);
  const [after] = await database.query("select status from approvals where run_id = $1", [id]);
  expect(after).toEqual({ status: "approved" });
});

test("a decision while the run is advanced is seen at the release, also after a checkpoint between", async () => {
  const now = opened.runs.clock.now();
  const id = await start(ASK, "paused");
  const journal = await claim(id);
  const [approval] = await database.query("select id from approvals where run_id = $1", [id]);
  await decideApproval(unheard(), opened.caller, { approvalId: approval!["id"], decision: "approve" });
  journal.open("between#1", set("between"), "", now);
  await journal.commit(now);
  expect(await journal.release(now, null)).toBe(true);
  const [row] = await database.query("select wake_at from runs where id = $1", [id]);
  expect(row!["wake_at"]).not.toBeNull();
});

test("a process that does not execute claims nothing, whatever it is told", async () => {
  const now = opened.runs.clock.now();
  const id = await start(PATIENT, "running");
  await stopEngine();
  await database.query("update runs set wake_at = $2 where id = $1", [id, new Date(now)]);
  const before = await database.query("select status, epoch, owner, wake_at from runs where id = $1", [id]);
  const { clock } = opened.runs;
  const another = createClaims({ database, clock, instanceId: newId<"instance">(), claimed: CLAIMED_RUN });
  expect(await another.add(owned(id))).toBeUndefined();
  expect(await database.query("select status, epoch, owner, wake_at from runs where id = $1", [id])).toEqual(before);
  expect(await opened.claims.add(owned(id))).toBeDefined();
});

test("a run that another has claimed since is not failed by the process that had it before", async () => {
  const id = await start(PATIENT, "running");
  const { head } = await claim(id);
  await claim(id);
  const ending = { status: "failed", error: asRunError(WorkflowError.of("internal", "as it should")) } as const;
  const late = await commitEnd(opened.runs.executions, { ...owned(id), epoch: head.epoch }, ending);
  expect([late.changed, late.run.status]).toEqual([false, "running"]);
  const ours = await commitEnd(opened.runs.executions, { ...owned(id), epoch: head.epoch + 1 }, ending);
  expect([ours.changed, ours.run.status]).toEqual([true, "failed"]);
});

test("a decision that comes too late wakes nobody", async () => {
  const id = await start(ASK, "paused");
  const [approval] = await database.query("select id from approvals where run_id = $1", [id]);
  const decide = (decision: "approve" | "reject"): Promise<unknown> =>
    decideApproval(opened.runs, opened.caller, { approvalId: approval!["id"], decision });
  await decide("approve");
  await eventually(async () => (await readRun(opened.runs, opened.caller, id))!.status === "completed");
  const before = await database.query("select wake_seq, revision from runs where id = $1", [id]);
  await expect(decide("reject")).rejects.toThrow(/already approved/);
  expect(await database.query("select wake_seq, revision from runs where id = $1", [id])).toEqual(before);
});

test("a decision at the end of its time or after it is refused and moves nothing; a millisecond before it counts", async () => {
  const { organizationId } = opened.caller;
  for (const [late, wins] of [
    [-1, true],
    [0, false],
    [60_000, false],
  ] as const) {
    const id = await start(ASK, "paused");
    const [approval] = await database.query("select id, expires_at from approvals where run_id = $1", [id]);
    const moved = async () => (await database.query("select wake_seq, wake_at from runs where id = $1", [id]))[0];
    const before = await moved();
    const now = (approval!["expires_at"] as Date).getTime() + late;
    const runs = { ...unheard(), clock: { ...opened.runs.clock, now: () => now } };
    const decision = decideApproval(runs, opened.caller, { approvalId: approval!["id"], decision: "approve" });
    if (wins) {
      expect((await decision).status).toBe("approved");
      expect(await moved()).not.toEqual(before);
    } else {
      await expect(decision).rejects.toThrow("the approval has expired");
      expect(await moved()).toEqual(before);
    }
    await cancelRun(runs, allOf(organizationId), id);
  }
});
