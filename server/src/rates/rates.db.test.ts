/** Windows and usage in a database that several processes share. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { randomFrom, type Random } from "../../../test/faults/random.ts";
import { makeOwner, openAuth, quiet, startDatabases } from "../auth/handle/auth.testsuite.ts";
import type { Caller } from "../auth/caller.ts";
import { setPlan } from "../auth/accounts/organizations.ts";
import { newId, type AgentId, type ModelConnectionId, type ProjectId, type OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import { createDatabaseWindows, type Windows } from "./database-windows.ts";
import { createAgentModelUse, createConnectionModelUse, createModelCosts } from "./model-costs.ts";
import { createRates } from "./rates.ts";
import { burstOf, WINDOW_MS } from "../fairness/rate-window.ts";

const stack = new AsyncDisposableStack();
let database: Database;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
});
afterAll(() => stack.disposeAsync());

let clock: TestClock;
let owner: Caller;
let organizationId: OrganizationId;
/** As two processes have them. */
let both: [Windows & Disposable, Windows & Disposable];
beforeEach(async () => {
  clock = testClock();
  ({ caller: owner } = await makeOwner(openAuth(database)));
  ({ organizationId } = owner);
  both = [createDatabaseWindows(database, clock), createDatabaseWindows(database, clock)];
  return () => both.forEach((windows) => windows[Symbol.dispose]());
});

/** How many of so many requests at once, at either, are taken. */
async function takenOf(count: number, limit: number, { pick }: Pick<Random, "pick">): Promise<number> {
  const all = await Promise.all(Array.from({ length: count }, async () => pick(both).take(organizationId, limit)));
  return all.filter(({ isTaken }) => isTaken).length;
}

test.for([1, 10, 100])("limit %d: random bursts at two processes, every window is exact", async (limit) => {
  const random = randomFrom(limit);
  const taken: number[] = [];
  for (let burst = 0; burst < 40; burst++) {
    const now = clock.now();
    const used = taken.filter((at) => at > now - WINDOW_MS).length;
    const wanted = random.between(1, Math.ceil(limit * 1.2));
    const count = await takenOf(wanted, limit, random);
    expect({ burst, count }).toEqual({ burst, count: Math.min(wanted, limit - used) });
    taken.push(...Array.from({ length: count }, () => now));
    const oldest = taken.find((at) => at > now - WINDOW_MS)!;
    expect(await random.pick(both).look(organizationId, limit)).toMatchObject({
      remaining: limit - used - count,
      resetMs: oldest + WINDOW_MS - now,
    });
    clock.pass(random.pick([0, 1, random.between(1, 1_000), random.between(1, 30_000), WINDOW_MS - 1, WINDOW_MS]));
  }
});

test("a limit above 1,000 is a bucket that both share", async () => {
  const limit = 6_000;
  const random = randomFrom(1);
  expect(await both[0].look(organizationId, limit)).toEqual({ remaining: 100, resetMs: 0, isTaken: false });
  expect(await takenOf(150, limit, random)).toBe(burstOf(limit));
  expect(await both[0].take(organizationId, limit)).toMatchObject({ isTaken: false, remaining: 0, resetMs: 10 });
  clock.pass(10);
  expect(await takenOf(5, limit, random)).toBe(1);
  clock.pass(500);
  expect(await takenOf(80, limit, random)).toBe(50);
  clock.pass(60_000);
  expect(await takenOf(300, limit, random)).toBe(burstOf(limit));
});

test("each process's place in a batch tells it what is left", async () => {
  const taken = await Promise.all(Array.from({ length: 12 }, async () => both[0].take(organizationId, 10)));
  expect(taken.map(({ isTaken, remaining }) => (isTaken ? remaining : "refused"))).toEqual([
    9,
    8,
    7,
    6,
    5,
    4,
    3,
    2,
    1,
    0,
    "refused",
    "refused",
  ]);
});

test("clocks that differ by seconds do not add up, and one that was hours ahead locks nobody out", async () => {
  const ahead = testClock(clock.now() + 5_000);
  using early = createDatabaseWindows(database, ahead);
  let count = 0;
  for (let seconds = 0; seconds < 50; seconds++) {
    for (const windows of [early, both[0]]) if ((await windows.take(organizationId, 10)).isTaken) count++;
    for (const one of [clock, ahead]) one.pass(1_000);
  }
  expect(count).toBe(10);
  using hoursAhead = createDatabaseWindows(database, testClock(clock.now() + 7_200_000));
  expect((await hoursAhead.take(organizationId, 10)).isTaken).toBe(true);
  expect((await both[1].take(organizationId, 10)).isTaken).toBe(true);
  const bucket = [organizationId, 6_000] as const;
  for (let one = 0; one < 100; one++) await hoursAhead.take(...bucket);
  expect((await hoursAhead.take(...bucket)).isTaken).toBe(false);
  expect((await both[1].take(...bucket)).isTaken).toBe(true);
});

