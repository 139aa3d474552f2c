/** Runs that listen: no event is missed, whatever comes between what, and the edges of the limits. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectInTime } from "../../../test/in-time.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { eventually } from "../../../test/client.ts";
import { randomFrom } from "../../../test/faults/random.ts";
import { scaled } from "../../../test/scale.ts";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import { setFireAt, takeEvents } from "../events/events-to-fire.ts";
import { acceptEvent } from "../events/publish-event.ts";
import { SYSTEM } from "../audit/event.ts";
import type { EventDoor } from "../execution/events/event-door.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import { hashOfKey } from "../lib/events/event-key.ts";
import { newIdAt, type EventId, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { allOf } from "../lib/reach.ts";
import { cancelRun } from "../runs/cancel-run.ts";
import { readRun } from "../runs/read/read.ts";
import { signalRun } from "../runs/signal-run.ts";
import { idle, openRuns, type TestRuns } from "../runs/runs.testsuite.ts";
import { startRun } from "../runs/start-run.ts";
import { createSecrets } from "../secrets/secrets.ts";
import type { Database } from "../storage/database.ts";
import { forgetOld } from "./forget-firings.ts";
import { createEventDoor } from "./listening/event-door.ts";
import { hearEvent } from "./listening/hear-event.ts";
import { readPublished } from "./listening/listening-store.ts";
import { createTriggerMemory } from "./memory.ts";
import { createTriggers, type Triggers } from "./triggers.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let clock: TestClock;
/** Advances none of its runs. */
let resting: TestRuns;
let room: TestRuns;
let triggers: Triggers;
let door: EventDoor;
let doorOf: (clock: { now(): number }) => EventDoor;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  clock = testClock();
  resting = stack.use(await openRuns(database, { engine: idle }));
  triggers = triggersOf(resting);
  const memory = createTriggerMemory({ ...triggers, derive: secretKeys(Buffer.alloc(32, 3)).derive });
  doorOf = (given) =>
    createEventDoor({ database, clock: { ...clock, now: () => given.now() }, memory, events: () => triggers.events });
  door = doorOf(clock);
});
afterAll(() => stack.disposeAsync());

function triggersOf({ runs }: TestRuns): Triggers {
  const { derive } = secretKeys(Buffer.alloc(32, 3));
  const { agents, log } = runs;
  return createTriggers({
    secrets: createSecrets({ database, clock, log, derive }),
    database,
    clock,
    log,
    agents,
    runs,
    memory: createTriggerMemory({ database, clock, log, derive }),
    url: "https://agents.example.org",
  });
}

let last = 0;
const insertEvents = (of: TestRuns, type: string, count: number, at = Date.now()): Promise<unknown> =>
  database.query(
    `insert into events (id, organization_id, once, source, event, source_id, time, at, data, body_hash, depth, published_by_kind)
     select (lpad(to_hex($4::bigint + number / 1000), 12, '0') || '7' || lpad(to_hex(number % 1000), 3, '0') || '8' || right(md5($2 || number), 15))::uuid,
       $1, sha256(convert_to($2 || number, 'UTF8')), 'shop', $2, number::text, $5, $5, '{"n": 1}', '\\x00', 0, 'system'
       from generate_series(1, $3::int) number`,
    [of.caller.organizationId, type, count, at, new Date(at)],
  );

/** A run that no engine advances, as it is when it has been unloaded. */
async function restingRun(): Promise<Head> {
  const agentId = await resting.agentOf("do: [{a: {set: {b: 1}}}]");
  const { run } = await startRun(resting.runs, resting.caller, { agentId, input: {} });
  await database.query("update runs set wake_at = null where id = $1 and organization_id = $2", [
    run.id,
    resting.caller.organizationId,
  ]);
  return { ...run, startedBy: { kind: "user", id: run.id } } as unknown as Head;
}

