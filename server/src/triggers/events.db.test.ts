import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "../../../test/in-time.ts";
import { SYSTEM } from "../audit/event.ts";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import { newId, type AgentId, type FiringId, type OrganizationId, type ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { idle, openRuns, type TestRuns } from "../runs/runs.testsuite.ts";
import { createSecrets } from "../secrets/secrets.ts";
import type { Database, Row } from "../storage/database.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { createTrigger } from "./create-trigger.ts";
import { fire } from "./firings/fire.ts";
import { readFiringPayloads } from "./store/firing-store.ts";
import { forgetOld } from "./forget-firings.ts";
import { replayFiring } from "./replay-firing.ts";
import { readSourceTriggers } from "./store/trigger-store.ts";
import type { Firing, Trigger } from "./store/trigger.ts";
import { createTriggerMemory } from "./memory.ts";
import { createTriggers, type Triggers } from "./triggers.ts";
import type { Event } from "../events/event.ts";
import { countOfRoot } from "../events/event-roots.ts";
import { countToFire } from "../events/events-to-fire.ts";
import { pageOfEventRows } from "../events/read-events.ts";
import { FiringPlaces } from "../events/firing-places.ts";
import { explainEvents } from "./matching/explain-event.ts";
import { Listeners } from "./matching/listeners.ts";
import { sweepEvents } from "../events/sweep-events.ts";
import { listEventFirings, listFirings } from "./store/list-firings.ts";
import { listEvents } from "../events/list-events.ts";
import { acceptEvent, publishEvent } from "../events/publish-event.ts";

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
  triggers = triggersOf(database);
});
afterAll(() => stack.disposeAsync());

/** As a process of its own has them. */
function triggersOf(as: Database): Triggers {
  const { agents, log } = room.runs;
  const { derive } = secretKeys(Buffer.alloc(32, 3));
  return createTriggers({
    secrets: createSecrets({ database, clock, log, derive }),
    database: as,
    clock,
    log,
    agents,
    runs: room.runs,
    memory: createTriggerMemory({ database: as, clock, log, derive }),
    url: "https://agents.example.org",
  });
}

let last = 0;
const agent = (): Promise<AgentId> => room.agentOf("do: [{a: {set: {b: 1}}}]");
const create = (agentId: AgentId, source: string): Promise<Trigger> =>
  createTrigger(triggers, room.caller, {
    agentId,
    name: `trigger ${++last}`,
    type: "event",
    keys: { source, event: "paid" },
    policy: {},
  });
const send = (source: string, data = {}): Promise<Event> =>
  publishEvent(triggers.events, room.caller, { source, event: "paid", id: `id ${++last}`, data });
const firings = async (event: Event): Promise<Firing[]> =>
  (await listEventFirings(triggers, room.caller, event, { first: 100 })).items;
/** The holder of these keeps every trigger from being fired. */
function holdSlots(): Disposable & { free(): void } {
  const { organizationId } = room.caller;
  let held = 0;
  while (triggers.slots.tryTake(organizationId)) held++;
  const free = (): void => {
    for (; held > 0; held--) triggers.slots.release(organizationId);
  };
  return { free, [Symbol.dispose]: free };
}
/** So many as they would be after as many calls; the caches don't know them. */
const insertMany = (agentIds: AgentId[], source: string, count: number): Promise<unknown> =>
  database.query(
    `insert into triggers (organization_id, id, project_id, agent_id, name, type, status, configuration, policy,
        created_by_kind, created_at, updated_at)
     select a.organization_id, gen_random_uuid(), a.project_id, a.id, $4::json ->> 'source' || ' ' || number, 'event', 'active', $4::json, '{}', 'system', $5, $5
       from generate_series(1, $2::int) number, agents a where a.organization_id = $1 and a.id = any($3::uuid[])`,
    [
      room.caller.organizationId,
      count,
      agentIds,
      JSON.stringify({ source, event: "paid", filter: {} }),
      new Date(clock.now()),
    ],
  );

