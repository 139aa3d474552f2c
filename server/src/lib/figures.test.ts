import { expect, test } from "vitest";
import { Histogram } from "./figures.ts";

test("a histogram counts each value below the first bound that it does not exceed", () => {
  const histogram = new Histogram([1, 2.5]);
  for (const value of [0, 1, 1.001, 2.5, 2.6, 1e9]) histogram.observe(value);
  expect(histogram.counts).toEqual([2, 2, 2]);
  expect(histogram.sum).toBe(1e9 + 7.101);
});

test("a negative duration, after a clock was set back, adds nothing: the sum never falls", () => {
  const histogram = Histogram.ofSeconds();
  histogram.observe(-5);
  expect([histogram.sum, histogram.counts[0]]).toEqual([0, 1]);
});

test("times of performance.now() are counted in seconds", () => {
  const histogram = new Histogram([5, 15, 60]);
  histogram.since(performance.now() - 10_000);
  expect(histogram.counts).toEqual([0, 1, 0, 0]);
});
