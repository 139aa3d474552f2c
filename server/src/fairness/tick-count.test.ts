import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { TickCount } from "./tick-count.ts";

test("counts from one again in the next turn of the event loop, which has another number", async () => {
  const count = new TickCount();
  for (let round = 0; round < 3; round++) {
    expect(count.tick).toBe(round);
    expect([count.add(), count.add(), count.tick]).toEqual([1, 2, round]);
    await Promise.resolve();
    expect(count.add()).toBe(3);
    await nextTurn();
  }
});

test("a turn in which nothing was counted has no number of its own", async () => {
  const count = new TickCount();
  count.add();
  for (let time = 0; time < 3; time++) await nextTurn();
  expect(count.tick).toBe(1);
});
