/** Any 60 seconds have at most as many requests as the limit says, and a refused one would have been one too many. */
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { randomFrom, type Random } from "../../../test/faults/random.ts";
import { burstOf, createWindow, fits, LOGGED_MOST, RateWindows, WINDOW_MS } from "./rate-window.ts";

/** Bursts and pauses of every length around the window's, single ms among them. */
function* times({ next, between, pick }: Random, limit: number): Generator<number> {
  let now = 1_700_000_000_000;
  for (let burst = 0; burst < 60; burst++) {
    now += pick([0, 1, between(0, 1_000), between(0, 30_000), WINDOW_MS - 1, WINDOW_MS]);
    const count = between(1, Math.ceil(limit * 1.5));
    const spreadMs = next() < 0.5 ? 0 : next() * (WINDOW_MS / limit) * 2;
    for (let one = 0; one < count; one++) {
      yield now;
      now += Math.floor(next() * spreadMs);
    }
  }
}

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

test.for([1, 2, 10, 17, 100, LOGGED_MOST])("limit %d: every window of random bursts is exact", (limit) => {
  for (const seed of limit === LOGGED_MOST ? SEEDS.slice(0, 3) : SEEDS) {
    const window = createWindow(limit);
    const taken: number[] = [];
    let first = 0;
    for (const now of times(randomFrom(seed), limit)) {
      while (taken[first]! <= now - WINDOW_MS) first++;
      const used = taken.length - first;
      const room = { remaining: limit - used, resetMs: used === 0 ? 0 : taken[first]! + WINDOW_MS - now };
      const told = window.look(limit, now);
      if (told.remaining !== room.remaining || told.resetMs !== room.resetMs) expect({ seed, ...told }).toEqual(room);
      const isTaken = window.take(limit, now);
      if (isTaken !== used < limit) expect({ seed, now, isTaken }).toEqual({ seed, now, used });
      if (isTaken) taken.push(now);
    }
    // Slid over all that was taken: whatever 60 seconds one looks at.
    const distances = taken.slice(limit).map((at, index) => at - taken[index]!);
    expect(Math.min(...distances, WINDOW_MS)).toBe(WINDOW_MS);
    expect(taken.length).toBeGreaterThan(limit);
  }
});

test.for([LOGGED_MOST + 1, 6_000, 100_000])("limit %d: a second's worth at once, then at the plan's rate", (limit) => {
  for (const seed of SEEDS.slice(0, 3)) {
    const window = createWindow(limit);
    const { between } = randomFrom(seed);
    const taken: number[] = [];
    const start = 1_700_000_000_000;
    let now = start;
    while (now < start + 10_000) {
      now += between(0, 20);
      for (let one = between(1, burstOf(limit)); one > 0; one--) if (window.take(limit, now)) taken.push(now);
    }
    // In any span: what comes at the rate in it, and the burst that was there at its beginning.
    let most = 0;
    for (let from = 0, to = 0; to < taken.length; to++) {
      while (taken[to]! - taken[from]! > 1_000) from++;
      most = Math.max(most, to - from + 1);
    }
    expect(most).toBeLessThanOrEqual(2 * burstOf(limit) + 1);
    const allowed = ((now - start) * limit) / WINDOW_MS;
    expect(taken.length).toBeLessThanOrEqual(allowed + burstOf(limit));
    expect(taken.length).toBeGreaterThan(allowed * 0.95);
  }
});

test("a bucket says when there is room for one more", () => {
  const limit = 6_000;
  const window = createWindow(limit);
  const now = 1_700_000_000_000;
  expect(window.look(limit, now)).toEqual({ remaining: 100, resetMs: 0 });
  for (let one = 0; one < 100; one++) expect(window.take(limit, now)).toBe(true);
  expect(window.take(limit, now)).toBe(false);
  expect(window.look(limit, now)).toEqual({ remaining: 0, resetMs: 10 });
  expect(window.look(limit, now + 9).remaining).toBe(0);
  expect(window.look(limit, now + 15)).toEqual({ remaining: 1, resetMs: 5 });
  expect(window.isEmpty(now + 59_999)).toBe(false);
  expect(window.isEmpty(now + 70_000)).toBe(true);
});

test.for([10, 6_000])("limit %d: a clock that is set back makes nobody wait for more than a minute", (limit) => {
  const window = createWindow(limit);
  const now = 1_700_000_000_000;
  const fill = (at: number): number => {
    let count = 0;
    while (window.take(limit, at)) count++;
    return count;
  };
  const full = fill(now);
  expect(fill(now - 30_000)).toBe(0);
  expect(window.look(limit, now - 30_000).resetMs).toBeLessThanOrEqual(WINDOW_MS);
  expect(fill(now + WINDOW_MS)).toBe(full);
  expect(fill(now - 3_600_000)).toBe(full);
});

test("a limit that is lowered holds for what was taken before", () => {
  const window = createWindow(100);
  const now = 1_700_000_000_000;
  for (let one = 0; one < 50; one++) window.take(100, now + one);
  expect(window.take(10, now + 1_000)).toBe(false);
  // The fortieth has to leave, and then one place is free.
  expect(window.look(10, now + 1_000)).toEqual({ remaining: 0, resetMs: WINDOW_MS - 1_000 + 40 });
  expect(window.take(10, now + WINDOW_MS + 39)).toBe(false);
  expect(window.take(10, now + WINDOW_MS + 40)).toBe(true);
});

test("a caller that asks nothing for a minute or two is forgotten, and another way of counting starts over", () => {
  const clock = testClock();
  const windows = new RateWindows<string>(clock);
  for (let one = 0; one < 10; one++) expect(windows.take("a", 10).isTaken).toBe(true);
  expect(windows.take("a", 10)).toEqual({ isTaken: false, remaining: 0, resetMs: WINDOW_MS });
  expect(windows.take("b", 10)).toMatchObject({ isTaken: true, remaining: 9 });
  expect(windows.look("a", 5_000)).toEqual({ remaining: burstOf(5_000), resetMs: 0 });
  expect(windows.take("a", 5_000)).toMatchObject({ isTaken: true, remaining: burstOf(5_000) - 1 });
  expect(windows.size).toBe(2);
  clock.pass(WINDOW_MS);
  windows.take("c", 10);
  expect(windows.size).toBe(1);
  expect(fits(createWindow(1_000), 1_001)).toBe(false);
});
