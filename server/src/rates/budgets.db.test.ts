/** Budgets of models in a database that several processes share. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { bundled } from "../../../test/bundle.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { randomFrom } from "../../../test/faults/random.ts";
import { makeOwner, openAuth, quiet, startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { newId, newIdAt, type ModelConnectionId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import { createBudgets, OverBudget, type Budgets, type PlannedCall, type Reserved } from "./budgets.ts";
import { callOf } from "./planned-call.testsuite.ts";

let databases: Databases;
let database: Database;
beforeAll(async () => {
  databases = await startDatabases();
  database = await databases.open();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await databases[Symbol.asyncDispose]();
});

let clock: TestClock;
let organizationId: OrganizationId;
let tokensOfPlan: number | null;
/** As two processes have them. */
let both: [Budgets, Budgets];
beforeEach(async () => {
  clock = testClock();
  ({
    caller: { organizationId },
  } = await makeOwner(openAuth(database)));
  tokensOfPlan = null;
  const allowanceOf = async () => ({ plan: "free" as const, modelTokensPerDay: tokensOfPlan });
  const open = (): Budgets => createBudgets({ database, clock, log: quiet, allowanceOf });
  both = [open(), open()];
});

const connectionOf = (own: object): NonNullable<PlannedCall["connection"]> => ({
  id: newId<"modelConnection">(),
  name: "cheap",
  tokensPerDay: null,
  costPerDay: null,
  ...own,
});

const reserve = (own: Partial<PlannedCall>, budgets = both[0]): Promise<Reserved | OverBudget> =>
  budgets.reserve(callOf(organizationId, clock.now(), own)).catch((error: unknown) => {
    if (error instanceof OverBudget) return error;
    throw error;
  });

const settled = async (own: Partial<PlannedCall>, tokens: number, cost = 0): Promise<void> => {
  const reserved = await reserve(own);
  if (reserved instanceof OverBudget) throw reserved;
  reserved.settle({ tokens, cost });
  await allWritten();
};

const allWritten = (): Promise<unknown> => Promise.all(both.map((budgets) => budgets.settled(organizationId)));

async function spentOf(subject: OrganizationId | ModelConnectionId | RunId): Promise<number> {
  await allWritten();
  const rows = await database.query(
    "select sum(tokens)::int as tokens from model_spend where organization_id = $1 and subject = $2",
    [organizationId, subject],
  );
  return rows[0]!["tokens"];
}

test("random calls at two processes at once never use more than a day's tokens, and come close", async () => {
  const { pick, between } = randomFrom(7);
  const connection = connectionOf({ tokensPerDay: 5_000 });
  let used = 0;
  const call = async (): Promise<string> => {
    const reserved = await reserve({ connection, most: { tokens: 100, cost: 0 } }, pick(both));
    if (reserved instanceof OverBudget) return reserved.isBusy ? "busy" : "spent";
    const tokens = between(0, 100);
    used += tokens;
    reserved.settle({ tokens, cost: 0 });
    return "asked";
  };
  const ends = new Set<string>();
  for (let round = 0; round < 30; round++) {
    for (const end of await Promise.all(Array.from({ length: 60 }, call))) ends.add(end);
    expect(await spentOf(connection.id)).toBe(used);
    expect(used).toBeLessThanOrEqual(5_000);
  }
  expect(ends).toEqual(new Set(["asked", "busy", "spent"]));
  expect(used).toBeGreaterThan(4_900);
  expect(await database.query("select 1 from model_reservations where organization_id = $1", [organizationId])).toEqual(
    [],
  );
});

test("tokens and costs of a connection are free again on the next day, and the error says so", async () => {
  const connection = connectionOf({ tokensPerDay: 250, costPerDay: 0.5 });
  await settled({ connection, most: { tokens: 200, cost: 0.1 }, currency: "EUR" }, 180, 0.1);
  expect(await reserve({ connection, most: { tokens: 71, cost: 0 }, currency: "EUR" })).toMatchObject({
    isBusy: false,
    message:
      "the model connection cheap may use 250 tokens a day: 180 tokens are used, and this call may use up to 71 tokens. A lower maxTokens needs less, and free again from 2026-11-22T00:00:00Z on",
  });
  expect(await reserve({ connection, most: { tokens: 1, cost: 0.41 }, currency: "EUR" })).toMatchObject({
    message: expect.stringContaining("may use 0.5 EUR a day: 0.1 EUR are used, and this call may use up to 0.41 EUR"),
  });
  // Another currency is another account.
  await settled({ connection, most: { tokens: 1, cost: 0.5 }, currency: "USD" }, 1, 0.5);
  clock.pass(86_400_000);
  await settled({ connection, most: { tokens: 250, cost: 0.5 }, currency: "EUR" }, 250, 0.5);
});

