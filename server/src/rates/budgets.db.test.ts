/** Budgets of models in a database that several processes share. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { randomFrom } from "../../../test/faults/random.ts";
import { makeOwner, openAuth, quiet, startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { newId, newIdAt, type ModelConnectionId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import { createBudgets, OverBudget, type Budgets, type PlannedCall, type Reserved } from "./budgets.ts";

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
  budgets
    .reserve({
      organizationId,
      connection: undefined,
      run: undefined,
      most: { tokens: 100, cost: 0 },
      currency: undefined,
      endsBy: clock.now() + 60_000,
      ...own,
    })
    .catch((error: unknown) => {
      if (error instanceof OverBudget) return error;
      throw error;
    });

const settled = async (own: Partial<PlannedCall>, tokens: number, cost = 0): Promise<void> => {
  const reserved = await reserve(own);
  if (reserved instanceof OverBudget) throw reserved;
  reserved.settle({ tokens, cost });
  await allWritten();
};

const allWritten = (): Promise<unknown> => Promise.all(both.map((budgets) => budgets.settled()));

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
  second.settle("unknown");
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
  const losesAnswers: Database = {
    ...database,
    transaction: async (work) => {
      const answer = await database.transaction(work);
      if (losing-- > 0) throw new Error("the connection was lost");
      return answer;
    },
  };
  const allowanceOf = async () => ({ plan: "free" as const, modelTokensPerDay: null });
  const budgets = createBudgets({ database: losesAnswers, clock, log: quiet, allowanceOf });
  const connection = connectionOf({ tokensPerDay: 250 });
  losing = 1;
  const calls = (await Promise.all([1, 2].map(() => reserve({ connection }, budgets)))) as Reserved[];
  losing = 1;
  for (const call of calls) call.settle({ tokens: 10, cost: 0 });
  await budgets.settled();
  expect(await spentOf(connection.id)).toBe(20);
  expect(await reserve({ connection, most: { tokens: 230, cost: 0 } })).not.toBeInstanceOf(OverBudget);
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