test("an organization that was refused before the clock was set back by hours is not refused until it is there again", async () => {
  let aheadMs = 7_200_000;
  using windows = createDatabaseWindows(database, { now: () => clock.now() + aheadMs, at: clock.at });
  for (let one = 0; one < 10; one++) await windows.take(organizationId, 10);
  expect((await windows.take(organizationId, 10)).isTaken).toBe(false);
  aheadMs = 0;
  expect((await windows.take(organizationId, 10)).isTaken).toBe(true);
});

test("an organization that was refused is refused from memory until there can be room, and a larger plan ends that at once", async () => {
  for (let one = 0; one < 10; one++) await both[0].take(organizationId, 10);
  await both[0].take(organizationId, 10);
  const none = { hot: () => Promise.reject(new Error("asked")) } as unknown as Database;
  using alone = createDatabaseWindows(none, clock);
  await expect(alone.take(organizationId, 10)).rejects.toThrow("asked");
  await database.query("delete from rate_windows where organization_id = $1", [organizationId]);
  expect(await both[0].take(organizationId, 10)).toEqual({ isTaken: false, remaining: 0, resetMs: WINDOW_MS });
  expect((await both[0].take(organizationId, 100)).isTaken).toBe(true);
  clock.pass(WINDOW_MS);
  expect((await both[0].take(organizationId, 10)).isTaken).toBe(true);
});

test("two processes add up what an organization used, by its day; what a database refused is written later", async () => {
  const auth = openAuth(database);
  let days = 0;
  const later = { now: () => clock.now() + days * 86_400_000, at: clock.at };
  const rates = [0, 1].map(() => createRates({ database, clock: later, log: quiet }));
  await setPlan(auth, organizationId, { plan: "free" });
  for (let one = 0; one < 12; one++) await rates[one % 2]!.count(owner);
  rates[0]!.usage.run(organizationId);
  rates[1]!.usage.steps(organizationId, 3);
  for (const one of rates) one.usage.modelTokens(organizationId, 2 ** 31);
  await rates[1]![Symbol.asyncDispose]();
  expect(await rates[0]!.usage.read(organizationId, 1)).toEqual([
    { date: "2026-11-21", requests: 10, refused: 2, runs: 1, steps: 3, modelTokens: 2 ** 31 - 1 },
  ]);
  await database.query("alter table usage_days rename to away");
  rates[0]!.usage.run(organizationId);
  days = 1;
  rates[0]!.usage.run(organizationId);
  await expect(rates[0]!.usage.read(organizationId, 2)).rejects.toThrow("usage_days");
  await database.query("alter table away rename to usage_days");
  expect((await rates[0]!.usage.read(organizationId, 2)).map(({ date, runs }) => [date, runs])).toEqual([
    ["2026-11-22", 1],
    ["2026-11-21", 2],
  ]);
  await database.query("insert into model_spend select $1, $1, day, '', 1, 0 from unnest($2::date[]) as day", [
    organizationId,
    ["2026-11-21", "2027-11-20"],
  ]);
  days = 367;
  rates[0]!.usage.run(organizationId);
  await rates[0]![Symbol.asyncDispose]();
  const kept = await database.query("select count(*) as count from usage_days where organization_id = $1", [
    organizationId,
  ]);
  expect(kept).toEqual([{ count: 1 }]);
  const spent = await database.query(
    "select to_char(day, 'YYYY-MM-DD') as day from model_spend where organization_id = $1",
    [organizationId],
  );
  expect(spent).toEqual([{ day: "2027-11-20" }]);
});

test("the costs of many days are summed up once, each day's on its own", async () => {
  const call = (daysAgo: number, cost: string | null, currency: string | null, of = organizationId): Promise<unknown> =>
    database.query(
      `insert into model_calls (organization_id, id, run_id, step_number, agent_id, project_id, connection, model,
          called_at, input_tokens, output_tokens, cached_input_tokens, cost, currency)
       select $1, id, id, 1, id, id, 'cheap', 'small', $2, 1, 1, 0, $3, $4 from gen_random_uuid() as id`,
      [of, new Date(clock.now() - daysAgo * 86_400_000), cost, currency],
    );
  const other = await makeOwner(openAuth(database));
  await call(0, "7", "EUR", other.caller.organizationId);
  await call(0, "0.25", "EUR");
  await call(0, "0.5", "EUR");
  await call(1, "1", "EUR");
  await call(1, "1", "USD");
  await call(2, "1", "EUR");
  await call(2, null, null);
  await call(40, "2", "EUR");
  let statements = 0;
  const query: Database["query"] = (...asked) => (statements++, database.query(...asked));
  const costOf = createModelCosts({ database: { ...database, query }, clock, settled: async () => {} });
  const daysAgo = [0, 1, 2, 3, 30, 40, LIMITS.usageDays - 1];
  const dates = daysAgo.map((days) => new Date(clock.now() - days * 86_400_000).toISOString().slice(0, 10));
  const costs = await Promise.all([...dates, ...dates].map((date) => costOf(organizationId, date)));
  expect(costs.slice(0, 7).map(({ cost }) => cost)).toEqual([0.75, null, null, 0, 0, 2, 0]);
  expect(costs.slice(0, 7).map(({ currency }) => currency)).toEqual(["EUR", null, null, null, null, "EUR", null]);
  expect(statements).toBe(3);
  await call(3, "4", "EUR");
  expect(await costOf(organizationId, dates[3]!)).toEqual({ cost: 4, currency: "EUR" });
  // Calls that ended just before are written first.
  const settling = createModelCosts({ database, clock, settled: async (of) => void (await call(3, "1", "EUR", of)) });
  expect(await settling(organizationId, dates[3]!)).toEqual({ cost: 5, currency: "EUR" });
});