const SEEDS = Array.from({ length: scaled({ whole: 100, part: 12 }) }, (_, index) => index + 1);
test.for(SEEDS)(
  "no event is missed and none is heard twice, in any order of commits, wakes and kills: %i",
  async (seed) => {
    const { next: random } = randomFrom(seed);
    const type = `model ${seed}`;
    const { organizationId } = resting.caller;
    const pause = (): Promise<void> => sleep(Math.floor(random() * 6));
    const runs = await Promise.all(Array.from({ length: 4 }, restingRun));
    const published: EventId[] = [];
    const seen = new Map<RunId, EventId[]>();

    const listen = async (head: Head): Promise<void> => {
      await pause();
      await door.expect(organizationId, [{ type }]);
      await pause();
      await database.transaction(async (query) => {
        await query(
          `insert into listeners (organization_id, run_id, step_number, place, project_id, agent_id, key)
         values ($1, $2, 1, 0, $3, $4, decode($5, 'hex'))`,
          [organizationId, head.id, head.projectId, head.agentId, hashOfKey({ type })],
        );
        // Another's statement may begin before this commit, and end after it.
        await pause();
      }, organizationId);
      await pause();
      seen.set(head.id, await door.published(head, [{ type }], 0));
    };
    const publish = async (): Promise<void> => {
      // Before, amid and after the steps that begin to listen.
      await sleep(Math.floor(random() * 150));
      await pause();
      const isKilled = random() < 0.4;
      const events = { ...triggers.events, reactions: { ...triggers.events.reactions } };
      events.reactions.hear = async (toFire) => {
        await pause();
        if (isKilled) throw new Error("killed");
        await hearEvent(triggers, toFire);
        if (random() < 0.3) throw new Error("killed after it told them");
      };
      const given = { source: "shop", event: type, id: `id ${++last}`, data: {}, text: "{}" };
      const { event, fired } = await acceptEvent(events, allOf(organizationId), SYSTEM, given);
      published.push(event.id);
      await fired;
    };
    await Promise.all([...runs.map(listen), ...Array.from({ length: 6 }, publish)]);

    // The sweep, of this process or another's.
    clock.pass(60_000);
    const now = clock.now();
    const left = await takeEvents(database, { now, until: now + 1, each: 100, most: 100, full: [], known: [] });
    for (const one of left) {
      await hearEvent(triggers, one);
      await setFireAt(database, one.event, null);
    }

    for (const head of runs) {
      const heard = (await door.heard(head)).map(({ id }) => id);
      expect(new Set(heard).size).toBe(heard.length);
      const known = new Set([...seen.get(head.id)!, ...heard]);
      expect([...known].toSorted(), `seed ${seed}`).toEqual(published.toSorted());
      const [row] = await database.query("select wake_at from runs where id = $1 and organization_id = $2", [
        head.id,
        organizationId,
      ]);
      // A run that was told is due.
      if (heard.length > 0) expect(row!["wake_at"]).not.toBeNull();
    }
  },
);

test.for(SEEDS)("no signal is missed, in any order of commits: %i", async (seed) => {
  const { next: random } = randomFrom(seed);
  const type = `signal ${seed}`;
  const { organizationId } = resting.caller;
  const pause = (): Promise<void> => sleep(Math.floor(random() * 6));
  const head = await restingRun();
  await door.expect(organizationId, [{ type }]);
  let seen: EventId[] = [];
  const listen = async (): Promise<void> => {
    await sleep(Math.floor(random() * 20));
    // As the journal does: the run's row and the step's in one statement.
    await database.transaction(async (query) => {
      await query(
        `with live as (update runs set revision = revision + 1 where id = $2 and organization_id = $1 returning id)
         insert into listeners (organization_id, run_id, step_number, place, project_id, agent_id, key)
         select $1, id, 1, 0, $3, $4, decode($5, 'hex') from live`,
        [organizationId, head.id, head.projectId, head.agentId, hashOfKey({ type })],
      );
      await pause();
    }, organizationId);
    await pause();
    seen = (await door.signals(head)).map(({ id }) => id);
  };
  const send = async (n: number): Promise<void> => {
    await sleep(Math.floor(random() * 25));
    await signalRun(resting.runs, resting.caller, {
      runId: head.id,
      name: type,
      data: { n },
      idempotencyKey: undefined,
    });
  };
  await Promise.all([listen(), ...[1, 2, 3, 4, 5, 6].map(send)]);
  const heard = (await door.heard(head)).map(({ id }) => id);
  const read = await door.read(head, [...new Set([...seen, ...heard])]);
  expect(new Set(read.map(({ data }) => data["n"])), `seed ${seed}`).toEqual(new Set([1, 2, 3, 4, 5, 6]));
  expect(read.map(({ id }) => id)).toEqual(read.map(({ id }) => id).toSorted());
  const [row] = await database.query("select wake_at from runs where id = $1 and organization_id = $2", [
    head.id,
    organizationId,
  ]);
  if (heard.length > 0) expect(row!["wake_at"]).not.toBeNull();
});

