import { expect, test } from "vitest";
import { leastMs } from "../lib/processor-time.testsuite.ts";
import { FairQueue } from "./fair-queue.ts";

test("groups take turns, and what is of one group comes in its order", () => {
  const queue = new FairQueue<string, number>();
  for (const item of [1, 2, 3]) queue.add("a", item);
  queue.add("b", 4);
  expect([queue.size, queue.groups, queue.sizeOf("a"), queue.sizeOf("b"), queue.sizeOf("c")]).toEqual([4, 2, 3, 1, 0]);
  expect([queue.take(), queue.take()]).toEqual([1, 4]);
  queue.add("b", 5);
  expect([queue.take(), queue.take(), queue.take(), queue.take()]).toEqual([2, 5, 3, undefined]);
  expect([queue.size, queue.groups]).toEqual([0, 0]);
  queue.add("a", 6);
  expect(queue.take()).toBe(6);
});

test("a line of 200,000 is emptied in time that grows with its length", () => {
  const queue = new FairQueue<string, number>();
  const fillAndEmpty = (): void => {
    for (let item = 0; item < 200_000; item++) queue.add("a", item);
    while (queue.take() !== undefined);
  };
  // 40 ms; an array that is shifted took 2 s.
  expect(leastMs(400, fillAndEmpty)).toBeLessThan(400);
});
