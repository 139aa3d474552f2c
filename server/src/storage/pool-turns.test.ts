import { expect, test } from "vitest";
import { newId } from "../lib/ids.ts";
import { createPoolTurns } from "./pool-turns.ts";

test("a backlog is how many statements of an organization wait, and for how long at the pace of the last turns", async () => {
  let now = 0;
  const turns = createPoolTurns(4, () => now);
  const [one, other] = [newId<"organization">(), newId<"organization">()];
  const ends: (() => void)[] = [];
  const begin = (of = one): Promise<void> => turns.inTurn(of, () => new Promise((resolve) => void ends.push(resolve)));
  const end = async (ms: number): Promise<void> => {
    now += ms;
    ends.shift()!();
    await new Promise(setImmediate);
  };
  // Until the mean has learnt it.
  for (let count = 0; count < 100; count++) {
    const ended = begin();
    await end(20);
    await ended;
  }
  expect(turns.backlog.of(one)).toEqual({ waiting: 0, ms: 0 });
  const all = Array.from({ length: 12 }, () => begin());
  expect(turns.backlog.isContended()).toBe(true);
  // Two at a time.
  expect(turns.backlog.of(one)).toMatchObject({ waiting: 10, ms: expect.closeTo(100, 0) });
  expect(turns.backlog.of(other)).toEqual({ waiting: 0, ms: 0 });
  // The third is another's at once; its second waits, and three are shared by two from then on.
  all.push(begin(other), begin(other));
  expect(turns.backlog.of(one)).toMatchObject({ waiting: 10, ms: expect.closeTo(133, 0) });
  while (ends.length > 0) await end(0);
  await Promise.all(all);
  expect(turns.backlog.isContended()).toBe(false);
});
