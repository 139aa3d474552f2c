import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { seeded } from "../../../test/faults/random.ts";
import { RateLimit } from "./rate-limit.ts";

const RATE = { burst: 3, everyMs: 1_000 };

test("a burst at once, then one at a time; what was refused does not count, and keys do not share", () => {
  const clock = testClock();
  const limit = new RateLimit<string>(clock, RATE);
  expect(Array.from({ length: 5 }, () => limit.take("a"))).toEqual([-2_000, -1_000, 0, 1_000, 1_000]);
  expect([limit.waitMs("a"), limit.waitMs("b")]).toEqual([1_000, -2_000]);
  clock.pass(999);
  expect(limit.take("a")).toBe(1);
  clock.pass(1);
  expect([limit.take("a"), limit.take("a")]).toEqual([0, 1_000]);
  clock.pass(10_000);
  expect(Array.from({ length: 4 }, () => limit.take("a") <= 0)).toEqual([true, true, true, false]);
});

test("however calls come, any time has at most a burst and one for each `everyMs` of it", () => {
  const random = seeded("rate limit");
  const clock = testClock();
  const limit = new RateLimit<string>(clock, RATE);
  const taken: number[] = [];
  for (let call = 0; call < 2_000; call++) {
    clock.pass(random.pick([0, 0, 0, 1, 300, 999, 1_000, 5_000]));
    if (limit.take("a") <= 0) taken.push(clock.now());
  }
  taken.forEach((from, first) => {
    for (let last = first; last < Math.min(first + 10, taken.length); last++)
      expect(last - first + 1).toBeLessThanOrEqual(RATE.burst + (taken[last]! - from) / RATE.everyMs);
  });
});

test("a clock that is set back by an hour holds nobody up for longer than a whole burst takes", () => {
  const clock = testClock();
  const limit = new RateLimit<string>(clock, RATE);
  for (let call = 0; call < 4; call++) limit.take("a");
  clock.pass(-3_600_000);
  expect(limit.take("a")).toBe(1_000);
  clock.pass(1_000);
  expect([limit.take("a"), limit.take("a")]).toEqual([0, 1_000]);
});
