import { expect, test } from "vitest";
import { FairByteQueue } from "./fair-byte-queue.ts";

const all = (): boolean => true;

/** Takes until nothing waits; returns what was taken, with its group. */
function takeAll(turns: FairByteQueue<string, string>, most = 10): string[] {
  const taken: string[] = [];
  for (let next = turns.take(most, all); next; next = turns.take(most, all))
    taken.push(`${next.group}: ${next.items.join(" ")}`);
  return taken;
}

test("the next is the one that has had least, in the order of its items, and at most so many bytes", () => {
  const turns = new FairByteQueue<string, string>();
  for (const item of ["a1", "a2", "a3"]) turns.add("a", item, 6);
  for (const item of ["b1", "b2", "b3", "b4", "b5"]) turns.add("b", item, 3);
  expect([turns.size, turns.sizeOf("a"), turns.sizeOf("b"), turns.sizeOf("c")]).toEqual([8, 3, 5, 0]);
  expect(takeAll(turns)).toEqual(["a: a1", "b: b1 b2 b3", "a: a2", "b: b4 b5", "a: a3"]);
  expect(turns.size).toBe(0);
});

test("what is larger than may be taken at once goes alone, and its group waits for as much of the others", () => {
  const turns = new FairByteQueue<string, string>();
  turns.add("large", "one", 30);
  turns.add("large", "two", 30);
  for (let index = 1; index <= 5; index++) turns.add("small", String(index), 10);
  expect(takeAll(turns)).toEqual([
    "large: one",
    "small: 1",
    "small: 2",
    "small: 3",
    "large: two",
    "small: 4",
    "small: 5",
  ]);
});

test("a group that had more than the others is behind them when it comes again; one that had nothing saved nothing up", () => {
  const turns = new FairByteQueue<string, string>();
  turns.add("much", "1", 50);
  expect(takeAll(turns)).toEqual(["much: 1"]);
  turns.add("much", "2", 10);
  for (const item of ["a", "b"]) turns.add("late", item, 10);
  expect(takeAll(turns)).toEqual(["late: a", "late: b", "much: 2"]);
  turns.add("late", "c", 10);
  turns.add("later", "d", 10);
  expect(takeAll(turns).toSorted()).toEqual(["late: c", "later: d"]);
});

test("who may not has its turn when it may, and does not hold up the others", () => {
  const turns = new FairByteQueue<string, string>();
  turns.add("a", "a1", 10);
  turns.add("b", "b1", 10);
  expect(turns.take(10, (group) => group !== "a")).toEqual({ group: "b", items: ["b1"], bytes: 10 });
  expect(turns.take(10, (group) => group !== "a")).toBeUndefined();
  expect(takeAll(turns)).toEqual(["a: a1"]);
});
