import { expect, test } from "vitest";
import { compileTemplate } from "../../expressions/template.ts";
import { LIMITS } from "../../lib/limits.ts";
import { limitOf } from "./script.ts";

const NOW = 1_000_000;
const limit = (timeoutMs?: number): number =>
  limitOf({
    execution: { now: () => NOW },
    task: timeoutMs === undefined ? {} : { timeout: compileTemplate("PT1S") },
    step: { state: timeoutMs === undefined ? {} : { deadline: NOW + timeoutMs } },
  });

test.each([
  ["LIMITS.scriptMs without a timeout", undefined, LIMITS.scriptMs],
  ["LIMITS.scriptMaxMs whatever the timeout is", 3_600_000, LIMITS.scriptMaxMs],
  ["LIMITS.scriptMaxMs at its edge", LIMITS.scriptMaxMs, LIMITS.scriptMaxMs - 10],
  ["a little less than the timeout, to keep what it has written", 2_000, 1_990],
  ["a shorter one than by default", 100, 90],
  ["something even if the time is over", -5, 1],
])("%s", (_, timeoutMs, expected) => {
  expect(limit(timeoutMs)).toBe(expected);
});