test("what calls under way have reserved is worth to wait for, what they used is not", async () => {
  const connection = connectionOf({ tokensPerDay: 150 });
  const first = (await reserve({ connection })) as Reserved;
  expect(await reserve({ connection }, both[1])).toMatchObject({
    isBusy: true,
    message: expect.stringContaining("under way"),
  });
  first.settle({ tokens: 50, cost: 0 });
  await allWritten();
  const second = (await reserve({ connection }, both[1])) as Reserved;
  second.settle({ tokens: 100, cost: 0 });
  await allWritten();
  expect(await reserve({ connection })).toMatchObject({ isBusy: false });
  expect(await spentOf(connection.id)).toBe(150);
});

test("a call that ends frees what it reserved alone: others under way keep theirs", async () => {
  const connection = connectionOf({ tokensPerDay: 250 });
  const first = (await reserve({ connection })) as Reserved;
  const second = (await reserve({ connection }, both[1])) as Reserved;
  first.settle({ tokens: 100, cost: 0 });
  await allWritten();
  expect(await reserve({ connection }, both[1])).toMatchObject({
    isBusy: true,
    message: expect.stringContaining("100 tokens are used, calls under way have reserved others"),
  });
  second.settle({ tokens: 50, cost: 0 });
  await allWritten();
  expect(await reserve({ connection })).not.toBeInstanceOf(OverBudget);
});

test("a call of a process that died counts in full once its time is over, and for no more if it ends after all", async () => {
  const connection = connectionOf({ tokensPerDay: 150 });
  const lost = (await reserve({ connection })) as Reserved;
  clock.pass(59_999);
  expect(await reserve({ connection })).toMatchObject({ isBusy: true });
  clock.pass(1);
  expect(await reserve({ connection })).toMatchObject({ isBusy: false });
  await settled({ connection, most: { tokens: 50, cost: 0 } }, 0);
  expect(await spentOf(connection.id)).toBe(100);
  lost.settle({ tokens: 20, cost: 0 });
  expect(await spentOf(connection.id)).toBe(20);
});

test("a call counts once, also if the answer of a commit is lost and it is written again", async () => {
  let losing = 0;
  const lost = <Answer>(answer: Answer): Answer => {
    if (losing-- > 0) throw new Error("the connection was lost");
    return answer;
  };
  const losesAnswers: Database = {
    ...database,
    query: async (...statement) => lost(await database.query(...statement)),
    transaction: async (work) => lost(await database.transaction(work)),
  };
  const allowanceOf = async () => ({ plan: "free" as const, modelTokensPerDay: null });
  const budgets = createBudgets({ database: losesAnswers, clock, log: quiet, allowanceOf });
  const connection = connectionOf({ tokensPerDay: 250 });
  losing = 1;
  const calls = (await Promise.all([1, 2].map(() => reserve({ connection }, budgets)))) as Reserved[];
  losing = 1;
  for (const call of calls) call.settle({ tokens: 10, cost: 0 });
  await budgets.settled(organizationId);
  expect(await spentOf(connection.id)).toBe(20);
  expect(await reserve({ connection, most: { tokens: 230, cost: 0 } })).not.toBeInstanceOf(OverBudget);
});

/** A database whose commits lose their answers, or that is gone, as often as `faults` says. */
function faulty(faults: { lostAnswers: number; gone: number }): Database {
  const faultily = async <Answer>(write: () => Promise<Answer>): Promise<Answer> => {
    if (faults.gone-- > 0) throw new Error("Connection terminated");
    const answer = await write();
    if (faults.lostAnswers-- > 0) throw new Error("Connection terminated");
    return answer;
  };
  return {
    ...database,
    query: (...statement) => faultily(() => database.query(...statement)),
    transaction: (work) => faultily(() => database.transaction(work)),
  };
}

const openFaulty = (faults: { lostAnswers: number; gone: number }): Budgets => {
  const allowanceOf = async () => ({ plan: "free" as const, modelTokensPerDay: null });
  return createBudgets({ database: faulty(faults), clock, log: quiet, allowanceOf });
};

const openReservations = async (): Promise<number> =>
  (await database.query("select 1 from model_reservations where organization_id = $1", [organizationId])).length;

