import { afterAll, beforeAll, expect, test } from "vitest";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import { newIdAt, type AgentId, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { cancelIfOpen } from "../runs/cancel-run.ts";
import type { Runs } from "../runs/handle/runs.ts";
import { idle, openRuns, type TestRuns } from "../runs/runs.testsuite.ts";
import { createSecrets } from "../secrets/secrets.ts";
import type { Database } from "../storage/database.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { eventually } from "../../../test/client.ts";
import { updateTrigger } from "./change-trigger.ts";
import { createTrigger } from "./create-trigger.ts";
import { setNextDue } from "./schedule/due-store.ts";
import { fire } from "./firings/fire.ts";
import { fireDue } from "./schedule/fire-due.ts";
import { readTriggerRows } from "./store/trigger-store.ts";
import { fireTrigger } from "./fire-trigger.ts";
import { forgetOld } from "./forget-firings.ts";
import { listFirings } from "./store/list-firings.ts";
import { release } from "./firings/queue.ts";
import { releaseQueues } from "./firings/release-queues.ts";
import { replayFiring } from "./replay-firing.ts";
import type { Trigger } from "./store/trigger.ts";
import { createTriggerMemory } from "./memory.ts";
import { createTriggers, type Triggers } from "./triggers.ts";

const HOUR = 3_600_000;
const stack = new AsyncDisposableStack();
let database: Database;
let clock: TestClock;
let room: TestRuns;
let triggers: Triggers;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  clock = testClock();
  room = stack.use(await openRuns(database));
  triggers = triggersOf(room);
});

/** As a process of its own has it, with its own runs. */
function triggersOf({ runs }: TestRuns): Triggers {
  const { agents, log } = runs;
  const { derive } = secretKeys(Buffer.alloc(32, 3));
  const secrets = createSecrets({ database, clock, log, derive });
  const memory = createTriggerMemory({ database, clock, log, derive });
  return createTriggers({ secrets, database, clock, log, agents, runs, memory, url: "https://agents.example.org" });
}
afterAll(() => stack.disposeAsync());

const create = (agentId: AgentId, name: string): Promise<Trigger> =>
  createTrigger(triggers, room.caller, { agentId, name, type: "webhook", keys: {}, policy: {} });

/** So many as they would be after as many calls. In parts: a statement may take 30 s. */
async function insertMany(agentIds: AgentId[], count: number): Promise<void> {
  for (let from = 1; from <= count; from += 10_000)
    await database.query(
      `insert into triggers (organization_id, id, project_id, agent_id, name, type, status, configuration, policy,
          created_by_kind, created_at, updated_at)
       select a.organization_id, gen_random_uuid(), a.project_id, a.id, 'many ' || number, 'webhook', 'active', '{}', '{}', 'system', now(), now()
         from generate_series($2::int, $3::int) number, agents a where a.organization_id = $1 and a.id = any($4::uuid[])`,
      [room.caller.organizationId, from, Math.min(from + 9_999, count), agentIds],
    );
}
const full = (message: string) => ({ code: "CONFLICT", details: { reason: "limit_reached" }, message });
const agent = (): Promise<AgentId> => room.agentOf("do: [{a: {set: {b: 1}}}]");

test("a firing is kept for 30 days", async () => {
  const trigger = await create(await agent(), "kept");
  const { id } = await fireTrigger(triggers, room.caller, { triggerId: trigger.id, payload: { a: 1 } });
  const kept = async (): Promise<string[]> => {
    await forgetOld(triggers);
    return (await listFirings(triggers, trigger, { first: 10 })).items.map((firing) => firing.id);
  };
  clock.pass(LIMITS.firingDays * 86_400_000);
  expect(await kept()).toEqual([id]);
  clock.pass(1);
  expect(await kept()).toEqual([]);
});

test("events go after 30 days, however many there are", async () => {
  const ids = Array.from({ length: 10_001 }, () => newIdAt<"event">(clock.now()));
  await database.query(
    `insert into events (id, organization_id, once, source, event, source_id, time, at, data, body_hash, depth, published_by_kind)
     select id, $2, sha256(id::text::bytea), 'many', 'paid', id::text, $3, $3, '{}', '\\x00', 0, 'system' from unnest($1::uuid[]) id`,
    [ids, room.caller.organizationId, new Date(clock.now())],
  );
  const left = async (): Promise<number> => {
    await forgetOld(triggers);
    return (await database.query("select from events where organization_id = $1", [room.caller.organizationId])).length;
  };
  clock.pass(LIMITS.eventDays * 86_400_000);
  expect(await left()).toBe(ids.length);
  clock.pass(1);
  expect(await left()).toBe(0);
});

