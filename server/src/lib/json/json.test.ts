import { expect, test } from "vitest";
import { checkJson, parseJson } from "./json.ts";
import { LIMITS } from "../limits.ts";
import { leastMs } from "../processor-time.testsuite.ts";

test("NUL and lone surrogates come back unchanged", () => {
  const text = String.raw`{"a":"\u0000","b":"\ud800"}`;
  expect(JSON.stringify(parseJson(text))).toBe(text);
});

test.each([
  ['{"__proto__": {}}', "forbidden key"],
  ['{"constructor": {"prototype": {}}}', "forbidden key"],
  [String.raw`{"a": [{"__pr\u006Fto__": 1}]}`, "forbidden key"],
  [String.raw`{"a": {"\u0063onstructor": {"protot\u0079pe": {}}}}`, "forbidden key"],
  ["{", "not valid JSON"],
  ["", "not valid JSON"],
  ["1e999", "too large"],
  [`{"n": ${"9".repeat(400)}}`, "too large"],
  [`{"n": -${"9".repeat(210)}.5e99}`, "too large"],
  ["[".repeat(LIMITS.jsonNesting + 1), "nested deeper"],
  ["[".repeat(500_000), "nested deeper"],
])("%.40s is refused", (text, why) => {
  expect(() => parseJson(text, "the body")).toThrow(why);
});

test("nesting up to the limit, brackets in texts and large exponents in texts are taken", () => {
  const nested = "[".repeat(LIMITS.jsonNesting) + "]".repeat(LIMITS.jsonNesting);
  expect(JSON.stringify(parseJson(nested))).toBe(nested);
  expect(parseJson(`"${"[".repeat(1000)}"`)).toBe("[".repeat(1000));
  expect(parseJson('{"a": "1e999"}')).toEqual({ a: "1e999" });
});

test.each([199, 299])("1 MiB of numbers of %i digits is read in 100 ms of processor time", (digits) => {
  const text = `[${`${"1".repeat(digits)},`.repeat(2 ** 20 / (digits + 1) - 1)}1]`;
  expect(leastMs(100, () => parseJson(text))).toBeLessThan(100);
});

test("a byte order mark is left out, and a constructor that is none is a name", () => {
  expect(parseJson('\ufeff{"constructor": 1, "a": {"constructor": {"name": 1}}}')).toEqual({
    constructor: 1,
    a: { constructor: { name: 1 } },
  });
});

test("numbers that are too large are Infinity where any are taken", () => {
  expect(parseJson("[1e999, -1e999]", "the text", "any")).toEqual([Infinity, -Infinity]);
  expect(() => parseJson('[1e999, {"__proto__": 1}]', "the text", "any")).toThrow("forbidden key");
});

test("values that did not come as text are held to the same", () => {
  expect(() => checkJson({ a: Infinity })).toThrow("too large");
  expect(() => checkJson(JSON.parse('{"__proto__": 1}'))).toThrow("forbidden key");
  expect(() => checkJson({ a: [null, "x", 1] })).not.toThrow();
});