test("1,000 signals wait in a run, and not one more until a step has taken some", async () => {
  const { organizationId } = resting.caller;
  const head = await restingRun();
  const count = async (): Promise<number> => (await door.signals(head)).length;
  const send = (n: number): Promise<unknown> =>
    signalRun(resting.runs, resting.caller, {
      runId: head.id,
      name: "many",
      data: { n },
      idempotencyKey: undefined,
    });
  await database.query(
    `insert into signals (organization_id, run_id, id, name, data, at, sent_by_kind, body_hash)
     select $1, $2, gen_random_uuid(), 'many', '{}', $3, 'system', '\\x00' from generate_series(1, $4::int)`,
    [organizationId, head.id, new Date(), LIMITS.signalsWaiting - 1],
  );
  await send(1);
  await expect(send(2)).rejects.toMatchObject({ code: "CONFLICT", details: { reason: "limit_reached" } });
  expect(await count()).toBe(LIMITS.signalsWaiting);
  const [first, second] = await door.signals(head);
  await door.tookSignals(head, [first!.id, second!.id]);
  await send(3);
  expect(await count()).toBe(LIMITS.signalsWaiting - 1);
  // Another step that listened at the same time still reads what one has taken.
  expect(await door.read(head, [first!.id])).toHaveLength(1);
});

test("a signal is forgotten after 30 days", async () => {
  const { organizationId } = resting.caller;
  const head = await restingRun();
  const ids = [31, 29].map((days) => newIdAt<"event">(clock.now() - days * 86_400_000));
  await database.query(
    `insert into signals (organization_id, run_id, id, name, data, at, sent_by_kind, body_hash)
     select $1, $2, id, 'old', '{}', $3, 'system', '\\x00' from unnest($4::uuid[]) id`,
    [organizationId, head.id, new Date(), ids],
  );
  await forgetOld({ database, clock });
  expect((await door.signals(head)).map(({ id }) => id)).toEqual([ids[1]]);
});

test("an event finds those that ask for its value, and no others", async () => {
  const { organizationId } = resting.caller;
  const heads = await Promise.all(Array.from({ length: 5 }, restingRun));
  const asked = [
    { type: "keys", path: "status", value: "paid" },
    { type: "keys", path: ["order", "id"], value: 7 },
    { type: "keys", source: "shop" },
    { type: "keys", source: "other" },
    { type: "keys", path: "status", value: "open" },
  ];
  await door.expect(organizationId, asked);
  for (const [index, key] of asked.entries())
    await database.query(
      `insert into listeners (organization_id, run_id, step_number, place, project_id, agent_id, key)
       values ($1, $2, 1, 0, $3, $4, decode($5, 'hex'))`,
      [organizationId, heads[index]!.id, heads[index]!.projectId, heads[index]!.agentId, hashOfKey(key)],
    );
  const data = { status: ["sent", "paid"], order: { id: 7 } };
  const given = { source: "shop", event: "keys", id: `id ${++last}`, data, text: JSON.stringify(data) };
  await (
    await acceptEvent(triggers.events, allOf(organizationId), SYSTEM, given)
  ).fired;
  const heard = await Promise.all(heads.map(async (head) => (await door.heard(head)).length));
  expect(heard).toEqual([1, 1, 1, 0, 0]);
});