test("an event is kept for 30 days", async () => {
  const { id } = await send("kept");
  const kept = async (): Promise<boolean> => {
    await forgetOld(triggers);
    return (await listEvents(triggers, room.caller, {}, { first: 100 })).items.some((event) => event.id === id);
  };
  clock.pass(LIMITS.eventDays * 86_400_000);
  expect(await kept()).toBe(true);
  clock.pass(1);
  expect(await kept()).toBe(false);
});

test("a firing shows its event's data as long as it is kept, also when the event's id was used again", async () => {
  await create(await agent(), "shown");
  const given = { source: "shown", event: "paid", id: "same" };
  const event = await publishEvent(triggers.events, room.caller, { ...given, data: { a: 1 } });
  const [first] = await firings(event);
  const payloadOf = async (id: FiringId): Promise<string | undefined> =>
    (await readFiringPayloads(database, room.caller.organizationId, [id])).get(id);
  clock.pass(LIMITS.eventDays * 86_400_000);
  const again = await replayFiring(triggers, room.caller, first!.id);
  clock.pass(1);
  const other = await publishEvent(triggers.events, room.caller, { ...given, data: { a: 2 } });
  expect(other.id).not.toBe(event.id);
  await forgetOld(triggers);
  expect(await Promise.all([first!.id, again.id].map(payloadOf))).toEqual([undefined, '{"a":1}']);
  const stored = await database.query("select 1 from firings where organization_id = $1 and payload is not null", [
    room.caller.organizationId,
  ]);
  expect(stored).toEqual([]);
  clock.pass(LIMITS.firingDays * 86_400_000 + 1);
  await forgetOld(triggers);
  expect((await listEvents(triggers, room.caller, {}, { first: 100 })).items).toEqual([]);
});

test("at most 5,000 triggers match one source and event", async () => {
  await insertMany(await Promise.all(Array.from({ length: 50 }, agent)), "many", LIMITS.triggersPerEvent / 50);
  await database.query(
    "delete from triggers where organization_id = $1 and id in (select id from triggers where organization_id = $1 and name = 'many 1' limit 1)",
    [room.caller.organizationId],
  );
  const agentId = await agent();
  await create(agentId, "many");
  const full = {
    code: "CONFLICT",
    details: { reason: "limit_reached" },
    message: "an organization has at most 5000 event triggers with the same source and event: delete one first",
  };
  await expect(create(agentId, "many")).rejects.toMatchObject(full);
  await create(agentId, "other");
});

test("an event whose triggers take long is answered after 10 s at most, and they are fired in the end", async () => {
  await create(await agent(), "slow");
  using slots = holdSlots();
  const sent = send("slow");
  let isAnswered = false;
  void sent.then(() => (isAnswered = true));
  await expect.poll(() => triggers.events.firing.size).toBe(1);
  clock.pass(LIMITS.eventWaitSeconds * 1_000 - 1);
  expect(await firingsUnder(() => isAnswered)).toBe(false);
  clock.pass(1);
  const event = await sent;
  expect(await firings(event)).toEqual([]);
  slots.free();
  await Promise.all(triggers.events.firing.values());
  expect(await firings(event)).toMatchObject([{ outcome: "started" }]);
});

/** After whatever the clock has set off. */
async function firingsUnder(read: () => boolean): Promise<boolean> {
  await new Promise(setImmediate);
  return read();
}

