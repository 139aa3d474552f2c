import { setImmediate as immediately } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Clock } from "../lib/clock.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { Turns } from "./turns.ts";

/** Moves on only when it is told to. */
function steered(): { turns: Turns; pass: (ms: number) => void } {
  let now = 1_000;
  const clock: Clock = { now: () => now, at: () => ({ [Symbol.dispose]: () => {} }) };
  return { turns: new Turns(clock), pass: (ms) => void (now += ms) };
}

/** Evaluates `steps` times for 2 ms. */
async function busy({ turns, pass }: ReturnType<typeof steered>, of: OrganizationId, steps: number, done: () => void) {
  for (let step = 0; step < steps; step++) {
    const turn = turns.next(of);
    await (turn ?? Promise.resolve());
    pass(2);
  }
  done();
}

test("all runs together have the thread for 5 ms and one step each, then what came from outside is looked at", async () => {
  const steer = steered();
  const of = newId<"organization">();
  let spent = 0;
  let longest = 0;
  const counting = { turns: steer.turns, pass: (ms: number) => (steer.pass(ms), void (spent += ms)) };
  const ended: number[] = [];
  const all = Array.from({ length: 50 }, (_, index) => busy(counting, of, 20, () => void ended.push(index)));
  // The first step of each is due before any has been counted.
  await immediately();
  spent = 0;
  while (ended.length < 50) {
    await immediately();
    longest = Math.max(longest, spent);
    spent = 0;
  }
  await Promise.all(all);
  expect(longest).toBeLessThanOrEqual(8);
});

test("organizations take turns, so that one's fifty runs do not hold up another's single one", async () => {
  const steer = steered();
  const ended: string[] = [];
  const [many, single] = [newId<"organization">(), newId<"organization">()];
  const all = Array.from({ length: 50 }, () => busy(steer, many, 20, () => void ended.push("many")));
  all.push(busy(steer, single, 20, () => void ended.push("single")));
  await Promise.all(all);
  expect(ended.indexOf("single")).toBe(0);
});

test("beside 20 organizations with 50 runs each a single one of three short steps ends within two rounds", async () => {
  const steer = steered();
  const short = async (of: OrganizationId, steps: number): Promise<void> => {
    for (let step = 0; step < steps; step++) {
      await (steer.turns.next(of) ?? Promise.resolve());
      steer.pass(0.05);
    }
  };
  const flood = Array.from({ length: 20 }, () => newId<"organization">()).flatMap((of) =>
    Array.from({ length: 50 }, () => short(of, 20)),
  );
  // They have used up this round.
  steer.pass(5);
  const single = { hasEnded: false };
  void short(newId<"organization">(), 3).then(() => (single.hasEnded = true));
  await immediately();
  await immediately();
  expect(single.hasEnded).toBe(true);
  await Promise.all(flood);
});

test("a run goes on at once when none had the thread in this round", async () => {
  const { turns, pass } = steered();
  const of = newId<"organization">();
  expect(turns.next(of)).toBeUndefined();
  pass(4);
  expect(turns.next(of)).toBeUndefined();
  pass(1);
  const turn = turns.next(of);
  expect(turn).toBeInstanceOf(Promise);
  await turn;
  await immediately();
  expect(turns.next(of)).toBeUndefined();
});

test("a clock that is set back ends the round: who comes next waits for a turn", () => {
  const { turns, pass } = steered();
  const of = newId<"organization">();
  expect(turns.next(of)).toBeUndefined();
  pass(-4);
  expect(turns.next(of)).toBeUndefined();
  pass(-3_600_000);
  expect(turns.next(of)).toBeInstanceOf(Promise);
});
