/** The service's own events as they are published from their table: turns of organizations, and those that are refused. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import type { AgentId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { idle, noting, openRuns, type TestRuns } from "../runs/runs.testsuite.ts";
import { createSecrets } from "../secrets/secrets.ts";
import { testClock } from "../../../test/clock.ts";
import { createTrigger } from "./create-trigger.ts";
import { createTriggerMemory } from "./memory.ts";
import { createTriggers, type Triggers } from "./triggers.ts";
import { readSubject } from "./own-events.ts";
import { publishOwnEvents } from "../events/publish-own-events.ts";
import { OWN_SOURCE } from "../events/own-source.ts";
import { takeUntold } from "../events/outbox-store.ts";

const stack = new AsyncDisposableStack();
const clock = testClock();
let database: ReturnType<typeof noting>;
let rooms: { room: TestRuns; agentId: AgentId }[];
let triggers: Triggers;
const warnings: Record<string, unknown>[] = [];
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = noting(stack.use(await databases.open()));
  rooms = [];
  for (let number = 0; number < 2; number++) {
    const room = stack.use(await openRuns(database, { engine: idle }));
    rooms.push({ room, agentId: await room.agentOf("do: [{a: {set: {b: 1}}}]") });
  }
  // In the order of their turns.
  rooms.sort((one, other) => (one.room.caller.organizationId < other.room.caller.organizationId ? -1 : 1));
  const { agents, log } = rooms[0]!.room.runs;
  const { derive } = secretKeys(Buffer.alloc(32, 3));
  triggers = createTriggers({
    secrets: createSecrets({ database, clock, log, derive }),
    database,
    clock,
    log: { ...log, warn: (about: Record<string, unknown>) => void warnings.push(about) },
    agents,
    runs: rooms[0]!.room.runs,
    memory: createTriggerMemory({ database, clock, log, derive }),
    url: "https://agents.example.org",
  });
});
afterAll(() => stack.disposeAsync());

/** So many times the organization's agent was published. */
const insertUntold = (index: number, count: number): Promise<unknown> =>
  database.query(
    `insert into untold_events (organization_id, event, subject_id, at, version)
     select $1, 'agent.published', $2, $3::timestamptz + number * interval '1 ms', '1.0.0' from generate_series(1, $4::int) number`,
    [rooms[index]!.room.caller.organizationId, rooms[index]!.agentId, new Date(clock.now()), count],
  );
const countUntold = async (index: number): Promise<number> => {
  const { organizationId } = rooms[index]!.room.caller;
  const [row] = await database.query("select count(*)::int from untold_events where organization_id = $1", [
    organizationId,
  ]);
  return row!["count"];
};
const looksIn = (noted: { text: string }[]): number =>
  noted.filter(({ text }) => text.includes("with recursive others") && text.includes("untold_events")).length;

test("an organization with 5,000 events delays no other's single one, and gets a whole take when alone", async () => {
  const { organizationId: first } = rooms[0]!.room.caller;
  const { organizationId: second } = rooms[1]!.room.caller;
  await Promise.all([insertUntold(0, 5_000), insertUntold(1, 1)]);
  const now = clock.now();
  const take = { after: "00000000-0000-0000-0000-000000000000", without: [], most: 128, now, until: now + 1_000 };
  const both = await takeUntold(database, take);
  expect(both.filter(({ organizationId }) => organizationId === second)).toHaveLength(1);
  expect(both.filter(({ organizationId }) => organizationId === first)).toHaveLength(64);
  expect(await takeUntold(database, take)).toHaveLength(128);
  expect(await takeUntold(database, { ...take, without: [first] })).toEqual([]);
  await database.query("delete from untold_events where organization_id = any($1::uuid[])", [[first, second]]);
});

test("an organization that may have no more events waiting is asked again at the next look, and says so once", async () => {
  const [full, other] = rooms as [(typeof rooms)[0], (typeof rooms)[0]];
  const { organizationId } = full.room.caller;
  for (const { room, agentId } of rooms)
    await createTrigger(triggers, room.caller, {
      agentId,
      name: "own",
      type: "event",
      keys: { source: OWN_SOURCE, event: "agent.published" },
      policy: {},
    });
  await database.query(
    `insert into events (id, organization_id, once, source, event, source_id, time, at, data, body_hash, depth, published_by_kind, fire_at)
     select gen_random_uuid(), $1, sha256(number::text::bytea), 'nowhere', 'paid', number::text, $3, $3, '{}', '', 0, 'system', $4
       from generate_series(1, $2::int) number`,
    [organizationId, LIMITS.eventsWaiting, new Date(clock.now()), new Date(clock.now() + 86_400_000)],
  );
  const { places } = triggers.events;
  while (places.tryTake(organizationId, 1));
  await insertUntold(0, 1_000);
  await insertUntold(1, 1);
  database.noted.length = 0;
  await using _ = publishOwnEvents(triggers.events, {
    read: (row) => readSubject(triggers, row),
    mail: async () => {},
  });
  await expect.poll(() => countUntold(1)).toBe(0);
  // Asked to, it looks no more at who was refused.
  triggers.events.outbox.look();
  await insertUntold(1, 1);
  triggers.events.outbox.look();
  await expect.poll(() => countUntold(1)).toBe(0);
  expect(warnings).toMatchObject([{ organization: expect.any(String) }]);
  expect(looksIn(database.noted)).toBeLessThan(8);
  expect(await countUntold(0)).toBe(1_000);
  clock.pass(5_000);
  await expect.poll(() => warnings.length).toBe(2);
  // There is room again.
  await database.query("delete from events where organization_id = $1 and source = 'nowhere'", [organizationId]);
  clock.pass(30_000);
  await expect.poll(() => countUntold(0)).toBe(0);
  expect(other.agentId).not.toBe(full.agentId);
});
