import { expect, test } from "vitest";
import { testClock } from "../../../../../test/clock.ts";
import type { Caller } from "../../../auth/caller.ts";
import { FairShare } from "../../../fairness/fair-share.ts";
import { newId, type OrganizationId } from "../../../lib/ids.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { createArrivals } from "../../connections/arrivals.ts";
import { Unanswered } from "./unanswered.ts";

const LARGE = "x".repeat(100_000);

const opened = (organizationId?: OrganizationId) => {
  const budget = new FairShare(10 * LIMITS.unansweredBytes);
  const arrivals = createArrivals(budget, testClock());
  const unanswered = new Unanswered(arrivals, () => organizationId && ({ organizationId } as Caller));
  return {
    unanswered,
    taken: () => budget.takenBy(organizationId),
    [Symbol.dispose]: () => arrivals[Symbol.dispose](),
  };
};

test("a message is held until the last of those that have it has let go, and once", () => {
  using one = opened(newId<"organization">());
  const held = one.unanswered.hold(LARGE)!;
  held.share();
  const bytes = one.taken();
  expect(bytes).toBeGreaterThan(2 * LARGE.length);
  held.release();
  expect(one.taken()).toBe(bytes);
  held.release();
  expect(one.taken()).toBe(0);
});

test("of many all is given back, whichever ends first, and the next are counted as the first were", () => {
  using one = opened(newId<"organization">());
  const counted: number[] = [];
  for (let time = 0; time < 3; time++) {
    const [first, second, small] = [LARGE, LARGE, "x"].map((text) => one.unanswered.hold(text)!);
    counted.push(one.taken());
    first!.release();
    second!.release();
    expect(one.taken()).toBe(0);
    small!.release();
    expect(one.taken()).toBe(0);
  }
  expect(new Set(counted).size).toBe(1);
});

test("a stranger's may be 1 MiB together, a caller's have the organization's share; what has no place is not counted", () => {
  for (const [organizationId, most] of [
    [undefined, LIMITS.unansweredBytes],
    [newId<"organization">(), 5 * LIMITS.unansweredBytes],
  ] as const) {
    using one = opened(organizationId);
    expect(one.unanswered.take(most)).toBe(true);
    expect([one.unanswered.take(1), one.unanswered.hold("x"), one.taken()]).toEqual([false, undefined, most]);
    one.unanswered.give(most);
    expect(one.taken()).toBe(0);
    expect(one.unanswered.take(most)).toBe(true);
  }
});
