import { expect, test } from "vitest";
import { LIMITS } from "../lib/limits.ts";
import { testClock } from "../../../test/clock.ts";
import { Pause } from "./pause.ts";

const refusal = { status: 429, headers: {} };

test("without a time, a pause is a second and twice as long each time, a minute at most; answers halve it", () => {
  const clock = testClock();
  const pause = new Pause(clock);
  const refused = (): number => {
    pause.read(refusal);
    const ms = pause.heldUntil()! - clock.now();
    clock.pass(ms);
    expect(pause.heldUntil()).toBeUndefined();
    return ms / 1_000;
  };
  expect(Array.from({ length: 8 }, refused)).toEqual([
    1,
    2,
    4,
    8,
    16,
    32,
    LIMITS.modelHoldSeconds,
    LIMITS.modelHoldSeconds,
  ]);
  for (const _ of [1, 2]) pause.read({ status: 200, headers: {} });
  expect(refused()).toBe(LIMITS.modelHoldSeconds / 2);
});