test("at most 1,000 events fire at a time, 100 per organization; the next one waits in its table", async () => {
  const places = new FiringPlaces();
  const ids = Array.from({ length: 11 }, () => newId<"organization">());
  const taken = (id: OrganizationId): number => {
    let count = 0;
    while (places.tryTake(id, 1)) count++;
    return count;
  };
  expect(ids.map(taken)).toEqual([...Array.from({ length: 10 }, () => LIMITS.eventsFiringOwn), 0]);
  places.release(ids[0]!, 1);
  expect(taken(ids[10]!)).toBe(1);

  await create(await agent(), "crowd");
  const { organizationId } = room.caller;
  for (let count = 0; count < LIMITS.eventsFiringOwn; count++) triggers.events.places.tryTake(organizationId, 1);
  const event = await send("crowd");
  expect(await firings(event)).toEqual([]);
  for (let count = 0; count < LIMITS.eventsFiringOwn; count++) triggers.events.places.release(organizationId, 1);
  await using _sweep = sweepEvents(triggers.events);
  await expect.poll(() => firings(event)).toMatchObject([{ outcome: "started" }]);
});

test("at most 64 triggers of an organization fire at a time, 128 in total; 16 and 32 for the service's own events", () => {
  const organizations = [newId<"organization">(), newId<"organization">(), newId<"organization">()] as const;
  const { slots } = triggers;
  const { ownSlots } = triggers.events;
  const taken = (of: typeof slots): number[] =>
    organizations.map((id) => Array.from({ length: 200 }, () => of.tryTake(id)).filter(Boolean).length);
  expect([taken(slots), taken(ownSlots)]).toEqual([
    [64, 64, 0],
    [16, 16, 0],
  ]);
  for (const id of organizations.slice(0, 2)) {
    for (let held = LIMITS.triggersFiringOwn; held > 0; held--) slots.release(id);
    for (let held = LIMITS.ownEventsPublishingOwn; held > 0; held--) ownSlots.release(id);
  }
});

test("at most 10,000 events of an organization wait to be fired; accepted ones are fired", async () => {
  const { organizationId } = room.caller;
  const trigger = await create(await agent(), "waiting");
  using _places = holdPlaces(organizationId);
  const first = await send("waiting");
  await database.query(
    `insert into events (id, organization_id, once, source, event, source_id, time, at, data, body_hash, depth, published_by_kind, fire_at)
     select gen_random_uuid(), $1, sha256(number::text::bytea), 'nowhere', 'paid', number::text, $3, $3, '{}', '', 0, 'system', $4
       from generate_series(1, $2::int - 3) number`,
    [organizationId, LIMITS.eventsWaiting, new Date(clock.now()), new Date(clock.now() + 86_400_000)],
  );
  clock.pass(1_000);
  const sent = await Promise.allSettled(Array.from({ length: 5 }, () => send("waiting")));
  expect(sent.map(({ status }) => status).toSorted()).toEqual([
    ...Array.from({ length: 2 }, () => "fulfilled"),
    ...Array.from({ length: 3 }, () => "rejected"),
  ]);
  expect(sent.find(({ status }) => status === "rejected")).toMatchObject({
    reason: { code: "UNAVAILABLE", message: expect.stringContaining("10000 events"), details: { retryAfter: 5 } },
  });
  // An event that fires nothing waits for nobody.
  await send("heard by nobody");
  {
    await using _sweep = sweepEvents(triggers.events);
    await expect.poll(() => firings(first)).toMatchObject([{ outcome: "started" }]);
    await expect.poll(async () => (await listFirings(triggers, trigger, { first: 10 })).items.length).toBe(3);
  }
  await database.query("delete from events where organization_id = $1 and source = 'nowhere'", [organizationId]);
  clock.pass(1_000);
  await send("waiting");
});