test("at most 100,000 kinds of event are listened to, and one is forgotten after 31 days", async () => {
  const { organizationId } = resting.caller;
  const countOf = async (): Promise<number> => {
    const [row] = await database.query("select count(*)::int as count from listened where organization_id = $1", [
      organizationId,
    ]);
    return row!["count"];
  };
  const fill = (count: number): Promise<unknown> =>
    database.query(
      `insert into listened (organization_id, event, path, since, used_at)
       select $1, 'kind ' || number, '', $3, $3 from generate_series(1, $2::int) number on conflict do nothing`,
      [organizationId, count, new Date(clock.now())],
    );
  await database.query("delete from listened where organization_id = $1", [organizationId]);
  await fill(LIMITS.eventsListened - 1);
  await door.expect(organizationId, [{ type: "one" }]);
  await expect(door.expect(organizationId, [{ type: "two" }])).rejects.toMatchObject({
    fields: { detail: expect.stringContaining("at most 100000 kinds of event") },
  });
  expect(await countOf()).toBe(LIMITS.eventsListened);
  const known = async (): Promise<number> => {
    await forgetOld(triggers);
    return countOf();
  };
  clock.pass(LIMITS.listenedDays * 86_400_000);
  expect(await known()).toBe(LIMITS.eventsListened);
  clock.pass(1);
  expect(await known()).toBe(0);
});

test("at most 1,000 places of one type of event are looked at", async () => {
  const { organizationId } = resting.caller;
  await database.query(
    `insert into listened (organization_id, event, path, since, used_at)
     select $1, 'places', to_json('field ' || number), $3, $3 from generate_series(1, $2::int) number`,
    [organizationId, LIMITS.placesListened - 1, new Date(clock.now())],
  );
  await door.expect(organizationId, [{ type: "places", path: "one" }]);
  await expect(door.expect(organizationId, [{ type: "places", path: "two" }])).rejects.toMatchObject({
    fields: { detail: expect.stringContaining("by at most 1000 places") },
  });
  await door.expect(organizationId, [
    { type: "places", path: "field 1" },
    { type: "another", path: "two" },
  ]);
});

const WAITING = scaled({ whole: 100_000, part: 5_000 });
test("an event that ten of 100,000 waiting runs want is told to these within 100 ms", async () => {
  const { organizationId } = resting.caller;
  const heads = await Promise.all(Array.from({ length: 10 }, restingRun));
  const { projectId, agentId } = heads[0]!;
  const keyOf = (order: string): string => hashOfKey({ type: "many", path: ["order"], value: order });
  await door.expect(organizationId, [{ type: "many", path: ["order"] }]);
  await database.query(
    `insert into listeners (organization_id, run_id, step_number, place, project_id, agent_id, key)
     select $1, gen_random_uuid(), 1, 0, $2, $3, sha256(convert_to(number::text, 'UTF8')) from generate_series(1, $4::int) number`,
    [organizationId, projectId, agentId, WAITING],
  );
  await database.query(
    `insert into listeners (organization_id, run_id, step_number, place, project_id, agent_id, key)
     select $1, run, 1, 0, $2, $3, decode($5, 'hex') from unnest($4::uuid[]) run`,
    [organizationId, projectId, agentId, heads.map(({ id }) => id), keyOf("mine")],
  );
  const send = async (order: string): Promise<number> => {
    const since = performance.now();
    const given = {
      source: "shop",
      event: "many",
      id: `id ${++last}`,
      data: { order },
      text: JSON.stringify({ order }),
    };
    await (
      await acceptEvent(triggers.events, allOf(organizationId), SYSTEM, given)
    ).fired;
    return performance.now() - since;
  };
  // The first has its statements planned.
  await send("another");
  const ms = await send("mine");
  process.stderr.write(`${WAITING} waiting runs: ten told in ${ms.toFixed(1)} ms\n`);
  const due = await database.query(
    "select 1 from runs where organization_id = $1 and id = any($2::uuid[]) and wake_at is not null",
    [organizationId, heads.map(({ id }) => id)],
  );
  expect(due).toHaveLength(10);
  expectInTime(ms, 1_000);
});