test("a reservation whose commit's answer is lost is given back, since its call is not made", async () => {
  const faults = { lostAnswers: 1, gone: 0 };
  const budgets = openFaulty(faults);
  await expect(reserve({}, budgets)).rejects.toThrow("Connection terminated");
  await budgets.settled(organizationId);
  expect(await openReservations()).toBe(0);
  expect(await spentOf(organizationId)).toBe(null);
  // One that was never written is not given back twice.
  faults.gone = 2;
  await expect(reserve({ endsBy: clock.now() + 2_001 }, budgets)).rejects.toThrow("Connection terminated");
  await budgets.settled(organizationId);
  clock.pass(2_500);
  await sleep(1);
  await budgets.settled(organizationId);
  expect(await spentOf(organizationId)).toBe(null);
});

test("what a call used is written again until the database can be used, and at the end", async () => {
  const faults = { lostAnswers: 0, gone: 0 };
  const budgets = openFaulty(faults);
  const calls = [(await reserve({}, budgets)) as Reserved, (await reserve({}, budgets)) as Reserved];
  faults.gone = 2;
  calls[0]!.settle({ tokens: 10, cost: 0 });
  await budgets.settled(organizationId);
  expect(await spentOf(organizationId)).toBe(null);
  const later = async (): Promise<number> => {
    clock.pass(2_000);
    await budgets.settled(organizationId);
    return spentOf(organizationId);
  };
  await expect.poll(later).toBe(10);
  faults.gone = 1;
  calls[1]!.settle({ tokens: 20, cost: 0 });
  await budgets.settled(organizationId);
  await budgets[Symbol.asyncDispose]();
  expect(await spentOf(organizationId)).toBe(30);
});

test("whatever is lost, taken or given up, and when: what calls used counts once, and nothing stays reserved", async () => {
  const { next, between, pick } = randomFrom(5);
  const faults = { lostAnswers: 0, gone: 0 };
  const processes = [openFaulty(faults), openFaulty(faults)];
  const planned = callOf(organizationId, clock.now(), { endsBy: clock.now() + 86_400_000 });
  let used = 0;
  const call = async (): Promise<void> => {
    await sleep(between(0, 100));
    const signal = next() < 0.2 ? AbortSignal.timeout(between(0, 20)) : undefined;
    const reserving = pick(processes).reserve(planned, signal);
    const reserved = await reserving.catch(() => undefined);
    const tokens = reserved ? between(0, 100) : 0;
    used += tokens;
    await sleep(between(0, 20));
    reserved?.settle({ tokens, cost: 0 });
  };
  const disturb = async (): Promise<void> => {
    for (let times = 0; times < 12; times++) {
      faults[pick(["lostAnswers", "gone"] as const)] = between(0, 2);
      await database.transaction(async (query) => {
        await query("select pg_advisory_xact_lock(hashtextextended('models ' || $1, 0))", [organizationId]);
        await sleep(between(0, 20));
      });
    }
  };
  await Promise.all([disturb(), ...Array.from({ length: 100 }, call)]);
  faults.lostAnswers = faults.gone = 0;
  const later = async (): Promise<number> => {
    clock.pass(2_000);
    await Promise.all(processes.map((budgets) => budgets.settled(organizationId)));
    return openReservations();
  };
  await expect.poll(later).toBe(0);
  expect((await spentOf(organizationId)) ?? 0).toBe(used);
});

test("a late end that is written twice is taken off once", async () => {
  const faults = { lostAnswers: 0, gone: 0 };
  const budgets = openFaulty(faults);
  const [late] = [(await reserve({}, budgets)) as Reserved, (await reserve({}, budgets)) as Reserved];
  clock.pass(60_000);
  faults.lostAnswers = 1;
  late.settle({ tokens: 10, cost: 0 });
  // In the same write, so both are written again.
  const other = reserve({}, budgets);
  await budgets.settled(organizationId);
  await other;
  expect(await spentOf(organizationId)).toBe(110);
});

test("a call that is given up while another process has the account reserves nothing", async () => {
  const holder = await database.dedicated();
  await holder.query("select pg_advisory_lock(hashtextextended('models ' || $1, 0))", [organizationId]);
  const over = new AbortController();
  const call = callOf(organizationId, clock.now());
  const waiting = both[0].reserve(call, over.signal);
  over.abort(new Error("cancelled"));
  await expect(waiting).rejects.toThrow("cancelled");
  await expect(both[0].reserve(call, over.signal)).rejects.toThrow("cancelled");
  await holder.end();
  expect(await reserve({})).not.toBeInstanceOf(OverBudget);
  await allWritten();
  await expect.poll(openReservations).toBe(1);
});

