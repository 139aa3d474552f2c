/** Who is told of an event, and which events a run looks back at. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { SYSTEM } from "../audit/event.ts";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import { acceptEvent } from "../events/publish-event.ts";
import { Postponed } from "../execution/effect.ts";
import type { EventDoor } from "../execution/events/event-door.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import { Refusal } from "../lib/errors.ts";
import { hashOfKey } from "../lib/events/event-key.ts";
import { newIdAt } from "../lib/ids.ts";
import { allOf, type Within } from "../lib/reach.ts";
import { idle, openRuns, type TestRuns } from "../runs/runs.testsuite.ts";
import { startRun } from "../runs/start-run.ts";
import { createSecrets } from "../secrets/secrets.ts";
import type { Database } from "../storage/database.ts";
import { forgetOld } from "./forget-firings.ts";
import { createEventDoor } from "./listening/event-door.ts";
import { readPublished } from "./listening/listening-store.ts";
import { createTriggerMemory } from "./memory.ts";
import { createTriggers, type Triggers } from "./triggers.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let clock: TestClock;
/** Advances none of its runs. */
let resting: TestRuns;
let triggers: Triggers;
let door: EventDoor;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  clock = testClock();
  resting = stack.use(await openRuns(database, { engine: idle }));
  triggers = triggersOf(resting);
  const memory = createTriggerMemory({ ...triggers, derive: secretKeys(Buffer.alloc(32, 3)).derive });
  door = createEventDoor({ database, clock, memory, events: () => triggers.events });
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

/** A filter of the run's first step. */
const insertListener = ({ id, organizationId, projectId, agentId }: Head, type: string): Promise<unknown> =>
  database.query(
    `insert into listeners (organization_id, run_id, step_number, place, project_id, agent_id, key)
     values ($1, $2, 1, 0, $3, $4, decode($5, 'hex'))`,
    [organizationId, id, projectId, agentId, hashOfKey({ type })],
  );

const publish = async (type: string, within: Within): Promise<void> => {
  const given = { source: "shop", event: type, id: `id ${++last}`, data: {}, text: "{}" };
  await (
    await acceptEvent(triggers.events, within, SYSTEM, given)
  ).fired;
};

test("an event is told to no run that its publisher does not reach", async () => {
  const head = await restingRun();
  const { organizationId, projectId } = head;
  await door.expect(organizationId, [{ type: "narrowed" }]);
  await insertListener(head, "narrowed");
  const reach = { agentIds: [], shownProjectIds: [] };
  const other = newIdAt<"project">(clock.now());
  await publish("narrowed", { organizationId, reach: { ...reach, projectIds: [other] } });
  expect(await door.heard(head)).toEqual([]);
  await publish("narrowed", { organizationId, reach: { ...reach, projectIds: [projectId] } });
  expect(await door.heard(head)).toHaveLength(1);
});

test("an event that 1,201 runs wait for is told to each of them, page by page", async () => {
  const { organizationId } = resting.caller;
  const first = await restingRun();
  await door.expect(organizationId, [{ type: "pages" }]);
  await insertListener(first, "pages");
  // Runs that are gone, after it in the order of the ids.
  await database.query(
    `insert into listeners (organization_id, run_id, step_number, place, project_id, agent_id, key)
     select $1, run, 1, 0, $3, $4, decode($5, 'hex') from unnest($2::uuid[]) run`,
    [
      organizationId,
      Array.from({ length: 1_199 }, (_, n) => newIdAt(clock.now() + 1_000 + n)),
      first.projectId,
      first.agentId,
      hashOfKey({ type: "pages" }),
    ],
  );
  clock.pass(10_000);
  const last = await restingRun();
  await insertListener(last, "pages");
  await publish("pages", allOf(organizationId));
  expect([(await door.heard(first)).length, (await door.heard(last)).length]).toEqual([1, 1]);
});

test("an event that is refused for now is emitted later, and one that is refused fails the step", async () => {
  const head = await restingRun();
  const emit = (code: "UNAVAILABLE" | "FORBIDDEN"): Promise<void> => {
    const refuse = (): Promise<never> => Promise.reject(new Refusal(code, "not now"));
    const events = { ...triggers.events, writer: { add: refuse } } as unknown as Triggers["events"];
    const memory = createTriggerMemory({ ...triggers, derive: secretKeys(Buffer.alloc(32, 3)).derive });
    const refused = createEventDoor({ database, clock, memory, events: () => events });
    return refused.emit(head, { id: "1", source: "a", type: "b", data: {} });
  };
  await expect(emit("UNAVAILABLE")).rejects.toThrow(Postponed);
  await expect(emit("FORBIDDEN")).rejects.toMatchObject({ fields: { detail: expect.stringContaining("not now") } });
});

test("a run does not look back at the event that started it, but at one that its trigger skipped for it", async () => {
  const head = {
    ...(await restingRun()),
    startedBy: { kind: "trigger" as const, id: newIdAt<"trigger">(clock.now()) },
  };
  const { organizationId, projectId, agentId } = head;
  await insertEvents(resting, "fired", 2);
  const [started, skipped] = await door.published({ ...head, id: newIdAt(clock.now()) }, [{ type: "fired" }], 0);
  await database.query(
    `insert into firings (id, organization_id, project_id, agent_id, trigger_id, once, at, outcome, run_id, event_id)
     select gen_random_uuid(), $1, $2, $3, $4, event, $5, outcome, $6, event::uuid
       from unnest($7::text[], $8::text[]) as given (event, outcome)`,
    [
      organizationId,
      projectId,
      agentId,
      head.startedBy.id,
      new Date(clock.now()),
      head.id,
      [skipped, started],
      ["skipped", "started"],
    ],
  );
  expect(await door.published(head, [{ type: "fired" }], 0)).toEqual([skipped]);
});

test("filters of one type and source look back at the same events once", async () => {
  const { organizationId } = resting.caller;
  let asked = 0;
  const query: Database["query"] = (...of) => {
    asked++;
    return database.query(...of);
  };
  const events = Array.from({ length: 20 }, (_, n) => ({ type: "twice", path: `field ${n}` }));
  await readPublished({ ...database, query }, organizationId, [...events, { type: "twice", source: "shop" }], 0);
  expect(asked).toBe(2);
});

test("what a step was told of while it ended is deleted, and what waits for one that listens stays", async () => {
  const { organizationId } = resting.caller;
  const head = await restingRun();
  await database.query(
    `insert into listeners (organization_id, run_id, step_number, place, project_id, agent_id, key)
     values ($1, $2, 2, 0, $3, $4, '\\x00')`,
    [organizationId, head.id, head.projectId, head.agentId],
  );
  await database.query(
    "insert into heard_events select $1, $2, step, gen_random_uuid() from unnest(array[1, 2]) step",
    [organizationId, head.id],
  );
  await forgetOld(triggers);
  expect((await door.heard(head)).map(({ step }) => step)).toEqual([2]);
});
