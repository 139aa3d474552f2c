import { setImmediate as immediately } from "node:timers/promises";
import { expect, test } from "vitest";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { Rounds } from "./rounds.ts";

/** Moves only when told to. */
function steered(): { rounds: Rounds<OrganizationId>; pass: (ms: number) => void } {
  let now = 1_000;
  return { rounds: new Rounds(() => now), pass: (ms) => void (now += ms) };
}

/** Evaluates `steps` times for 2 ms. */
async function busy({ rounds, pass }: ReturnType<typeof steered>, of: OrganizationId, steps: number, done: () => void) {
  for (let step = 0; step < steps; step++) {
    const turn = rounds.next(of);
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
  const counting = { rounds: steer.rounds, pass: (ms: number) => (steer.pass(ms), void (spent += ms)) };
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
      await (steer.rounds.next(of) ?? Promise.resolve());
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
  const { rounds, pass } = steered();
  const of = newId<"organization">();
  expect(rounds.next(of)).toBeUndefined();
  pass(4);
  expect(rounds.next(of)).toBeUndefined();
  pass(1);
  const turn = rounds.next(of);
  expect(turn).toBeInstanceOf(Promise);
  await turn;
  await immediately();
  expect(rounds.next(of)).toBeUndefined();
});

test("a clock that is set back ends the round: who comes next waits for a turn", () => {
  const { rounds, pass } = steered();
  const of = newId<"organization">();
  expect(rounds.next(of)).toBeUndefined();
  pass(-4);
  expect(rounds.next(of)).toBeUndefined();
  pass(-3_600_000);
  expect(rounds.next(of)).toBeInstanceOf(Promise);
});

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("what comes after 5 ms of a round goes on in the next rounds, 5 ms of each, by turns of groups", async () => {
  const begun: string[] = [];
  let inRound = 0;
  let mostInRound = 0;
  const rounds = new Rounds<string>(() => performance.now());
  const begin = (what: string) => () => {
    begun.push(what);
    mostInRound = Math.max(mostInRound, ++inRound);
    spin(2);
  };
  expect([rounds.isOpen(), rounds.isOpen()]).toEqual([true, true]);
  spin(6);
  expect(rounds.isOpen()).toBe(false);
  for (let count = 0; count < 20; count++) rounds.wait("flood", begin(`flood ${count}`));
  rounds.wait("caller", begin("caller"));
  for (let round = 0; begun.length < 21; round++) {
    await immediately();
    inRound = 0;
    if (begun.length < 21 && round > 0) expect(rounds.isOpen()).toBe(false);
  }
  expect(begun).toEqual(["flood 0", "caller", ...Array.from({ length: 19 }, (_, index) => `flood ${index + 1}`)]);
  expect(mostInRound).toBeLessThanOrEqual(4);
  await immediately();
  await immediately();
  expect(rounds.isOpen()).toBe(true);
});