test("what a call used is written by a server that stops while another process has the account, once that has died", async () => {
  const reserved = (await reserve({})) as Reserved;
  const holder = await database.dedicated();
  await holder.query("select pg_advisory_lock(hashtextextended('models ' || $1, 0))", [organizationId]);
  reserved.settle({ tokens: 30, cost: 0 });
  await sleep(100);
  let isClosed = false;
  const closing = both[0][Symbol.asyncDispose]().then(() => (isClosed = true));
  await sleep(100);
  expect(isClosed).toBe(false);
  await holder.end();
  await closing;
  expect([await spentOf(organizationId), await openReservations()]).toEqual([30, 0]);
});

test("a call that ends makes room for the next of the same write", async () => {
  const connection = connectionOf({ tokensPerDay: 150 });
  const first = (await reserve({ connection })) as Reserved;
  first.settle({ tokens: 50, cost: 0 });
  expect(await reserve({ connection })).not.toBeInstanceOf(OverBudget);
});

test("a call waits half a minute while another process has the account, and no longer", async () => {
  const holder = await database.dedicated();
  await holder.query("select pg_advisory_lock(hashtextextended('models ' || $1, 0))", [organizationId]);
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  performance.now = () => now() + aheadMs;
  try {
    const waiting = reserve({}).catch((error: unknown) => (error as { code: string }).code);
    await sleep(100);
    aheadMs = 20_000;
    expect(await Promise.race([waiting, sleep(200)])).toBeUndefined();
    aheadMs = 30_000;
    expect(await waiting).toBe("UNAVAILABLE");
  } finally {
    Reflect.deleteProperty(performance, "now");
    await holder.end();
  }
  await allWritten();
  expect(await openReservations()).toBe(0);
});

test("of the calls that wait while another process has the account, the first to come gets the room", async () => {
  tokensOfPlan = 150;
  const holder = await database.dedicated();
  await holder.query("select pg_advisory_lock(hashtextextended('models ' || $1, 0))", [organizationId]);
  const calls = [reserve({})];
  await sleep(600);
  for (let times = 0; times < 8; times++) {
    calls.push(reserve({}));
    await sleep(30);
  }
  await holder.end();
  const [first, ...others] = await Promise.all(calls);
  expect(first).not.toBeInstanceOf(OverBudget);
  for (const other of others) expect(other).toMatchObject({ isBusy: true });
});

test("while a process stands still in a transaction, other organizations wait for nothing, and its own for seconds", async () => {
  const other = await makeOwner(openAuth(database));
  const { connectionString } = database.connection;
  const child = fork(bundled("rates/stopping.testsuite"), [connectionString!, organizationId], { stdio: "inherit" });
  try {
    await once(child, "message");
    // Late by this machine's time too, which the other process goes by.
    const own = reserve({ endsBy: Date.now() + 600_000 }).then(() => "own");
    const another = async (): Promise<string> => {
      await reserve({ organizationId: other.caller.organizationId });
      return "another";
    };
    for (let times = 0; times < 3; times++) expect(await Promise.race([own, another()])).toBe("another");
    expect(await own).toBe("own");
    child.kill("SIGCONT");
    const [outcome] = (await once(child, "message")) as [string];
    expect(outcome).toBe("unavailable");
    expect(await openReservations()).toBe(1);
  } finally {
    child.kill("SIGKILL");
  }
});

test("the use of an organization is read while another's, of which a process has the account, waits to be written", async () => {
  const other = await makeOwner(openAuth(database));
  const connection = connectionOf({});
  const of = { organizationId: other.caller.organizationId, connection };
  const [own, others] = [(await reserve({})) as Reserved, (await reserve(of)) as Reserved];
  const holder = await database.dedicated();
  try {
    await holder.query("select pg_advisory_lock(hashtextextended('models ' || $1, 0))", [organizationId]);
    own.settle({ tokens: 10, cost: 0 });
    const isWritten = both[0].settled(organizationId).then(() => "written");
    others.settle({ tokens: 30, cost: 0 });
    const spent = both[0].spendOf(of.organizationId, [{ connectionId: connection.id, days: 1 }]);
    expect(await Promise.race([isWritten, spent])).toMatchObject([[{ tokens: 30 }]]);
    expect(await Promise.race([isWritten, both[0].settled(of.organizationId)])).toBe(undefined);
  } finally {
    await holder.end();
  }
  expect(await spentOf(organizationId)).toBe(10);
});