test("no more agents of a day than may be listed, those with the most tokens first, each with its cost", async () => {
  const agents = Array.from({ length: LIMITS.usageAgents + 1 }, () => newId<"agent">());
  const call = (
    agentId: AgentId | null,
    tokens: number,
    cost: string | null,
    currency: string | null,
    of = organizationId,
  ): Promise<unknown> =>
    database.query(
      `insert into model_calls (organization_id, id, agent_id, connection, model, called_at, input_tokens, output_tokens,
          cached_input_tokens, cost, currency)
       values ($1, gen_random_uuid(), $2, 'cheap', 'small', $3, $4, 0, 0, $5, $6)`,
      [of, agentId, new Date(clock.now()), tokens, cost, currency],
    );
  const other = await makeOwner(openAuth(database));
  await call(agents[0]!, 9_000, "1", "EUR", other.caller.organizationId);
  for (const [index, id] of agents.entries()) await call(id, 1_000 - index, "0.5", "EUR");
  await call(agents[1]!, 5_000, "1", "EUR");
  await call(null, 3_000, null, null);
  await call(agents[2]!, 1, "1", "USD");
  const read = createAgentModelUse({ database, clock, settled: async () => {} });
  const today = new Date(clock.now()).toISOString().slice(0, 10);
  const listed = await read(organizationId, today);
  expect(listed).toHaveLength(LIMITS.usageAgents);
  expect(listed.slice(0, 4)).toEqual([
    { agentId: agents[1], tokens: 5_999, cost: 1.5, currency: "EUR" },
    { agentId: null, tokens: 3_000, cost: null, currency: null },
    { agentId: agents[0], tokens: 1_000, cost: 0.5, currency: "EUR" },
    { agentId: agents[2], tokens: 999, cost: null, currency: null },
  ]);
  expect(await read(organizationId, "2026-01-01")).toEqual([]);
  // Each day has its own.
  clock.pass(86_400_000);
  await call(agents[3]!, 1, "1", "EUR");
  const tomorrow = new Date(clock.now()).toISOString().slice(0, 10);
  expect(await read(organizationId, tomorrow)).toMatchObject([{ agentId: agents[3], tokens: 1 }]);
});

test("no more connections of a day than may be listed, those with the most tokens first, each by its project", async () => {
  const [one, other] = [newId<"project">(), newId<"project">()];
  const call = (
    connection: string,
    projectId: ProjectId | null,
    tokens: number,
    id: ModelConnectionId | null = newId(),
  ): Promise<unknown> =>
    database.query(
      `insert into model_calls (organization_id, id, project_id, connection_id, connection, model, called_at, input_tokens,
          output_tokens, cached_input_tokens, cost, currency)
       values ($1, gen_random_uuid(), $2, $6, $3, 'small', $4, $5, 0, 0, 1, 'EUR')`,
      [organizationId, projectId, connection, new Date(clock.now() + 86_400_000), tokens, id],
    );
  for (let index = 0; index < LIMITS.usageConnections; index++) await call(`c${index}`, one, 100 - index);
  await call("c1", other, 1_000);
  await call("c1", one, 500);
  await call("server", null, 700, null);
  await call("server", one, 650);
  await call("server", one, 640, null);
  await call("c0", one, 630);
  await database.query("update model_calls set currency = 'USD' where input_tokens = 630");
  await call("c0", one, 620);
  await database.query("update model_calls set cost = null, currency = null where input_tokens = 620");
  const later = { ...clock, now: () => clock.now() + 86_400_000 };
  const read = createConnectionModelUse({ database, clock: later, settled: async () => {} });
  const listed = await read(organizationId, new Date(later.now()).toISOString().slice(0, 10));
  expect(listed).toHaveLength(LIMITS.usageConnections);
  expect(listed.slice(0, 8)).toEqual([
    { name: "c1", isOperators: false, projectId: other, tokens: 1_000, cost: 1, currency: "EUR" },
    { name: "server", isOperators: true, projectId: null, tokens: 700, cost: 1, currency: "EUR" },
    { name: "server", isOperators: false, projectId: one, tokens: 650, cost: 1, currency: "EUR" },
    { name: "server", isOperators: true, projectId: one, tokens: 640, cost: 1, currency: "EUR" },
    { name: "c0", isOperators: false, projectId: one, tokens: 630, cost: 1, currency: "USD" },
    { name: "c0", isOperators: false, projectId: one, tokens: 620, cost: null, currency: null },
    { name: "c1", isOperators: false, projectId: one, tokens: 599, cost: 2, currency: "EUR" },
    { name: "c0", isOperators: false, projectId: one, tokens: 100, cost: 1, currency: "EUR" },
  ]);
});
