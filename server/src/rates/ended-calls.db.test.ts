/** The ends of models' calls: how they add to the account, and in how many statements. */
import { expect, test } from "vitest";
import { randomFrom } from "../../../test/faults/random.ts";
import { newId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import { connectionOf, openBudgets, openReservations, openWorld, plannedCall, world } from "./budgets.testsuite.ts";

openWorld();

/** Sums up what was spent over all places of these. */
async function sumOf(subjects: readonly string[]): Promise<object> {
  const [spent] = await world.database.query(
    `select sum(tokens)::int as tokens, round(sum(cost), 6)::float8 as cost, count(*)::int as places
       from model_spend where organization_id = $1 and subject = any($2::uuid[])`,
    [world.organizationId, subjects],
  );
  return spent!;
}

test("a call that has the account alone costs five statements before it is made, and one after", async () => {
  const { database } = world;
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
  const budgets = openBudgets(counting);
  const run = { id: newId<"run">(), parentId: undefined };
  const call = await budgets.reserve(plannedCall({ connection: connectionOf({ tokensPerDay: 1_000_000 }), run }));
  expect(written.splice(0)).toHaveLength(5);
  call.settle({ tokens: 10, cost: 0 });
  await budgets.settled(world.organizationId);
  expect(written).toHaveLength(1);
  expect(await openReservations()).toBe(0);
  for (const subject of [world.organizationId, run.id])
    expect(await sumOf([subject])).toEqual({ tokens: 10, cost: 0, places: 1 });
});

test("the ends of many calls, some of them late, count by place and currency, in one write or in many", async () => {
  const { pick, between } = randomFrom(11);
  const budgets = openBudgets();
  const connections = [connectionOf({ tokensPerDay: 1_000_000 }), connectionOf({ tokensPerDay: 1_000_000 })];
  const currencies = ["EUR", "USD"];
  const begin = () =>
    budgets.reserve(
      plannedCall({
        connection: pick(connections),
        most: { tokens: 100, cost: 0.5 },
        currency: pick(currencies),
        endsBy: world.clock.now() + pick([1_000, 60_000]),
      }),
    );
  const calls = await Promise.all(Array.from({ length: 60 }, begin));
  world.clock.pass(1_000);
  // With it, those whose time is over count in full, until their ends come.
  const last = await budgets.reserve(plannedCall());
  let used = 0;
  for (const call of calls) {
    const tokens = between(0, 100);
    used += tokens;
    call.settle({ tokens, cost: tokens / 1_000 });
    if (pick([true, false, false])) await budgets.settled(world.organizationId);
  }
  await budgets.settled(world.organizationId);
  expect(await sumOf(connections.map(({ id }) => id))).toEqual({ tokens: used, cost: used / 1_000, places: 4 });
  expect(await openReservations()).toBe(1);
  last.settle({ tokens: 7, cost: 0 });
  await budgets.settled(world.organizationId);
  expect(await sumOf([world.organizationId])).toEqual({ tokens: used + 7, cost: used / 1_000, places: 3 });
  expect(await openReservations()).toBe(0);
});
