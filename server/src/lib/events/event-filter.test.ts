import { expect, test } from "vitest";
import { numberOf } from "../json/exact-number.ts";
import type { Json } from "../json/json.ts";
import { compileFilter, Fields, unmatched } from "./event-filter.ts";

test("a list is gone through once, however many filters look for its elements", () => {
  const list = Array.from({ length: 10_000 }, (_, index) => index);
  const fields = new Fields({ list, other: { list } });
  let begun = 0;
  const { [Symbol.iterator]: iterate } = list;
  list[Symbol.iterator] = function (this: number[]) {
    begun++;
    return iterate.call(this);
  };
  list.some = () => {
    begun++;
    return false;
  };
  for (let count = 0; count < 100; count++) {
    expect(unmatched(compileFilter({ "other.list": [9_999], list: [-1, "9999"] }), fields)).toBe("list");
    expect(unmatched(compileFilter({ list: [-1, 9_999] }), fields)).toBeUndefined();
  }
  expect(begun).toBe(1);
});

test("numbers of many digits match by all of them, however they are spelled", () => {
  const [long, same, next] = ["9007199254740993", "9007199254740993.0", "9007199254740995"].map((text) =>
    numberOf(text)!,
  );
  const isTaken = (accepted: Json, value: Json): boolean =>
    unmatched(compileFilter({ id: [accepted] }), new Fields({ id: value })) === undefined;
  expect([isTaken(long!, same!), isTaken(same!, [1, long!]), isTaken(numberOf("-0")!, 0)]).toEqual([true, true, true]);
  const misses: [Json, Json][] = [
    [long!, next!],
    [long!, 2 ** 53],
    [2 ** 53, long!],
    [long!, "9007199254740993"],
    [long!, [next!, 1]],
  ];
  expect(misses.map(([accepted, value]) => isTaken(accepted, value))).toEqual([false, false, false, false, false]);
});