/** How many starts it was asked to write since. */
function writesOf({ executions: { writer } }: Runs): () => number {
  let count = 0;
  const add = writer.add.bind(writer);
  writer.add = (write) => {
    count++;
    return add(write);
  };
  return () => count;
}

test("when two processes fire a skipping trigger at once, during a change to it, one takes its slot", async () => {
  await using other = await openRuns(database, { engine: idle });
  const agentId = await room.agentOf("do: [{a: {wait: {hours: 1}}}]");
  const trigger = await createTrigger(triggers, room.caller, {
    agentId,
    name: "turns",
    type: "webhook",
    keys: {},
    policy: { overlap: "skip" },
  });
  let settled = 0;
  const written = [room, other].map(({ runs }) => writesOf(runs));
  const fired = await database.transaction(async (query) => {
    await query("select id from triggers where organization_id = $1 and id = $2 for update", [
      trigger.organizationId,
      trigger.id,
    ]);
    const both = [triggers, triggersOf(other)].map((one) => fire(one, trigger, { dueAt: null, payload: {} }));
    for (const one of both) void one.finally(() => settled++);
    // Neither statement waits, nor is either's answer the last one.
    await eventually(() => written.every((count) => count() > 3));
    expect(settled).toBe(0);
    return both;
  });
  const outcomes = (await Promise.all(fired)).map((one) => one!.firing.outcome);
  expect(outcomes.toSorted()).toEqual(["skipped", "started"]);
});

test("an organization's single waiting run is released at once, beside 400 of another", async () => {
  await using other = await openRuns(database, { engine: idle });
  const rooms = [room, other];
  for (const [index, count] of [400, 1].entries()) {
    const { caller, agentOf } = rooms[index]!;
    const values = [caller.organizationId, await agentOf("do: [{a: {set: {b: 1}}}]"), count];
    const from = "from agents a, generate_series(1, $3::int) number where a.organization_id = $1 and a.id = $2";
    await database.query(
      `with made as (
         insert into triggers (organization_id, id, project_id, agent_id, name, type, status, configuration, policy,
             created_by_kind, created_at, updated_at)
         select a.organization_id, gen_random_uuid(), a.project_id, a.id, 'waits ' || number, 'webhook', 'active', '{}', '{}',
             'system', now(), now() ${from}
         returning *),
       started as (
         insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
             created_at, revision, progress, epoch, wake_seq, limited, queued)
         select gen_random_uuid(), organization_id, project_id, agent_id, '1.0.0', 'pending', 'trigger', id, '{}',
             now(), 1, 0, 0, 0, true, true from made
         returning *)
       insert into firings (id, organization_id, project_id, agent_id, trigger_id, once, at, outcome, run_id, is_queued)
       select gen_random_uuid(), organization_id, project_id, agent_id, started_by_id, id, now(), 'started', id, true from started`,
      values,
    );
  }
  const waiting = async ({ caller }: TestRuns): Promise<number> =>
    (
      await database.query(
        "select from firings f join runs r on r.id = f.run_id where f.organization_id = $1 and f.is_queued and r.queued",
        [caller.organizationId],
      )
    ).length;
  expect([await waiting(room), await waiting(other)]).toEqual([400, 1]);
  await using _ = releaseQueues(triggers);
  await eventually(async () => (await waiting(other)) === 0);
  // Half of what is looked at in one go.
  expect(await waiting(room)).toBeGreaterThan(200);
});

test("at most 1,000 runs of a trigger wait for the one before", async () => {
  const agentId = await agent();
  const trigger = await createTrigger(triggers, room.caller, {
    agentId,
    name: "queue",
    type: "webhook",
    keys: {},
    policy: { overlap: "queue" },
  });
  const queued = (count: number): Promise<unknown> =>
    database.query(
      `insert into firings (id, organization_id, project_id, agent_id, trigger_id, once, at, outcome, run_id, is_queued)
       select gen_random_uuid(), organization_id, project_id, agent_id, id, gen_random_uuid(), now(), 'started', gen_random_uuid(), true
         from triggers, generate_series(1, $2::int) where organization_id = $1 and id = $3`,
      [room.caller.organizationId, count, trigger.id],
    );
  const fire = () => fireTrigger(triggers, room.caller, { triggerId: trigger.id, payload: {} });
  await queued(LIMITS.queuedFirings - 1);
  const waiting = await fire();
  expect(waiting).toMatchObject({ outcome: "started" });
  expect(await fire()).toMatchObject({
    outcome: "refused",
    code: "CONFLICT",
    message: "at most 1000 runs of a trigger may wait for the previous one",
  });
  // Firings that still wait are not forgotten.
  clock.pass((LIMITS.firingDays + 1) * 86_400_000);
  await forgetOld(triggers);
  const left = await database.query("select is_queued from firings where organization_id = $1 and id = $2", [
    room.caller.organizationId,
    waiting.id,
  ]);
  expect(left).toEqual([{ is_queued: true }]);
});

