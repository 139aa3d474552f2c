import { expect, test } from "vitest";
import type { Json } from "./json.ts";
import { durationMs } from "./durations.ts";

test.each<[Json, number | undefined]>([
  ["PT0.1S", 100],
  ["PT1M30S", 90_000],
  ["P1DT2H", 93_600_000],
  ["P2W", 1_209_600_000],
  [{ minutes: 1, milliseconds: 5 }, 60_005],
  [{ seconds: 0.25 }, 250],
  ["", undefined],
  ["P", undefined],
  ["PT", undefined],
  ["P1DT", undefined],
  ["P1M", undefined],
  ["1h", undefined],
  ["-PT1S", undefined],
  [{}, undefined],
  [{ years: 1 }, undefined],
  [{ seconds: -1 }, undefined],
  [{ seconds: "1" }, undefined],
  [{ constructor: 1 }, undefined],
  [5, undefined],
  [null, undefined],
])("%j is %s ms", (value, ms) => {
  expect(durationMs(value)).toBe(ms);
});