test("an event that another process left is fired after its lease, and no fired one again", async () => {
  const [one, two] = [await create(await agent(), "left"), await create(await agent(), "left")];
  using slots = holdSlots();
  void send("left", { a: 1 });
  await expect.poll(() => triggers.events.firing.size).toBe(1);
  const { items } = await listEvents(triggers, room.caller, {}, { first: 100 });
  const event = items.find(({ source }) => source === "left");
  // The first process fires one and stands still. Another one goes on.
  const bodyHash = (
    await database.query("select encode(body_hash, 'hex') as hash from events where organization_id = $1 and id = $2", [
      room.caller.organizationId,
      event!.id,
    ])
  )[0]!["hash"];
  const delivery = { name: event!.sourceId, bodyHash };
  await fire(triggers, one, { dueAt: null, payload: { a: 1 }, delivery, event: event! });
  const later = triggersOf({ ...database, isEmbedded: false });
  // Made after the event, so not fired on it.
  clock.pass(1);
  await create(await agent(), "left");
  {
    await using _sweep = sweepEvents(later.events);
    expect(await firings(event!)).toHaveLength(1);
  }
  clock.pass(60_000);
  await using _sweep = sweepEvents(later.events);
  await expect.poll(() => firings(event!)).toHaveLength(2);
  // The first wakes up: it fires nothing again.
  slots.free();
  await Promise.all(triggers.events.firing.values());
  const fired = await firings(event!);
  expect(fired.map(({ outcome }) => outcome)).toEqual(["started", "started"]);
  expect(fired.map(({ triggerId }) => triggerId).toSorted()).toEqual([one.id, two.id].toSorted());
});

/** Its events find no place in memory, so they wait in their table. */
function holdPlaces(id: OrganizationId): Disposable {
  const { places } = triggers.events;
  let held = 0;
  while (places.tryTake(id, 1)) held++;
  return {
    [Symbol.dispose]: () => {
      for (; held > 0; held--) places.release(id, 1);
    },
  };
}

test("a listener distrusts its value after possibly missed changes, also during a read", async () => {
  const reading = Promise.withResolvers<void>();
  const slow: Database = {
    ...database,
    query: async (...all) => {
      const rows = await database.query(...all);
      await reading.promise;
      return rows;
    },
  };
  const listeners = new Listeners({ database: slow, log: room.runs.log });
  const hears = (): boolean => listeners.has(newId<"organization">(), "run.completed");
  await using watching = listeners.watch(clock);
  listeners.forget();
  reading.resolve();
  await expect.poll(() => watching.timesRound).toBeGreaterThan(0);
  expect(hears()).toBe(true);
  await using again = listeners.watch(clock);
  await expect.poll(() => again.timesRound).toBeGreaterThan(0);
  expect(hears()).toBe(false);
});

test("an organization whose events are stuck delays no other, and holds at most half of the room; all go on at once when it is free", async () => {
  const { caller: other, ...otherRoom } = stack.use(await openRuns(database, { engine: idle }));
  using _own = holdPlaces(room.caller.organizationId);
  using _others = holdPlaces(other.organizationId);
  await create(await agent(), "standing");
  await using _sweep = sweepEvents(triggers.events);
  using slots = holdSlots();
  for (let count = 0; count < 1.25 * LIMITS.eventsSwept; count++) await send("standing", { count });
  await expect.poll(() => triggers.events.firing.size).toBeGreaterThanOrEqual(32);
  const keys = { source: "moving", event: "paid" };
  const agentId = await otherRoom.agentOf("do: [{a: {set: {b: 1}}}]");
  await createTrigger(triggers, other, { agentId, name: "one", type: "event", keys, policy: {} });
  const event = await publishEvent(triggers.events, other, { ...keys, id: "one", data: {} });
  await expect
    .poll(async () => (await listEventFirings(triggers, other, event, { first: 1 })).items)
    .toMatchObject([{ outcome: "started" }]);
  // 32, the rest of the last four that were taken together, and the other's.
  expect(triggers.events.firing.size).toBeLessThanOrEqual(36);
  slots.free();
  await expect.poll(() => countToFire(database, room.caller.organizationId, 100)).toBe(0);
});

test("an event fires 1,000 triggers in time", async () => {
  await insertMany(await Promise.all(Array.from({ length: 10 }, agent)), "fan", 100);
  const begunAt = performance.now();
  const event = await send("fan", { a: 1 });
  // Ten times the promise.
  expectInTime(performance.now() - begunAt, 10 * 1_000);
  const [row] = await database.query(
    "select count(*)::int as count, count(distinct run_id)::int as runs from firings where organization_id = $1 and event_id = $2 and outcome = 'started'",
    [room.caller.organizationId, event.id],
  );
  expect(row).toEqual({ count: 1_000, runs: 1_000 });
});