/** Last, since its engine takes up every due run, those that rest too. */
describe("a run that is advanced", () => {
  beforeAll(async () => {
    room = stack.use(await openRuns(database, { events: doorOf({ now: () => Date.now() }) }));
  });

  test("the newest 10,000 since the run was started are looked through", async () => {
    const { organizationId } = room.caller;
    const at = Date.now();
    await insertEvents(room, "busy", LIMITS.eventsLookedBack + 1, at);
    const found = await readPublished(database, organizationId, [{ type: "busy", source: "shop" }], at);
    const [first] = await database.query(
      "select min(id::text) as id from events where organization_id = $1 and event = 'busy'",
      [organizationId],
    );
    expect(found).toHaveLength(LIMITS.eventsLookedBack);
    expect(found).not.toContain(first!["id"]);
  });

  async function ended(
    body: string,
    before: (head: { id: RunId }) => Promise<unknown>,
  ): Promise<{ status: string; error: string }> {
    const agentId = await room.agentOf(body);
    const { run } = await startRun(room.runs, room.caller, { agentId, input: {} });
    await before(run);
    return eventually(async () => {
      const now = await readRun(room.runs, room.caller, run.id);
      return now!.finishedAt ? { status: now!.status, error: JSON.stringify(now!.error) } : undefined;
    });
  }

  test.each([
    [LIMITS.eventsTaken, "completed"],
    [LIMITS.eventsTaken + 1, "failed"],
  ])("a step takes 1,000 events and not one more: %i", async (count, status) => {
    const type = `taken ${count}`;
    const until = `'length == ${count}'`;
    const run = await ended(
      `do: [{nap: {wait: {milliseconds: 300}}}, {hear: {listen: {to: {any: [{with: {type: ${type}}}], until: ${until}}}}}]`,
      () => insertEvents(room, type, count, Date.now() + 10),
    );
    expect(run.status).toBe(status);
    if (status === "failed") expect(run.error).toContain("at most 1000 events");
  });

  test.each([
    [LIMITS.eventsHeard, "timeout"],
    [LIMITS.eventsHeard + 1, "more than 1000 events wait"],
  ])("1,000 events wait for a step, and not one more: %i", async (count, said) => {
    const type = `heard ${count}`;
    const run = await ended(
      `do: [{hear: {listen: {to: {one: {with: {type: ${type}}}}}, timeout: {after: {seconds: 2}}}}]`,
      async ({ id }) => {
        await eventually(
          async () =>
            (
              await database.query("select 1 from listeners where organization_id = $1 and run_id = $2", [
                room.caller.organizationId,
                id,
              ])
            ).length > 0,
        );
        await database.query(
          "insert into heard_events select $1, $2, 1, gen_random_uuid() from generate_series(1, $3::int)",
          [room.caller.organizationId, id, count],
        );
        await database.query(
          "update runs set wake_seq = wake_seq + 1, wake_at = 'epoch' where id = $1 and organization_id = $2",
          [id, room.caller.organizationId],
        );
        room.runs.engine.wake(id, { organizationId: room.caller.organizationId });
      },
    );
    expect(run.error).toContain(said);
  });

  test("a run that is cancelled leaves nothing behind by which it would be found", async () => {
    const { organizationId } = room.caller;
    const agentId = await room.agentOf("do: [{hear: {listen: {to: {one: {with: {type: cancelled}}}}}}]");
    const { run } = await startRun(room.runs, room.caller, { agentId, input: {} });
    const count = async (table: string): Promise<number> => {
      const text = `select 1 from ${table} where organization_id = $1 and run_id = $2`;
      return (await database.query(text, [organizationId, run.id])).length;
    };
    await eventually(async () => (await count("listeners")) === 1);
    await database.query("insert into heard_events values ($1, $2, 1, gen_random_uuid())", [organizationId, run.id]);
    await cancelRun(room.runs, room.caller, run.id);
    expect([await count("listeners"), await count("heard_events")]).toEqual([0, 0]);
  });
});