test("the use of a connection counts what processes left behind that died, also before the next call", async () => {
  const connection = connectionOf({});
  await settled({ connection, most: { tokens: 50, cost: 0.5 }, currency: "EUR" }, 20, 0.25);
  await reserve({ connection, most: { tokens: 100, cost: 0.5 }, currency: "EUR" });
  await reserve({ connection, most: { tokens: 7, cost: 0 } });
  const spend = async (): Promise<object[]> =>
    (await both[1].spendOf(organizationId, [{ connectionId: connection.id, days: 1 }]))[0]!;
  const date = "2026-11-21";
  expect(await spend()).toEqual([{ date, tokens: 20, cost: 0.25, currency: "EUR" }]);
  clock.pass(60_000);
  const all = [
    { date, tokens: 7, cost: null, currency: null },
    { date, tokens: 120, cost: 0.75, currency: "EUR" },
  ];
  expect(await spend()).toEqual(all);
  await reserve({});
  expect(await spend()).toEqual(all);
  ((await reserve({ connection })) as Reserved).settle({ tokens: 1, cost: 0 });
  const own = await both[0].spendOf(organizationId, [{ connectionId: connection.id, days: 1 }]);
  expect(own).toMatchObject([[{ tokens: 8 }, all[1]]]);
});

test("an answer without a maximum reserves what it may have beyond, if all budgets have room for that", async () => {
  tokensOfPlan = 1_000;
  const long = { most: { tokens: 100, cost: 0 }, beyondTokens: 700 };
  const first = (await reserve(long)) as Reserved;
  const second = (await reserve(long, both[1])) as Reserved;
  expect([first.isOpen, second.isOpen]).toEqual([true, false]);
  // Room is left for 100.
  expect(await reserve({ most: { tokens: 101, cost: 0 } }, both[1])).toMatchObject({ isBusy: true });
  first.settle({ tokens: 750, cost: 0 });
  second.settle({ tokens: 50, cost: 0 });
  await allWritten();
  const third = (await reserve(long)) as Reserved;
  expect(third.isOpen).toBe(false);
  third.settle({ tokens: 0, cost: 0 });
  await allWritten();
  tokensOfPlan = null;
  const unbound = (await reserve({ ...long, endsBy: clock.now() + 1 })) as Reserved;
  expect(unbound.isOpen).toBe(true);
  clock.pass(1);
  await reserve({ most: { tokens: 0, cost: 0 } });
  // A process that died is charged for nothing beyond.
  expect(await spentOf(organizationId)).toBe(900);
});

test("an organization's plan counts all of its connections, and none of another organization's", async () => {
  tokensOfPlan = 250;
  await settled({ connection: connectionOf({}) }, 100);
  await settled({}, 100);
  expect(await reserve({})).toMatchObject({
    message: expect.stringContaining(
      "the organization's plan (free) allows 250 tokens of models a day: 200 tokens are used",
    ),
  });
  const other = await makeOwner(openAuth(database));
  expect(await reserve({ organizationId: other.caller.organizationId })).not.toBeInstanceOf(OverBudget);
});

test("a run and the runs below it share one budget for their whole life", async () => {
  const root = await runBelow(null);
  const child = await runBelow(root);
  const grandchild = await runBelow(child);
  const most = { tokens: LIMITS.modelTokensPerRun / 2, cost: 0 };
  await settled({ run: { id: root, parentId: undefined }, most }, most.tokens);
  await settled({ run: { id: newId<"run">(), parentId: grandchild }, most }, most.tokens - 10);
  clock.pass(86_400_000);
  for (const run of [
    { id: root, parentId: undefined },
    { id: newId<"run">(), parentId: child },
  ]) {
    expect(await reserve({ run, most: { tokens: 11, cost: 0 } }, both[1])).toMatchObject({
      message: expect.stringContaining("a run and the runs below it may use 10000000 tokens of models"),
    });
    await settled({ run, most: { tokens: 10, cost: 0 } }, 0);
  }
});

/** Null: no run started it. */
async function runBelow(parentRunId: RunId | null): Promise<RunId> {
  const id = newIdAt<"run">(clock.now());
  await database.query(
    `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
       created_at, revision, progress, epoch, wake_seq, parent_run_id, parent_awaits)
     values ($1, $2, $1, $1, '1.0.0', 'running', 'system', $1, '{}', $4, 1, 0, 0, 0, $3, true)`,
    [id, organizationId, parentRunId, new Date(clock.now())],
  );
  return id;
}
