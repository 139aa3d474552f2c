import { expect, test } from "vitest";
import { Ending } from "./ending.ts";

test("ends once: listeners are called in order with the first reason, and at once if it has ended", () => {
  const ending = new Ending();
  const gone = new Error("gone");
  const told: unknown[] = [];
  ending.onEnd((reason) => told.push(["first", reason]));
  ending.onEnd((reason) => told.push(["second", reason]));
  ending.throwIfOver();
  expect(ending.isOver).toBe(false);
  ending.end(gone);
  ending.end(new Error("late"));
  expect(told).toEqual([
    ["first", gone],
    ["second", gone],
  ]);
  ending.onEnd(() => told.push("third"));
  expect(told).toHaveLength(3);
  expect(() => ending.throwIfOver()).toThrow("gone");
});

test("its signal is the same, whether it was asked for before or after the end", () => {
  const before = new Ending();
  const { signal } = before;
  const gone = new Error("gone");
  before.end(gone);
  expect([signal.aborted, signal.reason, before.signal]).toEqual([true, gone, signal]);
  const after = new Ending();
  after.end();
  expect(after.signal.reason).toMatchObject({ name: "AbortError" });
});
