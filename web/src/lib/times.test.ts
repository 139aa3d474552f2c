import { expect, test } from "vitest";
import { clockText, durationText, minuteText, relativeText, scaleText } from "./times.ts";

test.each([
  [0, "0 ms"],
  [99.6, "99 ms"],
  [340, "340 ms"],
  [999.9, "999 ms"],
  [1_000, "1.0 s"],
  [1_449, "1.4 s"],
  [59_999, "59 s"],
  [125_000, "2 m 05 s"],
  [3 * 3_600_000 + 12 * 60_000, "3 h 12 m"],
  [49 * 3_600_000, "2 d"],
])("a duration of %i ms is %s", (ms, text) => expect(durationText(ms)).toBe(text));

test.each([
  [0, "0"],
  [250, "250 ms"],
  [10_500, "10.5 s"],
  [90_000, "1 m 30 s"],
  [3_600_000, "1 h"],
  [54 * 3_600_000, "2 d 6 h"],
])("%i ms on a scale are %s", (ms, text) => expect(scaleText(ms)).toBe(text));

test.each([
  [0, "just now"],
  [-10_000, "just now"],
  [-30_000, "in seconds"],
  [60_000, "1 min ago"],
  [3_599_999, "59 min ago"],
  [3_600_000, "1 h ago"],
  [-2 * 3_600_000, "in 2 h"],
  [3 * 86_400_000, "3 d ago"],
  [-7 * 24 * 3_600_000 + 1_000, "in 7 d"],
  [-59.8 * 60_000, "in 1 h"],
])("a time %i ms ago is %s", (ago, text) => expect(relativeText(1e12 - ago, 1e12)).toBe(text));

test("a time of the day has 24 hours, wherever the reader is", () => {
  const at = new Date(2026, 2, 31, 14, 2, 11).getTime();
  expect(clockText(at)).toMatch(/^14.02.11$/);
  expect(minuteText(at)).toMatch(/14.02$/);
});
