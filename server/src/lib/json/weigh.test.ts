import { expect, test } from "vitest";
import { numberOf } from "./exact-number.ts";
import type { Json } from "./json.ts";
import { weigh, weighed } from "./weigh.ts";

const LONG = numberOf("820982911946154508")!;

const sharing = (double: (part: Json) => Json): Json => {
  let value: Json = "x";
  for (let times = 0; times < 60; times++) value = double(value);
  return value;
};

test.each<[Json, number, number]>([
  [null, 1, 2],
  [true, 1, 2],
  [12_345, 1, 2],
  [LONG, 18, 86],
  [[LONG], 20, 140],
  ["", 2, 4],
  ["abc", 5, 10],
  [[], 1, 52],
  [[1], 3, 56],
  [[1, "ab", null], 10, 70],
  [[[], [1]], 7, 164],
  [{}, 1, 52],
  [{ a: 1 }, 7, 64],
  [{ a: 1, bc: "d" }, 16, 82],
  [{ a: [{ b: {} }] }, 15, 230],
])("%j counts as %i bytes, which its JSON has at least, and as %i held", (value, bytes, heldBytes) => {
  expect(weighed(value, 100, 10)).toEqual({ bytes, heldBytes });
  expect(JSON.stringify(value).length).toBeGreaterThanOrEqual(bytes);
  expect(weigh(value, bytes, 10)).toBeUndefined();
  expect(weigh(value, bytes - 1, 10)).toBe(`larger than ${bytes - 1} bytes`);
});

test.each<[Json, number]>([
  ["x", 0],
  [LONG, 0],
  [[], 1],
  [{}, 1],
  [[null, 1, "x"], 1],
  [[1, [2]], 2],
  [{ a: { b: 1 } }, 2],
  [[1, { a: [] }, 2], 3],
])("%j is %i levels deep", (value, levels) => {
  expect(weigh(value, 100, levels)).toBeUndefined();
  if (levels > 0) expect(weigh(value, 100, levels - 1)).toBe(`nested deeper than ${levels - 1} levels`);
});

test("parts that are shared are counted as often as they would be written, up to the most", () => {
  for (const value of [sharing((part) => [part, part]), sharing((part) => ({ a: part, b: part }))])
    expect(weigh(value, 10_000, 64)).toBe("larger than 10000 bytes");
});
