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

const asks = (seconds: number) => ({ status: 503, headers: { "retry-after": String(seconds) } });

test("people who wait for an answer are told of each pause, and for no more than a minute", () => {
  const clock = testClock();
  const pause = new Pause(clock);
  expect(pause.isOn()).toBe(false);
  pause.read(refusal);
  expect(pause.isOn()).toBe(true);
  clock.pass(1_000);
  expect(pause.isOn()).toBe(false);
  pause.read(asks(600));
  clock.pass(LIMITS.llmPauseSeconds * 1_000 - 1);
  expect(pause.isOn()).toBe(true);
  clock.pass(1);
  expect(pause.isOn()).toBe(false);
  expect(pause.heldUntil()).toBeDefined();
});

test("of several pauses that calls under way are asked for, the longest holds; calls that come after it begin again", () => {
  const clock = testClock();
  const pause = new Pause(clock);
  pause.read(asks(30));
  pause.read(asks(10));
  const begin = clock.now() + 30_000;
  expect([pause.heldUntil(), pause.heldUntil(), pause.heldUntil()]).toEqual([begin, begin + 50, begin + 100]);
  // Another refusal of the same pause lets nobody come sooner.
  pause.read(asks(20));
  expect(pause.heldUntil()).toBe(begin + 150);
  clock.pass(30_000);
  expect(pause.heldUntil()).toBeUndefined();
  pause.read(asks(5));
  expect(pause.heldUntil()).toBe(clock.now() + 5_000);
});

test("refusals of calls that were under way together are one: the pause does not double with each", () => {
  const clock = testClock();
  const pause = new Pause(clock);
  for (let calls = 0; calls < 32; calls++) pause.read(refusal);
  expect(pause.heldUntil()! - clock.now()).toBe(1_000);
  const held = Array.from({ length: 1_300 }, () => pause.heldUntil()! - clock.now());
  // Over a minute at most, and then from its beginning.
  expect(Math.max(...held)).toBe(1_000 + 59_950);
  clock.pass(1_000);
  pause.read(refusal);
  expect(pause.heldUntil()! - clock.now()).toBe(2_000);
});
