import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { createFreshCache } from "./fresh-cache.ts";

/** A row that the test changes, and how often it was read. */
function world(most = 10) {
  const clock = testClock();
  const rows = new Map([["a", 1]]);
  const reads: string[] = [];
  const gate = { open: Promise.resolve() };
  const cache = createFreshCache<string, number>({
    clock,
    ttlMs: 5_000,
    most,
    load: async (key) => {
      reads.push(key);
      const value = rows.get(key);
      await gate.open;
      return value;
    },
  });
  return { clock, rows, reads, gate, cache };
}

test("answers from memory for 5 s", async () => {
  const { clock, rows, reads, cache } = world();
  expect(await cache.get("a")).toBe(1);
  rows.set("a", 2);
  clock.pass(4_999);
  expect(await cache.get("a")).toBe(1);
  clock.pass(1);
  expect(await cache.get("a")).toBe(2);
  expect(reads).toHaveLength(2);
});

test("a clock that is set back keeps nothing longer", async () => {
  const { clock, rows, cache } = world();
  await cache.get("a");
  rows.set("a", 2);
  clock.pass(-3_600_000);
  expect(await cache.get("a")).toBe(2);
});

test("an announced change is seen at once", async () => {
  const { rows, cache } = world();
  await cache.get("a");
  rows.set("a", 2);
  cache.forget("a");
  expect(await cache.get("a")).toBe(2);
});

test("many askers share one load", async () => {
  const { reads, cache } = world();
  expect(await Promise.all([cache.get("a"), cache.get("a"), cache.get("a")])).toEqual([1, 1, 1]);
  expect(reads).toHaveLength(1);
});

test("a load that began before a change is not kept after it", async () => {
  const { rows, gate, cache } = world();
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.open = promise;
  const early = cache.get("a");
  rows.set("a", 2);
  cache.forget("a");
  resolve();
  expect(await early).toBe(1);
  expect(cache.peek("a")).toBeUndefined();
  expect(await cache.get("a")).toBe(2);
});

test("a missing value is looked up each time", async () => {
  const { rows, reads, cache } = world();
  expect(await cache.get("b")).toBeUndefined();
  rows.set("b", 7);
  expect(await cache.get("b")).toBe(7);
  expect(reads).toEqual(["b", "b"]);
});

test("a failed load is not remembered", async () => {
  const { gate, cache } = world();
  gate.open = Promise.reject(new Error("connection lost"));
  await expect(cache.get("a")).rejects.toThrow("connection lost");
  gate.open = Promise.resolve();
  expect(await cache.get("a")).toBe(1);
});

test("keeps the ones used last, up to its limit", async () => {
  const { rows, cache } = world(2);
  rows.set("b", 2).set("c", 3);
  await cache.get("a");
  await cache.get("b");
  await cache.get("a");
  await cache.get("c");
  expect([cache.peek("a"), cache.peek("b"), cache.peek("c")]).toEqual([1, undefined, 3]);
});

test("forgets those that fit, also while they are loaded", async () => {
  const { rows, gate, cache } = world();
  rows.set("b", 2);
  await cache.get("a");
  await cache.get("b");
  cache.forgetEach((_, value) => value === 2);
  expect([cache.peek("a"), cache.peek("b")]).toEqual([1, undefined]);
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.open = promise;
  const early = cache.get("b");
  rows.set("b", 3);
  cache.forgetEach((key, value) => key === "b" && value === undefined);
  resolve();
  expect(await early).toBe(2);
  expect(await cache.get("b")).toBe(3);
});
