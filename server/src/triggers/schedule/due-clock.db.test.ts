/** The clock that fires what is due: turns of organizations, several clocks on one database, failures. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDatabases } from "../../auth/handle/auth.testsuite.ts";
import { createLog } from "../../lib/log/log.ts";
import type { AgentId, OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { noNotices } from "../../realtime/notices.ts";
import { openRuns, type TestRuns } from "../../runs/runs.testsuite.ts";
import type { Database } from "../../storage/database.ts";
import { eventually } from "../../../../test/client.ts";
import { testClock, type TestClock } from "../../../../test/clock.ts";
import { scaled } from "../../../../test/scale.ts";
import { DueClock } from "./due-clock.ts";
import { organizationsToWake } from "./due-store.ts";
import type { Trigger } from "../store/trigger.ts";

const HOUR = 3_600_000;
const stack = new AsyncDisposableStack();
let database: Database;
let rooms: { room: TestRuns; agentId: AgentId }[];
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  rooms = [];
  for (let number = 0; number < 3; number++) {
    const room = stack.use(await openRuns(database));
    rooms.push({ room, agentId: await room.agentOf("do: [{a: {set: {b: 1}}}]") });
  }
});
afterAll(() => stack.disposeAsync());

const organizationOf = (index: number): OrganizationId => rooms[index]!.room.caller.organizationId;

/** So many triggers of an organization that are due at an instant. */
async function due(index: number, count: number, at: number): Promise<void> {
  await database.query(
    `insert into triggers (organization_id, id, project_id, agent_id, name, type, status, configuration, policy,
        next_due_at, wakes_at, created_by_kind, created_at, updated_at)
     select a.organization_id, gen_random_uuid(), a.project_id, a.id, gen_random_uuid()::text, 'cron', 'active',
            '{"schedule":"0 * * * *","timezone":"UTC","input":{}}', '{}', $4, $4, 'system', $4, $4
       from generate_series(1, $2::int), agents a where a.organization_id = $1 and a.id = $3`,
    [organizationOf(index), count, rooms[index]!.agentId, new Date(at)],
  );
}
const clear = (): Promise<unknown> =>
  database.query("delete from triggers where organization_id = any($1::uuid[])", [
    rooms.map((_, index) => organizationOf(index)),
  ]);