test("a run that waits for the one before is not released while that is open", async () => {
  const made = { agentId: await room.agentOf("do: [{a: {wait: {hours: 1}}}]"), name: "open", keys: {} };
  const { organizationId, id: triggerId } = await createTrigger(triggers, room.caller, {
    ...made,
    type: "webhook",
    policy: { overlap: "queue" },
  });
  for (let count = 0; count < 2; count++) await fireTrigger(triggers, room.caller, { triggerId, payload: {} });
  const waiting = (): Promise<unknown[]> =>
    database.query("select id from firings where organization_id = $1 and trigger_id = $2 and is_queued", [
      organizationId,
      triggerId,
    ]);
  await eventually(async () => (await waiting()).length === 1);
  await release(triggers, { organizationId, triggerId });
  expect(await waiting()).toHaveLength(1);
});

test("once a trigger's last waiting run has begun, the end of a run looks for no others", async () => {
  const made = { agentId: await room.agentOf("do: [{a: {wait: {hours: 1}}}]"), name: "emptied", keys: {} };
  const policy = { overlap: "queue" };
  const trigger = await createTrigger(triggers, room.caller, { ...made, type: "webhook", policy });
  const { organizationId, id: triggerId } = trigger;
  const known = (): boolean => triggers.queues.known.get(organizationId, triggerId) !== undefined;
  const fireIt = () => fireTrigger(triggers, room.caller, { triggerId, payload: {} });
  const end = (run: RunId | null) => cancelIfOpen(room.runs, organizationId, run!);
  const [first, second] = [await fireIt(), await fireIt()];
  expect(known()).toBe(true);
  await end(first.runId);
  await release(triggers, { organizationId, triggerId });
  expect(known()).toBe(true);
  await end(second.runId);
  await release(triggers, { organizationId, triggerId });
  expect(known()).toBe(false);
  await fireIt();
  const again = await fireIt();
  expect([again.outcome, known()]).toEqual(["started", true]);
});

test("once a trigger may overlap, an earlier run blocks no firing", async () => {
  const made = { agentId: await room.agentOf("do: [{a: {wait: {hours: 1}}}]"), name: "overlaps", keys: {} };
  const policy = { overlap: "skip" };
  const { id: triggerId } = await createTrigger(triggers, room.caller, { ...made, type: "webhook", policy });
  await fireTrigger(triggers, room.caller, { triggerId, payload: {} });
  const trigger = await updateTrigger(triggers, room.caller, { triggerId, policy: { overlap: "allow" } });
  const call = () =>
    fire(triggers, trigger, { dueAt: null, payload: {}, delivery: { name: "a", bodyHash: "00".repeat(32) } });
  expect((await call())!.firing.outcome).toBe("started");
  clock.pass(LIMITS.idempotencyHours * HOUR);
  expect((await call())!.firing.outcome).toBe("started");
});

test("an instant that starts nothing leaves one firing, even when two processes fire it", async () => {
  const keys = { schedule: "0 * * * *", timezone: "UTC", input: {} };
  const made = { agentId: await agent(), name: "refused once", type: "cron" as const, keys, policy: {} };
  const trigger: Trigger = { ...(await createTrigger(triggers, room.caller, made)), status: "paused" };
  const occasion = { dueAt: clock.now(), payload: undefined };
  expect((await fire(triggers, trigger, occasion))?.firing.outcome).toBe("refused");
  expect(await fire(triggers, trigger, occasion)).toBeUndefined();
  expect((await listFirings(triggers, trigger, { first: 10 })).items).toHaveLength(1);
});

test("a repeated firing has the dates of its due instant, not of the late one", async () => {
  const keys = { schedule: "0 * * * *", timezone: "UTC", input: { day: "@today" } };
  const made = { agentId: await agent(), name: "late", type: "cron" as const, keys, policy: { overlap: "allow" } };
  const trigger = await createTrigger(triggers, room.caller, made);
  const dueAt = clock.now() - 48 * HOUR;
  const fired = await fire(triggers, trigger, { dueAt, payload: undefined });
  const { runId } = await replayFiring(triggers, room.caller, fired!.firing.id);
  const [run] = await database.query("select input from runs where organization_id = $1 and id = $2", [
    trigger.organizationId,
    runId,
  ]);
  expect(run).toEqual({ input: { day: new Date(dueAt).toISOString().slice(0, 10) } });
});

