/** Firings that find their trigger changed, or in the hands of somebody who changes it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import { openRuns, type TestRuns } from "../runs/runs.testsuite.ts";
import { createSecrets } from "../secrets/secrets.ts";
import type { Database } from "../storage/database.ts";
import { testClock } from "../../../test/clock.ts";
import { scaled } from "../../../test/scale.ts";
import { deleteTrigger, setTriggerStatus } from "./change-trigger.ts";
import { createTrigger } from "./create-trigger.ts";
import { fire } from "./firings/fire.ts";
import { createTriggerMemory } from "./memory.ts";
import { listFirings } from "./store/list-firings.ts";
import type { Trigger } from "./store/trigger.ts";
import { createTriggers, type Triggers } from "./triggers.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let room: TestRuns;
let triggers: Triggers;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  const clock = testClock();
  room = stack.use(await openRuns(database));
  const { runs } = room;
  const { agents, log } = runs;
  const { derive } = secretKeys(Buffer.alloc(32, 3));
  const secrets = createSecrets({ database, clock, log, derive });
  const memory = createTriggerMemory({ database, clock, log, derive });
  triggers = createTriggers({ secrets, database, clock, log, agents, runs, memory, url: "https://agents.example.org" });
});
afterAll(() => stack.disposeAsync());

/** A webhook trigger whose runs last, and how often its agent has been started. */
async function lasting(overlap: string): Promise<{ trigger: Trigger; started: () => Promise<Record<string, number>> }> {
  const agentId = await room.agentOf("do: [{a: {wait: {hours: 1}}}]");
  const made = { agentId, name: `lasting ${overlap}`, type: "webhook" as const, keys: {}, policy: { overlap } };
  const trigger = await createTrigger(triggers, room.caller, made);
  const started = async () => {
    const rows = await database.query(
      "select status, count(*) as count from runs where organization_id = $1 and agent_id = $2 group by status",
      [trigger.organizationId, agentId],
    );
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  };
  return { trigger, started };
}
const fireOnce = (trigger: Trigger) => fire(triggers, trigger, { dueAt: null, payload: {} });

test("with overlap `queue`, a firing does not wait for a change to the trigger: its run waits instead", async () => {
  const { trigger, started } = await lasting("queue");
  await fireOnce(trigger);
  await database.transaction(async (query) => {
    const ids = [trigger.organizationId, trigger.id];
    await query("select id from triggers where organization_id = $1 and id = $2 for update", ids);
    expect((await fireOnce(trigger))!.firing.outcome).toBe("started");
  });
  expect(await started()).toEqual({ running: 1, pending: 1 });
});

// It takes the ten seconds that a firing waits.
test.for(scaled({ whole: ["skip"], part: [] }))(
  "a firing whose trigger stays locked is UNAVAILABLE after a while, with %s, and leaves nothing behind",
  async (overlap) => {
    const { trigger, started } = await lasting(overlap);
    await database.transaction(async (query) => {
      const ids = [trigger.organizationId, trigger.id];
      await query("select id from triggers where organization_id = $1 and id = $2 for update", ids);
      await expect(fireOnce(trigger)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
    expect(await started()).toEqual({});
    expect((await listFirings(triggers, trigger, { first: 10 })).items).toEqual([]);
    expect((await fireOnce(trigger))!.firing.outcome).toBe("started");
  },
);

test("a trigger that was paused or deleted meanwhile starts no run, and cancels none to make room", async () => {
  const { trigger, started } = await lasting("cancelPrevious");
  await fireOnce(trigger);
  // This process has not heard of it.
  await setTriggerStatus(triggers, room.caller, { triggerId: trigger.id, status: "paused" });
  const paused = await fireOnce(trigger);
  expect(paused).toMatchObject({ firing: { outcome: "refused" }, refusal: { message: "the trigger is paused" } });
  expect(await started()).toEqual({ running: 1 });
  for (const overlap of ["allow", "skip"]) {
    const deleted = await lasting(overlap);
    await deleteTrigger(triggers, room.caller, deleted.trigger.id);
    expect(await fireOnce(deleted.trigger)).toBeUndefined();
    expect(await deleted.started()).toEqual({});
  }
});
