import { setImmediate as immediately } from "node:timers/promises";
import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { FairShare } from "../../fairness/fair-share.ts";
import { LIMITS } from "../../lib/limits.ts";
import { createArrivals, type Arrival } from "./arrivals.ts";

const [SECONDS, BYTES] = [LIMITS.bodyProgressSeconds, LIMITS.bodyProgressBytes];

/** The number that is cut when each does its work in each second. */
async function cutOf(
  all: Record<string, { isUnread?: (second: number) => boolean; each: (arrival: Arrival, second: number) => void }>,
  seconds: number,
): Promise<string[]> {
  const clock = testClock();
  using arrivals = createArrivals(new FairShare(1_000_000), clock);
  const cut: string[] = [];
  let second = 0;
  const begun = Object.entries(all).map(([name, { isUnread = () => false, each }]) => ({
    each,
    arrival: arrivals.begin(
      () => cut.push(name),
      () => isUnread(second),
    ),
  }));
  for (second = 1; second <= seconds; second++) {
    for (const { each, arrival } of begun) each(arrival, second);
    clock.pass(1_000);
    await immediately();
  }
  return cut;
}

test("4,096 bytes in each 5 s are enough, one less is not, and what is whole needs none", async () => {
  const each = (bytes: number) => (arrival: Arrival, second: number) => {
    if (second % SECONDS === 0) arrival.came(bytes);
  };
  const whole = { each: (arrival: Arrival) => arrival.whole() };
  expect(await cutOf({ enough: { each: each(BYTES) }, less: { each: each(BYTES - 1) }, whole }, 3 * SECONDS)).toEqual([
    "less",
  ]);
});

test("the time in which a connection is not read does not count", async () => {
  const each = (): void => {};
  const isUnread = (second: number): boolean => second <= 20;
  expect(await cutOf({ one: { isUnread, each } }, 20 + SECONDS - 1)).toEqual([]);
  expect(await cutOf({ one: { isUnread, each } }, 20 + SECONDS + 1)).toEqual(["one"]);
});
