import { expect, test } from "vitest";
import { LIMITS } from "../limits.ts";
import { leastMs } from "../processor-time.testsuite.ts";
import { hashOfKey, isKeyPath, keysOfEvent } from "./event-key.ts";

const EVENT = { type: "paid", source: "shop" };

test("an event has a key for each value of a list, with and without its source", () => {
  const keys = keysOfEvent(EVENT, { kinds: ["a", 1, "a", {}, 1.0] }, ["kinds"]);
  const expected = ["a", 1].flatMap((value) =>
    [EVENT, { type: EVENT.type }].map((of) => hashOfKey({ ...of, path: "kinds", value })),
  );
  expect(keys).toEqual(expected);
});

test.for([
  ["equal", 10, (): number => 1],
  ["different", 100, (n: number): number => n],
] as const)("a list of %s values that fills an event has its keys within %i ms", ([, most, value]) => {
  const list: number[] = [];
  for (let bytes = 11; bytes < LIMITS.eventDataBytes; bytes += `${list.at(-1)},`.length) list.push(value(list.length));
  expect(leastMs(most, () => keysOfEvent(EVENT, { list }, ["list"]))).toBeLessThan(most);
});

test("a path has at most 255 characters, brackets and quotes among them", () => {
  expect([isKeyPath("x".repeat(253)), isKeyPath("x".repeat(254))]).toEqual([true, false]);
  expect([isKeyPath(["x".repeat(251)]), isKeyPath(["x".repeat(252)])]).toEqual([true, false]);
});
