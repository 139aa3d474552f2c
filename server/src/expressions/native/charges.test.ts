/**
 * How many steps operations are charged on the operands of costs.testsuite.ts: this catches a missing or changed charge to
 * the step. Whether the charge matches the real cost, costs.test.ts measures.
 */
import { expect, test } from "vitest";
import type { Json } from "../../lib/json/json.ts";
import { OPERANDS } from "./costs.testsuite.ts";
import { startCounting, stepsSpent } from "./signals.ts";
import { compileExpression } from "../template.ts";

/** The JSON of an object or a list. */
const CONTAINERS_WRITTEN = {
  "list of numbers": 20003,
  "list of fractions": 69003,
  "list of texts": 15003,
  "list of long texts": 2103,
  "list of lists": 21003,
  "list of objects": 38503,
  "deep list": 425,
  "small object": 77,
  "wide object": 16207,
  "deep object": 1025,
  "object of objects": 18207,
};
/** The JSON of any value but a text. */
const WRITTEN = { number: 23, zero: 4, ...CONTAINERS_WRITTEN };

/** The error, caught, that the operand is neither an object nor a list: its sentence has the beginning of the JSON. */
const REFUSED = {
  number: 123,
  zero: 104,
  "short text": 105,
  "long text": 109,
  "text of emoji": 126,
  "text to escape": 153,
};

const more = (steps: number, than: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(than).map(([kind, count]) => [kind, count + steps]));

