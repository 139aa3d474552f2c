import { expect, test } from "vitest";
import { UnderWay } from "./under-way.ts";

test("resolves when the last has ended, also of those that began meanwhile, and at once when there is none", async () => {
  const underWay = new UnderWay();
  await underWay.ended();
  const told: string[] = [];
  underWay.begin();
  underWay.begin();
  const ended = underWay.ended().then(() => told.push("ended"));
  underWay.end();
  await Promise.resolve();
  expect([underWay.count, told]).toEqual([1, []]);
  underWay.end();
  // Before the waiting code has noticed.
  underWay.begin();
  await new Promise(setImmediate);
  expect(told).toEqual([]);
  underWay.end();
  await ended;
  expect(underWay.count).toBe(0);
});
