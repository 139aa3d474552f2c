/** The ends of models' calls: how they add to the account, and in how many statements. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { randomFrom } from "../../../test/faults/random.ts";
import { makeOwner, openAuth, quiet, startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import { createBudgets, type Budgets, type PlannedCall } from "./budgets.ts";

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
beforeEach(async () => {
  clock = testClock();
  ({
    caller: { organizationId },
  } = await makeOwner(openAuth(database)));
});

const open = (on: Database): Budgets => {
  const allowanceOf = async () => ({ plan: "free" as const, modelTokensPerDay: null });
  return createBudgets({ database: on, clock, log: quiet, allowanceOf });
};

const callOf = (own: Partial<PlannedCall>): PlannedCall => ({
  organizationId,
  connection: undefined,
  run: undefined,
  most: { tokens: 100, cost: 0 },
  beyondTokens: 0,
  currency: undefined,
  endsBy: clock.now() + 60_000,
  ...own,
});

const newConnection = (): NonNullable<PlannedCall["connection"]> => ({
  id: newId<"modelConnection">(),
  name: "cheap",
  tokensPerDay: 1_000_000,
  costPerDay: null,
});

/** Over all places of these. */
async function spentOf(subjects: readonly string[]): Promise<object> {
  const [spent] = await database.query(
    `select sum(tokens)::int as tokens, round(sum(cost), 6)::float8 as cost, count(*)::int as places
       from model_spend where organization_id = $1 and subject = any($2::uuid[])`,
    [organizationId, subjects],
  );
  return spent!;
}

const openReservations = async (): Promise<number> =>
  (await database.query("select 1 from model_reservations where organization_id = $1", [organizationId])).length;

test("a call that has the account alone costs five statements before it is made, and one after", async () => {
  const written: string[] = [];
  const counting: Database = {
    ...database,
    query: (text, ...values) => {
      written.push(text);
      return database.query(text, ...values);
    },
    transaction: async (work) => {
      written.push("begin");
      const answer = await database.transaction((query) =>
        work((text, values) => {
          written.push(text);
          return query(text, values);
        }),
      );
      written.push("commit");
      return answer;
    },
  };
  const budgets = open(counting);
  const run = { id: newId<"run">(), parentId: undefined };
  const call = await budgets.reserve(callOf({ connection: newConnection(), run }));
  expect(written.splice(0)).toHaveLength(5);
  call.settle({ tokens: 10, cost: 0 });
  await budgets.settled(organizationId);
  expect(written).toHaveLength(1);
  expect(await openReservations()).toBe(0);
  for (const subject of [organizationId, run.id])
    expect(await spentOf([subject])).toEqual({ tokens: 10, cost: 0, places: 1 });
});

test("the ends of many calls, some of them late, count by place and currency, in one write or in many", async () => {
  const { pick, between } = randomFrom(11);
  const budgets = open(database);
  const connections = [newConnection(), newConnection()];
  const currencies = ["EUR", "USD"];
  const begin = () =>
    budgets.reserve(
      callOf({
        connection: pick(connections),
        most: { tokens: 100, cost: 0.5 },
        currency: pick(currencies),
        endsBy: clock.now() + pick([1_000, 60_000]),
      }),
    );
  const calls = await Promise.all(Array.from({ length: 60 }, begin));
  clock.pass(1_000);
  // With it, those whose time is over count in full, until their ends come.
  const last = await budgets.reserve(callOf({}));
  let used = 0;
  for (const call of calls) {
    const tokens = between(0, 100);
    used += tokens;
    call.settle({ tokens, cost: tokens / 1_000 });
    if (pick([true, false, false])) await budgets.settled(organizationId);
  }
  await budgets.settled(organizationId);
  expect(await spentOf(connections.map(({ id }) => id))).toEqual({ tokens: used, cost: used / 1_000, places: 4 });
  expect(await openReservations()).toBe(1);
  last.settle({ tokens: 7, cost: 0 });
  await budgets.settled(organizationId);
  expect(await spentOf([organizationId])).toEqual({ tokens: used + 7, cost: used / 1_000, places: 3 });
  expect(await openReservations()).toBe(0);
});