const ROWS: [string, string | undefined, Record<string, number>][] = [
  [
    "length?",
    undefined,
    {
      "short text": 1,
      "long text": 3750,
      "text to escape": 2500,
      "small object": 14,
      "wide object": 10804,
      "deep object": 6,
      "object of objects": 2404,
    },
  ],
  [
    "tojson",
    undefined,
    {
      ...WRITTEN,
      "short text": 5,
      "long text": 1880,
      "text to escape": 15005,
    },
  ],
  [
    "tostring",
    undefined,
    {
      ...WRITTEN,
    },
  ],
  [
    "keys?",
    undefined,
    {
      ...REFUSED,
      "list of numbers": 2500,
      "list of fractions": 1500,
      "list of long texts": 10,
      "list of lists": 750,
      "list of objects": 250,
      "deep list": 1,
      "small object": 72,
      "wide object": 23708,
      "deep object": 12,
      "object of objects": 4992,
    },
  ],
  [
    "reverse?",
    undefined,
    {
      "list of numbers": 626,
      "list of fractions": 376,
      "list of long texts": 3,
      "list of lists": 188,
      "list of objects": 63,
      "deep list": 1,
    },
  ],
  [
    "sort?",
    undefined,
    {
      "list of numbers": 114846,
      "list of fractions": 8998,
      "list of texts": 131208,
      "list of long texts": 10703,
      "list of lists": 7496,
      "list of objects": 84332,
      "list of nulls": 14998,
      "deep list": 4,
    },
  ],
  [
    "min?",
    undefined,
    {
      "list of numbers": 9998,
      "list of fractions": 5998,
      "list of texts": 11996,
      "list of long texts": 3903,
      "list of lists": 5996,
      "list of objects": 83832,
      "deep list": 2,
    },
  ],
  [
    "add?",
    undefined,
    {
      ...REFUSED,
      "list of numbers": 5000,
      "list of fractions": 3000,
      "list of long texts": 2647,
      "list of objects": 44412,
      "list of trues": 5106,
      "deep list": 524,
      "small object": 24,
      "wide object": 21604,
      "deep object": 1120,
      "object of objects": 22316,
    },
  ],
  [
    "any?",
    undefined,
    {
      ...REFUSED,
      "list of numbers": 5000,
      "list of fractions": 3000,
      "list of long texts": 20,
      "list of lists": 1500,
      "list of objects": 500,
      "deep list": 2,
      "small object": 24,
      "wide object": 21604,
      "deep object": 8,
      "object of objects": 4804,
    },
  ],
  [
    "ascii_downcase?",
    undefined,
    { "short text": 2, "long text": 10877, "text of digits": 1877, "text to escape": 1252 },
  ],
  ["{a: 1, b: 2}", undefined, { number: 0 }],
  ["[empty, empty]", undefined, { number: 0 }],
  ["[.[] | select(. == 0)]", undefined, { "list of nulls": 40001 }],
  ["[.key0, .key1]", undefined, { "small object": 6 }],
  ["[.next.at, .next.next]", undefined, { "deep object": 8 }],
  ["ascii_upcase?", undefined, { "long text": 19877 }],
  [
    "tonumber?",
    undefined,
    {
      ...more(100, CONTAINERS_WRITTEN),
      "text of digits": 1875,
    },
  ],
  [
    "[.[]?]",
    undefined,
    {
      number: 1,
      "list of numbers": 5001,
      "list of fractions": 3001,
      "list of long texts": 21,
      "list of lists": 1501,
      "list of objects": 501,
      "deep list": 3,
      "small object": 25,
      "wide object": 21605,
      "deep object": 9,
      "object of objects": 4805,
    },
  ],
  [
    ".[1:]?",
    undefined,
    {
      number: 126,
      "short text": 6,
      "long text": 943,
      "text of emoji": 33442,
      "text to escape": 631,
      "list of numbers": 630,
      "list of fractions": 380,
      "list of long texts": 8,
      "list of lists": 193,
      "list of objects": 68,
    },
  ],
  [
    ".[10:20]?",
    undefined,
    {
      number: 127,
      "short text": 6,
      "long text": 943,
      "text of emoji": 30944,
      "text to escape": 631,
      "list of numbers": 7,
    },
  ],
  [
    "map(.)?",
    undefined,
    {
      ...REFUSED,
      "list of numbers": 10000,
      "list of fractions": 6000,
      "list of long texts": 40,
      "list of lists": 3000,
      "list of objects": 1000,
      "deep list": 4,
      "small object": 34,
      "wide object": 22504,
      "deep object": 10,
      "object of objects": 5004,
    },
  ],
  [
    "map(select(.))?",
    undefined,
    {
      ...REFUSED,
      "list of numbers": 20000,
      "list of fractions": 12000,
      "list of long texts": 80,
      "list of lists": 6000,
      "list of objects": 2000,
      "deep list": 8,
      "small object": 54,
      "wide object": 24304,
      "deep object": 14,
      "object of objects": 5404,
    },
  ],
  [
    "map(.key1?)?",
    undefined,
    {
      ...REFUSED,
      "list of long texts": 2220,
      "list of lists": 166500,
      "list of objects": 3000,
      "list of nulls": 30000,
      "deep list": 222,
      "small object": 1124,
      "wide object": 120604,
      "object of objects": 5804,
    },
  ],
  [
    "first(.[]?)",
    undefined,
    {
      number: 51,
      "list of numbers": 5051,
      "list of fractions": 3051,
      "list of long texts": 71,
      "list of lists": 1551,
      "list of objects": 551,
      "deep list": 53,
      "small object": 75,
      "wide object": 21655,
      "deep object": 59,
      "object of objects": 4855,
    },
  ],
  ["try error catch .", undefined, { number: 50 }],
  [
    "-.",
    undefined,
    {
      ...more(50, CONTAINERS_WRITTEN),
      "short text": 55,
      "long text": 59,
      "text of emoji": 76,
      "text to escape": 103,
    },
  ],
  [
    "[.[]?.a]?",
    undefined,
    {
      number: 1,
      "list of numbers": 5107,
      "list of fractions": 3107,
      "list of long texts": 127,
      "list of lists": 1607,
      "list of objects": 1001,
      "list of nulls": 10001,
      "deep list": 109,
      "small object": 131,
      "wide object": 21711,
      "deep object": 116,
      "object of objects": 5005,
    },
  ],
  [
    '"\\(.)"',
    undefined,
    {
      number: 24,
      zero: 5,
      "short text": 1,
      "long text": 235,
      "text to escape": 157,
      "list of numbers": 20190,
      "list of fractions": 69396,
      "list of texts": 15276,
      "list of long texts": 2354,
      "list of lists": 21150,
      "list of objects": 38933,
      "list of nulls": 15199,
      "deep list": 427,
      "small object": 78,
      "wide object": 16297,
      "deep object": 1033,
      "object of objects": 18364,
    },
  ],
  [". + $o", "long text", { "long text": 469 }],
  [". + $o", "list of texts", { "list of numbers": 2001 }],
  [". + $o", "wide object", { "small object": 43578 }],
  [". + $o", "huge object", { "huge object": 1920008 }],
  [". * $o", "object of objects", { "object of objects": 42012 }],
  [". * $o", "number", { "short text": 8681 }],
  [". - $o", "short text", { "list of lists": 21058 }],
  [". / $o", "short text", { "long text": 8439 }],
  [". == $o", "long text", { "long text": 60 }],
  [". == $o", "list of objects", { "list of objects": 93002 }],
  [". == $o", "wide object", { "wide object": 51018 }],
  [". < $o", "list of texts", { "list of texts": 6002 }],
  ["split($o)?", "short text", { "long text": 8439 }],
  ["startswith($o)", "long text", { "long text": 938 }],
  ["endswith($o)", "long text", { "long text": 938 }],
  ["ltrimstr($o)", "long text", { "long text": 938 }],
  ["has($o)", "long text", { "wide object": 468 }],
  [".[$o]?", "long text", { "wide object": 470 }],
  ["join($o)?", "long text", { "list of long texts": 4977 }],
  ["join($o)?", "short text", { "list of texts": 6413 }],
  ["{($o): .}", "long text", { number: 568 }],
  ['"\\(.)\\($o)"', "long text", { "long text": 469 }],
  ["reduce .[]? as $x ($o; $x)", "number", { "list of texts": 6001 }],
  [". - $o", "list of long texts", { "list of texts": 240750 }],
];

function stepsOf(text: string, data: Json, variables: Record<string, Json>): number {
  const { native } = compileExpression(text).expressions[0]!;
  startCounting(1e9);
  try {
    native!(data, variables);
  } catch (error) {
    // Until it ends, however it ends.
    if (error instanceof Error) throw error;
  }
  return stepsSpent();
}

test.each(ROWS)("%s (%s)", (text, other, expected) => {
  const variables: Record<string, Json> = other ? { o: OPERANDS[other]!() } : {};
  const found = Object.keys(expected).map((kind) => [kind, stepsOf(text, OPERANDS[kind]!(), variables)]);
  expect(Object.fromEntries(found)).toEqual(expected);
});