test("an event lists the newest 100 triggers of its source", async () => {
  const two = [await agent(), await agent()];
  await insertMany(two, "told", LIMITS.eventTriggersExplained / 2 + 1);
  const event = await send("told");
  const [explained] = await explainEvents(triggers, room.caller, [event]);
  expect([explained!.matches.length, explained!.misses]).toEqual([LIMITS.eventTriggersExplained, []]);
});

test("an event lists its own triggers first, however many newer ones its source has", async () => {
  const two = [await agent(), await agent()];
  const request = { type: "event", keys: { source: "mixed", event: "sent" }, policy: {} } as const;
  const own = await createTrigger(triggers, room.caller, { agentId: two[0]!, name: "own", ...request });
  clock.pass(10);
  await insertMany(two, "mixed", LIMITS.eventTriggersExplained / 2);
  const event = await publishEvent(triggers.events, room.caller, { source: "mixed", event: "sent", id: "1", data: {} });
  const [explained] = await explainEvents(triggers, room.caller, [event]);
  expect(explained!.matches.map(({ id }) => id)).toEqual([own.id]);
  expect(explained!.misses).toHaveLength(LIMITS.eventTriggersExplained - 1);
  expect(explained!.misses[0]!.reason).toBe("it fires on the event paid");
});

/** Rows of tables that were looked at. */
const examinedIn = (plan: Row): number =>
  (plan["Index Name"] || plan["Relation Name"]
    ? plan["Actual Loops"] * (plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0))
    : 0) + (plan["Plans"] ?? []).map(examinedIn).reduce((sum: number, one: number) => sum + one, 0);

test("a page of events, or of a source's triggers, costs what it shows, whatever else there is", async () => {
  const organizationId = newId<"organization">();
  const [busy, quiet] = [newId<"project">(), newId<"project">()];
  await database.query(
    `insert into events (id, organization_id, reach, once, project_ids, agent_ids, source, event, source_id, time, at, data, body_hash,
        depth, published_by_kind)
     select lpad(to_hex(number), 32, '0')::uuid, $1, sha256(project::text::bytea), sha256(number::text::bytea), array[project], '{}',
        case when number % 5000 = 7 then 'rare' else 'shop' end, case when number % 5000 = 9 then 'rare' else 'paid' end, number::text, $4,
        $4, '{}', '', 0, 'system'
       from (select number, case when number % 7000 = 1 then $3::uuid else $2::uuid end as project from generate_series(1, 20000) number)`,
    [organizationId, busy, quiet, new Date(clock.now())],
  );
  const agentIds = await Promise.all(Array.from({ length: 10 }, agent));
  await insertMany(agentIds, "listed", 20);
  await insertMany(agentIds, "another", 200);
  await database.query("analyze events, triggers");
  const explained: { what: string; found: number; examined: number }[] = [];
  const within = (projectId?: ProjectId) => ({
    organizationId,
    reach: projectId && { projectIds: [projectId], agentIds: [], shownProjectIds: [] },
  });
  const explaining = (what: string): Database =>
    ({
      query: async (text: string, values: unknown[]) => {
        const [row] = await database.query(`explain (analyze, format json) ${text}`, values);
        const [{ Plan: plan }] = row!["QUERY PLAN"];
        explained.push({ what, found: plan["Actual Rows"], examined: examinedIn(plan) });
        return [];
      },
    }) as unknown as Database;
  const rare = { source: ["rare"] };
  const named = { source: ["shop"], event: ["rare"] };
  const several = { source: ["none", "rare", "shop"] };
  const pairs = { source: ["rare", "shop"], event: ["rare", "sent"] };
  for (const [projectId, filter, after] of [
    [undefined, {}, undefined],
    [undefined, rare, undefined],
    [undefined, named, undefined],
    [undefined, several, undefined],
    [undefined, pairs, undefined],
    [quiet, {}, undefined],
    [quiet, {}, newId<"event">()],
    [busy, {}, undefined],
    [busy, rare, undefined],
    [busy, named, undefined],
    [busy, pairs, undefined],
  ] as const)
    await pageOfEventRows(
      explaining(`${projectId === quiet ? "quiet" : projectId} ${JSON.stringify(filter)} ${after}`),
      within(projectId),
      filter,
      { first: 50, ...(after && { after }) },
    );
  const { organizationId: own } = room.caller;
  const [{ project_id: projectId }] = (await database.query(
    "select project_id from triggers where organization_id = $1 limit 1",
    [own],
  )) as [Row];
  for (const reach of [undefined, { projectIds: [projectId], agentIds: [], shownProjectIds: [] }])
    for (const name of [{ event: "paid" }, { event: "sent", isOther: true }])
      await readSourceTriggers(
        explaining(`${reach ? "triggers of a project" : "triggers"} ${JSON.stringify(name)}`),
        { organizationId: own, reach },
        { source: "listed", ...name },
        100,
      );
  expect(explained.map(({ found }) => found)).toEqual([51, 4, 4, 51, 4, 3, 3, 51, 4, 4, 4, 100, 100, 100, 100]);
  expect(explained.filter(({ examined }) => examined > 350)).toEqual([]);
});

