import { expect, test } from "vitest";
import { parseJson } from "./json.ts";
import { hasMoreValues, jsonSteps } from "./json-steps.ts";
import { LIMITS } from "../limits.ts";
import { leastMs } from "../processor-time.testsuite.ts";

test.for([
  ["1", 0],
  ["[1, 2, [3]]", 2],
  ['["a", "b", "\\"", "{[:"]', 5],
  ['{"a": 1, "b" : "x"}', 1 + 8 + 8 + 1],
  // The same keys in the same order are free; in another order or number they are new.
  ['[{"a":1,"b":2},{"a":3,"b":4}]', 1 + 2 + 8 + 8],
  ['[{"a":1,"b":2},{"b":3,"a":4}]', 1 + 2 + 8 + 8 + 8 + 8],
  ['[{"a":1},{"a":1,"b":2},{"a":{"a":1}}]', 1 + 4 + 8 + 8],
  ['{"a":{"b":1},"c":2}', 2 + 8 + 8 + 8],
  ['{"a":1,"a":2}', 1 + 8 + 8],
  // A key after a closed object does not count as the first key of another.
  ['[{"a":{},"b":1},{"b":1}]', 1 + 3 + 8 + 8 + 8],
  // Not JSON.
  ['}}]]{"a', 2],
  ["::", 16 - 2],
  ['"\\', 1],
] as const)("%s takes %i steps", ([text, steps]) => {
  expect(jsonSteps(text, 1_000)).toBe(steps);
});

test("it stops above the limit", () => {
  expect(jsonSteps(`[${"[],".repeat(300_000)}[]]`, 1_000)).toBe(1_001);
});

const list = (count: number, item: (index: number) => string): string =>
  `[${Array.from({ length: count }, (_, index) => item(index)).join(",")}]`;

test.for([
  ["numbers", list(300_000, () => "0")],
  ["short texts", list(60_000, (index) => `"t${index}"`)],
  ["records", list(15_000, (index) => `{"id":${index},"name":"n${index}","price":1.5,"paid":true}`)],
  ["pairs", list(60_000, (index) => `[${index},1]`)],
  ["names", `{${list(9_000, (index) => `"the long name ${index}":0`).slice(1, -1)}}`],
] as const)("an input of many %s is read", ([, text]) => {
  expect(text.length).toBeGreaterThan(200_000);
  expect(() => parseJson(text)).not.toThrow();
});

/** A million characters each. */
const DEAR = {
  keys: `{${list(120_000, (index) => `"${index.toString(36)}":0`).slice(1, -1)}}`,
  "small objects of new keys": list(95_000, (index) => `{"${index.toString(36)}":0}`),
  "new orders of a few keys": list(40_000, (index) => {
    const keys = [index % 15, (index / 15) % 15, (index / 225) % 15, index / 3_375];
    return `{${keys.map((n) => `"${Math.floor(n)}":0`).join(",")}}`;
  }),
  "empty objects": list(330_000, () => "{}"),
  "empty lists beside a constructor": list(330_000, () => "[]").replace("[]", '{"constructor":1}'),
  "short texts": list(150_000, (index) => `"${index.toString(36)}"`),
};

test.for(Object.entries(DEAR))("%s are refused before they are read, within 30 ms", ([, text]) => {
  const read = (): unknown => expect(() => parseJson(text)).toThrow(`more than ${LIMITS.jsonSteps} parts`);
  expect(leastMs(30 * 3, read)).toBeLessThan(30 * 3);
});

test("values are counted with their brackets, up to a limit, and not within texts", () => {
  expect(hasMoreValues('{"a,[": [1, {}], "b\\",,": "{"}', 5)).toBe(true);
  expect(hasMoreValues('{"a,[": [1, {}], "b\\",,": "{"}', 6)).toBe(false);
  expect(hasMoreValues('"an open text,,,,', 1)).toBe(false);
});