/** A clock of the database that notes what it fires, each due again after an hour. */
function watch(
  clock: TestClock,
  fire: (trigger: Trigger) => Promise<void> = async () => {},
  asked = database,
  mayFire?: () => boolean,
) {
  const fired: Trigger[] = [];
  const dueClock = new DueClock({ database: asked, clock, log: createLog("silent"), notices: noNotices });
  dueClock.start(async (trigger) => {
    await fire(trigger);
    fired.push(trigger);
    const next = trigger.nextDueAt!.getTime() + HOUR;
    return { next_due_at: next, wakes_at: next };
  }, mayFire);
  return { fired, dueClock };
}
/** For what hangs. */
const DEADLINE_MS = 240_000;
const until = async (holds: () => boolean): Promise<void> => {
  for (const end = Date.now() + DEADLINE_MS; !holds();) {
    if (Date.now() > end) throw new Error("did not come to it");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

/** Beside the one; more than the maximum that fires at a time. */
const OTHERS = scaled({ whole: 5_000, part: 1_500 });

test("an organization's one trigger fires among the first, whatever others have due at that instant", async () => {
  const clock = testClock();
  await due(0, OTHERS, clock.now());
  await due(1, 1, clock.now());
  const { fired, dueClock } = watch(clock);
  await using _ = dueClock;
  await until(() => fired.length === OTHERS + 1);
  const place = fired.findIndex(({ organizationId }) => organizationId === organizationOf(1));
  expect(place).toBeGreaterThanOrEqual(0);
  // Among the maximum that fires at a time.
  expect(place).toBeLessThan(512);
  expect(new Set(fired.map(({ id }) => id)).size).toBe(OTHERS + 1);
  await clear();
});

const SHARED = scaled({ whole: 2_000, part: 500 });

test("two clocks on one database fire each trigger once", async () => {
  const clock = testClock();
  await due(0, SHARED, clock.now());
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
  const [one, other] = [watch(clock, pause), watch(clock, pause)];
  await using _ = one.dueClock;
  await using _2 = other.dueClock;
  await until(() => one.fired.length + other.fired.length >= SHARED);
  const ids = [...one.fired, ...other.fired].map(({ id }) => id);
  expect(ids).toHaveLength(SHARED);
  expect(new Set(ids).size).toBe(SHARED);
  await clear();
});

test("a trigger that another process took and did not fire is due again after half a minute", async () => {
  const clock = testClock();
  await due(0, 1, clock.now());
  let taken = false;
  // Stands still in the middle, for ever, and its time too. It looks no second time, when what later tests have due is there.
  let looks = 0;
  const standStill = (): Promise<void> => {
    taken = true;
    return new Promise(() => {});
  };
  watch(testClock(clock.now()), standStill, database, () => looks++ === 0);
  await until(() => taken);
  const other = watch(clock);
  await using _ = other.dueClock;
  await new Promise((resolve) => setTimeout(resolve, 100));
  clock.pass(29_999);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(other.fired).toEqual([]);
  clock.pass(1);
  await until(() => other.fired.length === 1);
  await clear();
});

test("an organization whose firings take long delays no other's next instants, and goes on with its own when they end", async () => {
  const clock = testClock();
  await due(0, 600, clock.now());
  await due(1, 1, clock.now());
  const ending = Promise.withResolvers<void>();
  const ids = new Set<string>();
  let firing = 0;
  const { fired, dueClock } = watch(clock, async ({ organizationId, id }) => {
    if (organizationId === organizationOf(1)) return;
    expect(ids.has(id)).toBe(false);
    ids.add(id);
    firing++;
    await ending.promise;
    firing--;
  });
  await using _ = dueClock;
  for (let hour = 1; hour <= 3; hour++) {
    await until(() => fired.length === hour && firing >= 256);
    // A trigger that is being fired is not taken again, although its lease is over.
    expect(firing).toBe(256);
    clock.pass(HOUR);
  }
  ending.resolve();
  await until(() => ids.size === 600);
  await clear();
});

test("512 fire at once, 256 of one organization, and the others when these end", async () => {
  const clock = testClock();
  for (const of of [0, 1, 2]) await due(of, 300, clock.now());
  const ending = Promise.withResolvers<void>();
  const firing = new Map<string, number>();
  const { fired, dueClock } = watch(clock, async ({ organizationId }) => {
    firing.set(organizationId, (firing.get(organizationId) ?? 0) + 1);
    await ending.promise;
  });
  await using _ = dueClock;
  const all = (): number => [...firing.values()].reduce((sum, own) => sum + own, 0);
  await until(() => all() >= LIMITS.schedulesFiring);
  clock.pass(5_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(all()).toBe(LIMITS.schedulesFiring);
  expect(Math.max(...firing.values())).toBeLessThanOrEqual(LIMITS.schedulesFiringOwn);
  ending.resolve();
  await until(() => fired.length === 900);
  await clear();
});

test("a trigger due again before its firing's end was noticed fires then, not at the end of its lease", async () => {
  const clock = testClock();
  await due(0, 1, clock.now() - HOUR);
  const answered = Promise.withResolvers<void>();
  let written = 0;
  const looked: string[] = [];
  const hot: Database["hot"] = async (name, ...statement) => {
    const rows = await database.hot(name, ...statement);
    if (name === "triggers_take_due" && rows.length > 0) looked.push(name);
    if (name === "triggers_next_due" && ++written === 1) await answered.promise;
    return rows;
  };
  const { fired, dueClock } = watch(clock, undefined, { ...database, hot });
  await using _ = dueClock;
  await until(() => written === 1);
  dueClock.look();
  clock.pass(50);
  await until(() => looked.length === 2);
  answered.resolve();
  await until(() => fired.length === 2);
  await clear();
});

test("a trigger's next instant is written while another is locked, and the other's when it is free", async () => {
  const clock = testClock();
  await due(0, 1, clock.now());
  await due(1, 1, clock.now());
  const others = async (index: number): Promise<number> =>
    (
      await database.query("select from triggers where organization_id = $1 and next_due_at > $2", [
        organizationOf(index),
        new Date(clock.now()),
      ])
    ).length;
  const locked = Promise.withResolvers<void>();
  let taken = 0;
  const { dueClock } = watch(clock, () => (taken++, locked.promise));
  await using _ = dueClock;
  await until(() => taken === 2);
  await database.transaction(async (query) => {
    await query("select from triggers where organization_id = $1 for no key update", [organizationOf(0)]);
    locked.resolve();
    await eventually(async () => (await others(1)) === 1);
    expect(await others(0)).toBe(0);
  }, organizationOf(0));
  await eventually(async () => {
    clock.pass(50);
    return (await others(0)) === 1;
  });
  await clear();
});

test("a trigger that is being changed delays no other", async () => {
  const clock = testClock();
  let wakesAt = 0;
  const noting: TestClock = {
    ...clock,
    at: (at, fire) => {
      wakesAt = at;
      return clock.at(at, fire);
    },
  };
  await due(0, 2, clock.now());
  let locked: string | undefined;
  const { fired, dueClock } = await database.transaction(async (query) => {
    const [row] = await query(
      "select id from triggers where organization_id = $1 order by wakes_at, id limit 1 for no key update",
      [organizationOf(0)],
    );
    locked = row!["id"];
    const watched = watch(noting);
    await until(() => watched.fired.length === 1);
    expect(watched.fired[0]!.id).not.toBe(locked);
    return watched;
  }, organizationOf(0));
  await using _ = dueClock;
  // Its last look may have begun before the lock was gone and end after it. Time passes only while it waits for the next one.
  let passed = 0;
  await until(() => {
    if (wakesAt > clock.now() && wakesAt <= clock.now() + 5_000) {
      clock.pass(100);
      passed += 100;
    }
    return fired.length === 2;
  });
  expect(fired[1]!.id).toBe(locked);
  expect(passed).toBeLessThanOrEqual(200);
  await clear();
});

test("a trigger that can't be fired is retried a second later, and delays no other", async () => {
  const clock = testClock();
  await due(0, 3, clock.now());
  let bad: string | undefined;
  const tries: number[] = [];
  const { fired, dueClock } = watch(clock, async ({ id }) => {
    bad ??= id;
    if (id !== bad) return;
    tries.push(clock.now());
    if (tries.length < 3) throw new Error("no room");
  });
  await using _ = dueClock;
  await until(() => fired.length === 2 && tries.length === 1);
  for (const count of [2, 3]) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    clock.pass(1_000);
    await until(() => tries.length === count);
  }
  await until(() => fired.length === 3);
  expect(tries.map((at) => at - tries[0]!)).toEqual([0, 1_000, 2_000]);
  await clear();
});

test("it wakes at the next instant, and asks the database every 5 s for changes it was not told of", async () => {
  const clock = testClock();
  let asked = 0;
  const hot: Database["hot"] = (...statement) => {
    asked++;
    return database.hot(...statement);
  };
  await due(0, 1, clock.now() + 8_000);
  const { fired, dueClock } = watch(clock, undefined, { ...database, hot });
  await using _ = dueClock;
  await until(() => asked === 1);
  clock.pass(4_999);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect({ asked, fired }).toEqual({ asked: 1, fired: [] });
  clock.pass(1);
  await until(() => asked === 2);
  clock.pass(2_999);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect({ asked, fired }).toEqual({ asked: 2, fired: [] });
  clock.pass(1);
  await until(() => fired.length === 1);
  await clear();
});

test("a look costs what is due, however many organizations have triggers that are not", async () => {
  const clock = testClock();
  await due(0, 2, clock.now());
  await due(1, 1, clock.now() + HOUR);
  await database.transaction(async (query) => {
    // Their organizations need not be there.
    await query("set local session_replication_role = replica");
    // Nor is this a request, which has seconds.
    await query("set local statement_timeout = 0");
    await query(
      `insert into triggers (organization_id, id, project_id, agent_id, name, type, status, configuration, policy,
          next_due_at, wakes_at, created_by_kind, created_at, updated_at)
       select gen_random_uuid(), gen_random_uuid(), project_id, agent_id, 'not due', type, status, configuration, policy,
              next_due_at, wakes_at + interval '1 ms', created_by_kind, created_at, updated_at
         from generate_series(1, 5000), triggers where organization_id = $1`,
      [organizationOf(1)],
    );
  });
  let blocks = 0;
  const explained: Database["hot"] = async (name, text, values) => {
    const [row] = await database.hot(`explain_${name}`, `explain (analyze, buffers, format json) ${text}`, values);
    const { Plan: plan } = row!["QUERY PLAN"][0];
    blocks += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    return database.hot(name, text, values);
  };
  const { due: found, next } = await organizationsToWake({ ...database, hot: explained }, clock.now());
  expect({ found, next }).toEqual({ found: [organizationOf(0)], next: clock.now() + HOUR });
  // From one organization to the next it would be three for each.
  expect(blocks).toBeLessThan(100);
  // More than are read as they come.
  await due(0, 600, clock.now());
  expect(await organizationsToWake(database, clock.now())).toEqual({ due: found, next });
  await database.query("delete from triggers where name = 'not due'", []);
  await clear();
});
