/** Budgets of models when commits lose their answers, or the database cannot be used. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { randomFrom } from "../../../test/faults/random.ts";
import { OverBudget, type Budgets, type Reserved } from "./budgets.ts";
import {
  connectionOf,
  openBudgets,
  openReservations,
  openWorld,
  plannedCall,
  reserve,
  spentOf,
  world,
} from "./budgets.testsuite.ts";

openWorld();

/** On a database whose commits lose their answers, or that is gone, as often as `faults` says. */
function openFaulty(faults: { lostAnswers: number; gone: number }): Budgets {
  const { database } = world;
  const faultily = async <Answer>(write: () => Promise<Answer>): Promise<Answer> => {
    if (faults.gone-- > 0) throw new Error("Connection terminated");
    const answer = await write();
    if (faults.lostAnswers-- > 0) throw new Error("Connection terminated");
    return answer;
  };
  return openBudgets({
    ...database,
    query: (...statement) => faultily(() => database.query(...statement)),
    transaction: (work) => faultily(() => database.transaction(work)),
  });
}

test("a call counts once, also if the answer of a commit is lost and it is written again", async () => {
  const faults = { lostAnswers: 0, gone: 0 };
  const budgets = openFaulty(faults);
  const connection = connectionOf({ tokensPerDay: 250 });
  faults.lostAnswers = 1;
  const calls = (await Promise.all([1, 2].map(() => reserve({ connection }, budgets)))) as Reserved[];
  faults.lostAnswers = 1;
  for (const call of calls) call.settle({ tokens: 10, cost: 0 });
  await budgets.settled(world.organizationId);
  expect(await spentOf(connection.id)).toBe(20);
  expect(await reserve({ connection, most: { tokens: 230, cost: 0 } })).not.toBeInstanceOf(OverBudget);
});

test("a reservation whose commit's answer is lost is given back, since its call is not made", async () => {
  const faults = { lostAnswers: 1, gone: 0 };
  const budgets = openFaulty(faults);
  await expect(reserve({}, budgets)).rejects.toThrow("Connection terminated");
  await budgets.settled(world.organizationId);
  expect(await openReservations()).toBe(0);
  expect(await spentOf(world.organizationId)).toBe(null);
  // One that was never written is not given back twice.
  faults.gone = 2;
  await expect(reserve({ endsBy: world.clock.now() + 2_001 }, budgets)).rejects.toThrow("Connection terminated");
  await budgets.settled(world.organizationId);
  world.clock.pass(2_500);
  await sleep(1);
  await budgets.settled(world.organizationId);
  expect(await spentOf(world.organizationId)).toBe(null);
});

test("what a call used is written again until the database can be used, and at the end", async () => {
  const faults = { lostAnswers: 0, gone: 0 };
  const budgets = openFaulty(faults);
  const calls = [(await reserve({}, budgets)) as Reserved, (await reserve({}, budgets)) as Reserved];
  faults.gone = 2;
  calls[0]!.settle({ tokens: 10, cost: 0 });
  await budgets.settled(world.organizationId);
  expect(await spentOf(world.organizationId)).toBe(null);
  const later = async (): Promise<number | null> => {
    world.clock.pass(2_000);
    await budgets.settled(world.organizationId);
    return spentOf(world.organizationId);
  };
  await expect.poll(later).toBe(10);
  faults.gone = 1;
  calls[1]!.settle({ tokens: 20, cost: 0 });
  await budgets.settled(world.organizationId);
  await budgets[Symbol.asyncDispose]();
  expect(await spentOf(world.organizationId)).toBe(30);
});

test("whatever is lost, taken or given up, and when: what calls used counts once, and nothing stays reserved", async () => {
  const { next, between, pick } = randomFrom(5);
  const faults = { lostAnswers: 0, gone: 0 };
  const processes = [openFaulty(faults), openFaulty(faults)];
  const planned = plannedCall({ endsBy: world.clock.now() + 86_400_000 });
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
      await world.database.transaction(async (query) => {
        await query("select pg_advisory_xact_lock(hashtextextended('models ' || $1, 0))", [world.organizationId]);
        await sleep(between(0, 20));
      });
    }
  };
  await Promise.all([disturb(), ...Array.from({ length: 100 }, call)]);
  faults.lostAnswers = faults.gone = 0;
  const later = async (): Promise<number> => {
    world.clock.pass(2_000);
    await Promise.all(processes.map((budgets) => budgets.settled(world.organizationId)));
    return openReservations();
  };
  await expect.poll(later).toBe(0);
  expect((await spentOf(world.organizationId)) ?? 0).toBe(used);
});

test("a late end that is written twice is taken off once", async () => {
  const faults = { lostAnswers: 0, gone: 0 };
  const budgets = openFaulty(faults);
  const [late] = [(await reserve({}, budgets)) as Reserved, (await reserve({}, budgets)) as Reserved];
  world.clock.pass(60_000);
  faults.lostAnswers = 1;
  late.settle({ tokens: 10, cost: 0 });
  // In the same write, so both are written again.
  const other = reserve({}, budgets);
  await budgets.settled(world.organizationId);
  await other;
  expect(await spentOf(world.organizationId)).toBe(110);
});
