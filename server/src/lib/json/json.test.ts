import { expect, test } from "vitest";
import { isNumber, isObject, isScalar, parseJson, parseStored } from "./json.ts";
import { ExactNumber } from "./exact-number.ts";
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
  [`{"a": [1, {"n": ${"9".repeat(LIMITS.numberDigits + 1)}}]}`, "has a number of more than 4096 digits at a.1.n"],
  [`1e${LIMITS.numberExponent + 1}`, "the body has a number beyond 1e±999999"],
  [`[-1e-${LIMITS.numberExponent + 1}]`, "beyond 1e±999999 at 0"],
  ["[9007199254740993,]", "not valid JSON"],
  ["{9007199254740993: 1}", "not valid JSON"],
  ["{9007199254740993\n :1}", "not valid JSON"],
  ["[9007199254740993.]", "not valid JSON"],
  ["[09007199254740993]", "not valid JSON"],
  ["[+9007199254740993]", "not valid JSON"],
  ["[1e]", "not valid JSON"],
  ["[9007199254740993 9007199254740993]", "not valid JSON"],
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

test.each([16, 17, 199, 299, LIMITS.numberDigits])(
  "1 MiB of numbers of %i digits is read in 100 ms of processor time",
  (digits) => {
    const text = `[${`${"1".repeat(digits)},`.repeat(2 ** 20 / (digits + 1) - 1)}1]`;
    expect(leastMs(100, () => parseJson(text))).toBeLessThan(100);
  },
);

test("a byte order mark is skipped, and 'constructor' is an ordinary name", () => {
  expect(parseJson('\ufeff{"constructor": 1, "a": {"constructor": {"name": 1}}}')).toEqual({
    constructor: 1,
    a: { constructor: { name: 1 } },
  });
});

test.each([
  ["9007199254740993"],
  ["-820982911946154509"],
  ["0.1000000000000000055511151231257827"],
  ["90071992.547409935"],
  ["1E+400"],
  ["1E-400"],
  ["-0"],
  ["1.2345678901234567890123E+300"],
  ["9".repeat(LIMITS.numberDigits)],
  [`1E+${LIMITS.numberExponent}`],
])("%.50s keeps its digits", (text) => {
  for (const parse of [parseJson, parseStored]) {
    expect(parse(text)).toEqual(new ExactNumber(text));
    const nested = `{"a":[1,${text},{"b":${text},"c":"${text}"}],"d":0.5}`;
    expect(JSON.stringify(parse(nested))).toBe(nested);
    expect(JSON.stringify(parse(JSON.stringify(parse(text))))).toBe(text);
  }
});

test.each([
  ["1e400", "1E+400"],
  ["1E400", "1E+400"],
  ["-0.0", "-0"],
  ["-0e7", "-0"],
  ["123456789012345678901234567890e-10", "12345678901234567890.1234567890"],
  ["0.00000012345678901234567890", "1.2345678901234567890E-7"],
  ["9007199254740993.0", "9007199254740993.0"],
])("%s is written as jq writes it: %s", (text, written) => {
  expect(JSON.stringify(parseJson(text))).toBe(written);
});

test.each([
  "0",
  "-1",
  "1.10",
  "1e5",
  "0e400",
  "0.1",
  "1e23",
  "5e-324",
  "1.7976931348623157e308",
  "9007199254740992",
  "820982911946154500",
  "100000000000000000000",
  "0.30000000000000004",
  "1.0000000000000000000",
  "9.007199254740992E+15",
])("%s is a double", (text) => {
  expect(parseJson(text)).toBe(Number(text));
  expect(parseStored(text)).toBe(Number(text));
});

test("texts that look like long numbers stay texts, and no text becomes a number", () => {
  const text =
    '{"9007199254740993":"9007199254740993","a":"x, 9007199254740993 ,","b":[" -0"],"c":"1e400","d":9007199254740993}';
  expect(JSON.stringify(parseJson(text))).toBe(text);
});

test("a long number is a scalar and no object", () => {
  const value = parseJson("9007199254740993");
  expect([isNumber(value), isScalar(value), isObject(value)]).toEqual([true, true, false]);
});

test.each([
  ["zeros", `[${"0,".repeat(500_000)}9007199254740993]`],
  ["exponents", `[${"1e100,".repeat(170_000)}1e400]`],
  ["long ones", `[${"9007199254740993,".repeat(60_000)}0]`],
  ["long doubles of another spelling", `[${"1.0000000000000000,".repeat(55_000)}0]`],
  ["long ones beyond the limits", `[${`${"9".repeat(LIMITS.numberDigits + 1)},`.repeat(250)}0]`],
  ["one of a million digits", "9".repeat(1_000_000)],
  ["minus zeros", `[${"-0,".repeat(74_000)}0]`],
  ["more minus zeros than there may be parts", `[${"-0,".repeat(340_000)}0]`],
  ["exponents beyond the limits", `[${"1e9999999,".repeat(100_000)}0]`],
])("1 MiB with %s is read or refused in 100 ms of processor time", (_, text) => {
  const read = (): void => {
    try {
      parseJson(text);
    } catch {
      // Refused.
    }
  };
  expect(leastMs(100, read)).toBeLessThan(100);
});
