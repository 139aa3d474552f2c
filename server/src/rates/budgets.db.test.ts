/** Budgets of models in a database that several processes share: which calls have room, and what they use. */
import { expect, test } from "vitest";
import { randomFrom } from "../../../test/faults/random.ts";
import { makeOwner, openAuth } from "../auth/handle/auth.testsuite.ts";
import { newId, newIdAt, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { OverBudget, type PlannedCall, type Reserved } from "./budgets.ts";
import { allWritten, connectionOf, openReservations, openWorld, reserve, spentOf, world } from "./budgets.testsuite.ts";

openWorld();

const settled = async (own: Partial<PlannedCall>, tokens: number, cost = 0): Promise<void> => {
  const reserved = await reserve(own);
  if (reserved instanceof OverBudget) throw reserved;
  reserved.settle({ tokens, cost });
  await allWritten();
};

test("random calls at two processes at once never use more than a day's tokens, and come close", async () => {
  const { pick, between } = randomFrom(7);
  const connection = connectionOf({ tokensPerDay: 5_000 });
  let used = 0;
  const call = async (): Promise<string> => {
    const reserved = await reserve({ connection, most: { tokens: 100, cost: 0 } }, pick(world.both));
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
  expect(await openReservations()).toBe(0);
});

test("tokens and costs of a connection are free again on the next day, and the error says so", async () => {
  const connection = connectionOf({ tokensPerDay: 250, costPerDay: 0.5 });
  await settled({ connection, most: { tokens: 200, cost: 0.1 }, currency: "EUR" }, 180, 0.1);
  expect(await reserve({ connection, most: { tokens: 71, cost: 0 }, currency: "EUR" })).toMatchObject({
    isBusy: false,
    message:
      "the model connection cheap may use 250 tokens a day: 180 tokens are used, and this call may use up to 71 tokens. A lower maxTokens needs less, and all of it is free again from 2026-11-22T00:00:00Z on",
  });
  expect(await reserve({ connection, most: { tokens: 1, cost: 0.41 }, currency: "EUR" })).toMatchObject({
    message: expect.stringContaining("may use 0.5 EUR a day: 0.1 EUR are used, and this call may use up to 0.41 EUR"),
  });
  // Another currency is another account.
  await settled({ connection, most: { tokens: 1, cost: 0.5 }, currency: "USD" }, 1, 0.5);
  world.clock.pass(86_400_000);
  await settled({ connection, most: { tokens: 250, cost: 0.5 }, currency: "EUR" }, 250, 0.5);
});

test("what calls under way have reserved is worth to wait for, what they used is not", async () => {
  const connection = connectionOf({ tokensPerDay: 150 });
  const first = (await reserve({ connection })) as Reserved;
  expect(await reserve({ connection }, world.both[1])).toMatchObject({
    isBusy: true,
    message: expect.stringContaining("under way"),
  });
  first.settle({ tokens: 50, cost: 0 });
  await allWritten();
  const second = (await reserve({ connection }, world.both[1])) as Reserved;
  second.settle({ tokens: 100, cost: 0 });
  await allWritten();
  expect(await reserve({ connection })).toMatchObject({ isBusy: false });
  expect(await spentOf(connection.id)).toBe(150);
});

test("a call that ends frees what it reserved alone: others under way keep theirs", async () => {
  const connection = connectionOf({ tokensPerDay: 250 });
  const first = (await reserve({ connection })) as Reserved;
  const second = (await reserve({ connection }, world.both[1])) as Reserved;
  first.settle({ tokens: 100, cost: 0 });
  await allWritten();
  expect(await reserve({ connection }, world.both[1])).toMatchObject({
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
  world.clock.pass(59_999);
  expect(await reserve({ connection })).toMatchObject({ isBusy: true });
  world.clock.pass(1);
  expect(await reserve({ connection })).toMatchObject({ isBusy: false });
  await settled({ connection, most: { tokens: 50, cost: 0 } }, 0);
  expect(await spentOf(connection.id)).toBe(100);
  lost.settle({ tokens: 20, cost: 0 });
  expect(await spentOf(connection.id)).toBe(20);
});

test("a call that ends makes room for the next of the same write", async () => {
  const connection = connectionOf({ tokensPerDay: 150 });
  const first = (await reserve({ connection })) as Reserved;
  first.settle({ tokens: 50, cost: 0 });
  expect(await reserve({ connection })).not.toBeInstanceOf(OverBudget);
});

test("the use of a connection counts what processes left behind that died, also before the next call", async () => {
  const connection = connectionOf({});
  await settled({ connection, most: { tokens: 50, cost: 0.5 }, currency: "EUR" }, 20, 0.25);
  await reserve({ connection, most: { tokens: 100, cost: 0.5 }, currency: "EUR" });
  await reserve({ connection, most: { tokens: 7, cost: 0 } });
  const spend = async (): Promise<object[]> =>
    (await world.both[1].spendOf(world.organizationId, [{ connectionId: connection.id, days: 1 }]))[0]!;
  const date = "2026-11-21";
  expect(await spend()).toEqual([{ date, tokens: 20, cost: 0.25, currency: "EUR" }]);
  world.clock.pass(60_000);
  const all = [
    { date, tokens: 7, cost: null, currency: null },
    { date, tokens: 120, cost: 0.75, currency: "EUR" },
  ];
  expect(await spend()).toEqual(all);
  await reserve({});
  expect(await spend()).toEqual(all);
  ((await reserve({ connection })) as Reserved).settle({ tokens: 1, cost: 0 });
  const own = await world.both[0].spendOf(world.organizationId, [{ connectionId: connection.id, days: 1 }]);
  expect(own).toMatchObject([[{ tokens: 8 }, all[1]]]);
});

test("an answer without a maximum reserves what it may have beyond, if all budgets have room for that", async () => {
  world.tokensOfPlan = 1_000;
  const long = { most: { tokens: 100, cost: 0 }, beyondTokens: 700 };
  const first = (await reserve(long)) as Reserved;
  const second = (await reserve(long, world.both[1])) as Reserved;
  expect([first.isOpen, second.isOpen]).toEqual([true, false]);
  // Room is left for 100.
  expect(await reserve({ most: { tokens: 101, cost: 0 } }, world.both[1])).toMatchObject({ isBusy: true });
  first.settle({ tokens: 750, cost: 0 });
  second.settle({ tokens: 50, cost: 0 });
  await allWritten();
  const third = (await reserve(long)) as Reserved;
  expect(third.isOpen).toBe(false);
  third.settle({ tokens: 0, cost: 0 });
  await allWritten();
  world.tokensOfPlan = null;
  const unbound = (await reserve({ ...long, endsBy: world.clock.now() + 1 })) as Reserved;
  expect(unbound.isOpen).toBe(true);
  world.clock.pass(1);
  await reserve({ most: { tokens: 0, cost: 0 } });
  // A process that died is charged for nothing beyond.
  expect(await spentOf(world.organizationId)).toBe(900);
});

test("an organization's plan counts all of its connections, and none of another organization's", async () => {
  world.tokensOfPlan = 250;
  await settled({ connection: connectionOf({}) }, 100);
  await settled({}, 100);
  expect(await reserve({})).toMatchObject({
    message: expect.stringContaining(
      "the organization's plan (free) allows 250 tokens of models a day: 200 tokens are used",
    ),
  });
  const other = await makeOwner(openAuth(world.database));
  expect(await reserve({ organizationId: other.caller.organizationId })).not.toBeInstanceOf(OverBudget);
});

test("a run and the runs below it share one budget for their whole life", async () => {
  const root = await runBelow(null);
  const child = await runBelow(root);
  const grandchild = await runBelow(child);
  const most = { tokens: LIMITS.modelTokensPerRun / 2, cost: 0 };
  await settled({ run: { id: root, parentId: undefined }, most }, most.tokens);
  await settled({ run: { id: newId<"run">(), parentId: grandchild }, most }, most.tokens - 10);
  world.clock.pass(86_400_000);
  for (const run of [
    { id: root, parentId: undefined },
    { id: newId<"run">(), parentId: child },
  ]) {
    expect(await reserve({ run, most: { tokens: 11, cost: 0 } }, world.both[1])).toMatchObject({
      message: expect.stringContaining("a run and the runs below it may use 10000000 tokens of models"),
    });
    await settled({ run, most: { tokens: 10, cost: 0 } }, 0);
  }
});

/** Null: no run started it. */
async function runBelow(parentRunId: RunId | null): Promise<RunId> {
  const id = newIdAt<"run">(world.clock.now());
  await world.database.query(
    `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
       created_at, revision, progress, epoch, wake_seq, parent_run_id, parent_awaits)
     values ($1, $2, $1, $1, '1.0.0', 'running', 'system', $1, '{}', $4, 1, 0, 0, 0, $3, true)`,
    [id, world.organizationId, parentRunId, new Date(world.clock.now())],
  );
  return id;
}
