import { expect, test } from "vitest";
import { delayBefore, LONGEST_MS, type BackOff } from "./back-off.ts";

const four = (backOff: BackOff, random = 0.5): number[] =>
  [1, 2, 3, 4].map((again) => delayBefore(backOff, again, random));

const exponential = (factor: number, most = Infinity): BackOff["growth"] => ({ is: "exponential", factor, most });

test.each<[string, BackOff, number[]]>([
  ["constant", { delay: 60, growth: { is: "constant" } }, [60, 60, 60, 60]],
  ["linear", { delay: 40, growth: { is: "linear", increment: 30 } }, [40, 70, 100, 130]],
  ["linear without an increment", { delay: 40, growth: { is: "linear", increment: 0 } }, [40, 80, 120, 160]],
  ["exponential", { delay: 30, growth: exponential(2) }, [30, 60, 120, 240]],
  ["exponential by another factor", { delay: 30, growth: exponential(3) }, [30, 90, 270, 810]],
  ["exponential by a factor below one", { delay: 80, growth: exponential(0.5) }, [80, 40, 20, 10]],
  ["exponential with a longest", { delay: 30, growth: exponential(3, 100) }, [30, 90, 100, 100]],
  ["exponential from nothing", { delay: 0, growth: exponential(3) }, [0, 0, 0, 0]],
])("%s", (_, backOff, delays) => expect(four(backOff)).toEqual(delays));

test.each([
  [0, 20],
  [0.25, 25],
  [1, 40],
])("jitter adds from its least to its most: at %d of it %d", (random, spread) => {
  const jitter = { from: 20, to: 40 };
  expect(delayBefore({ delay: 100, growth: { is: "constant" }, jitter }, 3, random)).toBe(100 + spread);
});

test("a jitter whose most is below its least is its least", () => {
  expect(delayBefore({ delay: 0, growth: { is: "constant" }, jitter: { from: 20, to: 5 } }, 1, 0.5)).toBe(20);
});

test("the longest delay bounds the jitter too, and only that of an exponential policy", () => {
  const jitter = { from: 50, to: 50 };
  expect(delayBefore({ delay: 80, growth: exponential(2, 100), jitter }, 1, 0.5)).toBe(100);
  expect(delayBefore({ delay: 80, growth: { is: "linear", increment: 80 }, jitter }, 2, 0.5)).toBe(210);
});

test("a delay is whole milliseconds, and never longer than a run may last", () => {
  expect(delayBefore({ delay: 10, growth: exponential(1.26) }, 2, 0)).toBe(13);
  expect(delayBefore({ delay: 1_000, growth: exponential(10) }, 1_000, 0)).toBe(LONGEST_MS);
  expect(delayBefore({ delay: 0, growth: exponential(10) }, 1_000, 0)).toBe(0);
});
