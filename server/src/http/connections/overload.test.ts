import { expect, test } from "vitest";
import { LIMITS } from "../../lib/limits.ts";
import { Overload } from "./overload.ts";

const MOST = LIMITS.waitToBeginMs;

/** At which of these waits, 50 ms apart, it is over. */
const over = (waits: number[], overload = new Overload(), from = 0): number[] =>
  waits.flatMap((waited, index) => {
    const now = from + index * 50;
    overload.note("a", waited, now);
    return overload.isOver("a", now) ? [index] : [];
  });
const many = (count: number, waited: number): number[] => Array<number>(count).fill(waited);
const LATE = MOST / 2 + 1;

test("a burst is none, however long it waits; half a second of waiting too long is", () => {
  expect(over(many(10, 10 * MOST))).toEqual([]);
  expect(over(many(12, LATE))).toEqual([10, 11]);
});

test("one that hardly waited ends it: the line was short", () => {
  expect(over([...many(11, LATE), MOST / 2, ...many(10, LATE)])).toEqual([10]);
});

test("what was long ago is no beginning of half a second, and no overload now", () => {
  const overload = new Overload();
  over(many(12, LATE), overload);
  expect(overload.isOver("a", 550 + 2_000)).toBe(true);
  expect(overload.isOver("a", 550 + 2_001)).toBe(false);
  expect(over(many(10, LATE), overload, 5_000)).toEqual([]);
});

test("another line's waits do not count", () => {
  const overload = new Overload();
  over(many(12, LATE), overload);
  overload.note("b", LATE, 600);
  expect([overload.isOver("a", 600), overload.isOver("b", 600)]).toEqual([true, false]);
});
