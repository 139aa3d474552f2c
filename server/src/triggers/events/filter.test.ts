import { expect, test } from "vitest";
import { compileFilter, Fields, unmatched } from "./filter.ts";

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