test("a trigger changed while it fired stays due at its new time", async () => {
  const keys = { schedule: "0 * * * *", timezone: "UTC", input: {} };
  const made = { agentId: await agent(), name: "changed meanwhile", type: "cron" as const, keys, policy: {} };
  const { organizationId, id, nextDueAt } = await createTrigger(triggers, room.caller, made);
  const due = nextDueAt!.getTime();
  const next = { organization_id: organizationId, id, next_due_at: due + 2 * HOUR, wakes_at: due + 2 * HOUR };
  const isDue = async () => (await readTriggerRows(database, room.caller, [id])).get(id)!.nextDueAt!.getTime();
  await setNextDue(database, [{ ...next, due_at: due - HOUR }]);
  expect(await isDue()).toBe(due);
  await setNextDue(database, [{ ...next, due_at: due }]);
  expect(await isDue()).toBe(due + 2 * HOUR);
});

/** Throws after one of its statements, as if the process had been killed there. */
function dying(count: number): { database: Database; die: () => void; isDead: () => boolean } {
  let left = count;
  const die = (): void => {
    if (left-- === 0) throw new Error("killed");
  };
  const after = async <Result>(done: Promise<Result>): Promise<Result> => {
    const result = await done;
    die();
    return result;
  };
  const dead: Pick<Database, "hot" | "query" | "transaction"> = {
    hot: (...all) => after(database.hot(...all)),
    query: (...all) => after(database.query(...all)),
    transaction: (work, whose) => after(database.transaction((query) => work((...all) => after(query(...all))), whose)),
  };
  return { database: { ...database, ...dead }, die, isDead: () => left < 0 };
}

test("killed after any statement, a schedule's clock keeps each instant once: fired, or among those that were missed", async () => {
  const agentId = await agent();
  for (let kill = 0, died = true; died; kill++) {
    const keys = { schedule: "0 * * * *", timezone: "UTC", input: {} };
    const made = { agentId, name: `hourly ${kill}`, type: "cron" as const, keys, policy: { overlap: "allow" } };
    const { organizationId, id } = await createTrigger(triggers, room.caller, made);
    const from = Math.floor(clock.now() / HOUR);
    const { database: dead, die, isDead } = dying(kill);
    for (let play = 0; play < 4; play++) {
      clock.pass(3 * HOUR);
      for (;;) {
        const due = (await readTriggerRows(database, room.caller, [id])).get(id)!;
        const dueAt = due.nextDueAt!.getTime();
        if (dueAt > clock.now()) break;
        try {
          const next = await fireDue({ ...triggers, database: dead }, due);
          die();
          await setNextDue(database, [{ organization_id: organizationId, id, due_at: dueAt, ...next }]);
        } catch (error) {
          expect(String(error)).toContain("killed");
          // Two more have passed when it starts again.
          clock.pass(2 * HOUR);
        }
      }
    }
    const firings = await database.query(
      "select outcome, coalesce(skipped, 1) as instants from firings where organization_id = $1 and trigger_id = $2",
      [organizationId, id],
    );
    const kept = firings.reduce((sum, row) => sum + row["instants"], 0);
    expect(kept, `killed after ${kill} statements`).toBe(Math.floor(clock.now() / HOUR) - from);
    expect(firings.filter((row) => row["outcome"] === "started").length).toBeGreaterThanOrEqual(4);
    died = isDead();
  }
});

test("an agent has at most 100 triggers", async () => {
  const agentId = await agent();
  await insertMany([agentId], LIMITS.triggersPerAgent - 1);
  await create(agentId, "last");
  await expect(create(agentId, "over")).rejects.toMatchObject(
    full("an agent has at most 100 triggers: delete one first"),
  );
  // Its contents stand in the way then.
  await expect(create(agentId, "last")).rejects.toMatchObject({ details: { reason: "name_taken" } });
});

test("an organization has at most 100,000 triggers", async () => {
  const [row] = await database.query(
    "select count(*)::int as count from triggers where organization_id = $1 and deleted_at is null",
    [room.caller.organizationId],
  );
  await insertMany([await agent()], LIMITS.triggersPerOrganization - 1 - row!["count"]);
  await create(await agent(), "last");
  await expect(create(await agent(), "over")).rejects.toMatchObject(
    full("an organization has at most 100000 triggers: delete one first"),
  );
});