test("at most 10,000 events come of one: the next is refused, and later ones fire nothing and say why", async () => {
  const { organizationId } = room.caller;
  const [trigger, root] = [await create(await agent(), "flood"), await send("flood")];
  await database.query(
    `insert into events (id, organization_id, once, source, event, source_id, time, at, data, body_hash, depth,
        published_by_kind, root_id, root_number)
     select gen_random_uuid(), $1, sha256(number::text::bytea), 'flood', 'paid', number::text, $3, $3, '{}', 'hash', 1, 'system', $2, number
       from generate_series(1, $4::int) number`,
    [organizationId, root.id, new Date(clock.now()), LIMITS.eventsOfRoot - 1],
  );
  await database.query("analyze events");
  const explaining = {
    query: async (text: string, values: unknown[]) => {
      const [row] = await database.query(`explain (analyze, format json) ${text}`, values);
      return [{ count: examinedIn(row!["QUERY PLAN"][0].Plan) }];
    },
  } as unknown as Database;
  // It does not count them all.
  expect(await countOfRoot(explaining, organizationId, root.id, LIMITS.eventsOfRoot + 1)).toBeLessThan(10);
  const come = async (): Promise<Event> => {
    const given = { source: "flood", event: "paid", id: `id ${++last}`, data: {}, text: "{}" };
    const accepted = await acceptEvent(triggers.events, room.caller, SYSTEM, given, { depth: 1, rootId: root.id });
    await accepted.fired;
    return accepted.event;
  };
  const all = [await come(), await come(), await come(), await come()];
  const outcomes = await Promise.all(all.map(async (event) => (await firings(event)).map(({ outcome }) => outcome)));
  expect(outcomes).toEqual([["started"], ["refused"], [], []]);
  const [refused] = await firings(all[1]!);
  expect(refused).toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining("10000 events have already followed"),
  });
  const told = await explainEvents(triggers, room.caller, all);
  expect(told.map(({ matches }) => matches.length)).toEqual([1, 0, 0, 0]);
  expect(told[3]!.misses).toMatchObject([{ trigger: { id: trigger.id }, reason: refused!.message }]);
  // Another root has room.
  const other = await send("flood");
  const given = { source: "flood", event: "paid", id: `id ${++last}`, data: {}, text: "{}" };
  const { event, fired } = await acceptEvent(triggers.events, room.caller, SYSTEM, given, {
    depth: 1,
    rootId: other.id,
  });
  await fired;
  expect(await firings(event)).toMatchObject([{ outcome: "started" }]);
});
