import { expect, test } from "vitest";
import { localText, periodOf, timeOf } from "./periods.ts";

/** In the zone of who reads, whichever that is where this test runs. */
const at = (day: number, hour: number, minute = 0, second = 0): number =>
  new Date(2026, 10, day, hour, minute, second).getTime();
const iso = (ms: number): string => new Date(ms).toISOString();

test("last night is from six in the evening to eight in the morning, also while it lasts", () => {
  const night = { from: iso(at(22, 18)), to: iso(at(23, 8)) };
  expect(periodOf("night", at(23, 2))).toEqual(night);
  expect(periodOf("night", at(23, 15))).toEqual(night);
});

test("today and the last seven days begin at midnight, the last hour at a whole minute", () => {
  expect(periodOf("today", at(23, 15))).toEqual({ from: iso(at(23, 0)) });
  expect(periodOf("week", at(23, 15))).toEqual({ from: iso(at(16, 0)) });
  expect(periodOf("hour", at(23, 15, 4, 59))).toEqual({ from: iso(at(23, 14, 4)) });
});

test("a time goes into its field and comes back", () => {
  expect(timeOf(localText(iso(at(23, 15, 4))))).toBe(iso(at(23, 15, 4)));
  expect(timeOf("")).toBeUndefined();
});
