import { Validator } from "@cfworker/json-schema";
import { describe, expect, test } from "vitest";
import { numberOf } from "../../lib/json/exact-number.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import { compileSchema } from "./schema-check.ts";

describe("a value that does not fit is told in one sentence", () => {
  const check = compileSchema({
    type: "object",
    properties: {
      items: {
        type: "array",
        items: { type: "object", properties: { price: { type: "number", minimum: 0 } }, required: ["price"] },
      },
    },
    required: ["items"],
  });
  test.each<[Json, string | undefined]>([
    [{ items: [{ price: 1 }] }, undefined],
    [[], "the value must be an object, not a list"],
    [{}, 'the value lacks "items"'],
    [{ items: [{ price: 1 }, {}] }, 'items.1 lacks "price"'],
    [{ items: [{ price: -1 }] }, "items.0.price must be at least 0"],
    [{ items: [{ price: "1" }] }, "items.0.price must be a number, not text"],
    [{ items: null }, "items is empty"],
  ])("%j", (value, sentence) => expect(check(value)).toBe(sentence));
});

test("numbers of many digits are compared by all of them", () => {
  const [long, next] = ["9007199254740993", "9007199254740995"].map((text) => numberOf(text)!) as [Json, Json];
  const same = numberOf("9007199254740993.0")!;
  expect(compileSchema({ const: long })(same)).toBeUndefined();
  expect(compileSchema({ const: long })(2 ** 53)).toBe("the value must be 9007199254740993");
  expect(compileSchema({ enum: [long, 1] })(next)).toBe("the value must be one of 9007199254740993, 1");
  expect(compileSchema({ uniqueItems: true })([long, next, 2 ** 53])).toBeUndefined();
  expect(compileSchema({ uniqueItems: true })([long, next, same])).toBe("the value has duplicate items");
  const zero = numberOf("-0")!;
  expect(compileSchema({ enum: [0, 1] })(zero)).toBeUndefined();
  expect(compileSchema({ const: 0 })(zero)).toBeUndefined();
  expect(compileSchema({ uniqueItems: true })([0, zero])).toBe("the value has duplicate items");
  expect(compileSchema({ type: "integer", multipleOf: 3 })(long)).toBeUndefined();
  expect(compileSchema({ type: "integer", multipleOf: 3 })(next)).toBe("the value must be a multiple of 3");
  expect(compileSchema({ type: "string" })(long)).toBe("the value must be text, not a number");
  expect(compileSchema({ exclusiveMinimum: long })(next)).toBeUndefined();
  expect(compileSchema({ exclusiveMinimum: next })(long)).toBe("the value must be more than 9007199254740995");
});

/** How long it takes until that is said. */
const refusalMs = (check: () => string | undefined): number =>
  leastMs(500, () => expect(check()).toBe("is too large to be checked by this schema in 200000 steps"));

test("a check that costs too much ends with a sentence instead of holding the process", () => {
  const part = { type: "object", properties: { a: { anyOf: [{ type: "string", minLength: 3 }, { type: "null" }] } } };
  const check = compileSchema({ type: "array", items: { allOf: Array.from({ length: 50 }, () => part) } });
  const value = Array.from({ length: 100_000 }, () => ({ a: "abc" }));
  // 30 ms alone.
  expect(refusalMs(() => check(value))).toBeLessThan(500);
});

test("equal items among many objects are looked for within the budget", () => {
  const check = compileSchema({ uniqueItems: true });
  expect(check(Array.from({ length: 100 }, (_, index) => ({ index })))).toBeUndefined();
  expect(check([{ a: [1, { b: 2 }] }, 1, { a: [1, { b: 2 }] }])).toBe("the value has duplicate items");
  expect(check(Array.from({ length: 5_000 }, (_, index) => ({ index })))).toBe(
    "is too large to be checked by this schema in 200000 steps",
  );
});

test.each<[string, JsonObject, Json]>([
  ["all items", { uniqueItems: true }, Array.from({ length: 90_000 }, (_, index) => index)],
  ["all keys", { minProperties: 1 }, Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, 1]))],
  [
    "all keys for equality",
    { const: { a: 1 } },
    Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [at, 1])),
  ],
  ["all fractions", { items: { multipleOf: 0.7 } }, Array.from({ length: 50_000 }, () => 0.7)],
  [
    "all digits",
    { items: { multipleOf: numberOf("7".repeat(4_096))! } },
    Array.from({ length: 200 }, () => numberOf(`1${"3".repeat(4_095)}`)!),
  ],
])("300 schemas that each look at %s of a large value end within the budget", (_, schema, value) => {
  const check = compileSchema({ anyOf: [...Array.from({ length: 300 }, () => ({ allOf: [schema, false] })), {}] });
  // 40 to 80 ms alone.
  expect(refusalMs(() => check(value))).toBeLessThan(500);
});

test("agrees with @cfworker/json-schema", () => {
  const schemas: JsonObject[] = [
    { type: ["string", "null"] },
    { type: "integer", multipleOf: 2 },
    { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 3 },
    { enum: [1, "a", null, [1], { a: 1 }] },
    { const: { a: [1, 2] } },
    { minLength: 2, maxLength: 3 },
    { format: "date" },
    { format: "date-time" },
    { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2 },
    { uniqueItems: true },
    { properties: { a: { type: "number" } }, additionalProperties: false },
    { properties: { a: true, b: false }, minProperties: 1, maxProperties: 1 },
    { required: ["a"], additionalProperties: { type: "number" } },
    { allOf: [{ type: "object" }, { required: ["a"] }] },
    { anyOf: [{ type: "string" }, { minimum: 2 }] },
    { oneOf: [{ type: "number" }, { type: "integer" }] },
    { not: { type: "string" } },
  ];
  const values: Json[] = [
    null,
    true,
    0,
    1,
    2,
    3,
    2.5,
    -4,
    "",
    "a",
    "ab",
    "abcd",
    "😀😀😀",
    "2028-02-29",
    "2027-02-29",
    "2028-02-29T23:59:60Z",
    "2028-02-29t08:30:00.5+02:00",
    "2028-02-29T08:30:00",
    "2028-02-29T24:00:00Z",
    [],
    [1],
    ["a"],
    ["a", "b", "c"],
    [1, 1],
    [[1], [1]],
    [{ a: 1 }, { a: 1 }],
    {},
    { a: 1 },
    { a: "1" },
    { a: [1, 2] },
    { b: 1 },
    { a: 1, b: 2 },
  ];
  for (const schema of schemas) {
    const check = compileSchema(schema);
    const validator = new Validator(schema, "2020-12", true);
    for (const value of values) {
      expect(check(value) === undefined, `${JSON.stringify(schema)} of ${JSON.stringify(value)}`).toBe(
        validator.validate(value).valid,
      );
    }
  }
});
