import { Validator } from "@cfworker/json-schema";
import { describe, expect, test } from "vitest";
import { numberOf } from "../../lib/json/exact-number.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { checkInput, misfitOf } from "./check-input.ts";

const LONG = numberOf("9007199254740993")!;

const FORM: JsonObject = {
  type: "object",
  properties: {
    text: { type: "string", minLength: 1, maxLength: 3 },
    free: { type: "string" },
    choice: { type: "string", enum: ["red", "green", "blue"] },
    titled: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g" }] },
    date: { type: "string", format: "date" },
    yes: { type: "boolean" },
    number: { type: "number", minimum: -1.5, exclusiveMaximum: 10 },
    tenths: { type: "number", multipleOf: 0.1 },
    integer: { type: "integer", exclusiveMinimum: 0, maximum: 100 },
    list: { type: "array", items: { type: "string", maxLength: 2 }, minItems: 1, maxItems: 2, uniqueItems: true },
    chosen: { type: "array", items: { type: "string", enum: ["a", "b"] } },
  },
};

/** The refusal of one field: code and sentence. */
const refused = (field: string, value: Json): [string, string][] =>
  (checkInput(FORM, { [field]: value }).problems ?? []).map(({ path, code, message }) => {
    expect(path).toMatch(new RegExp(`^input\\.${field}(\\.\\d+)?$`));
    return [code, message];
  });

describe("each refusal has a code and a sentence", () => {
  test.each<[string, Json, string, string]>([
    ["text", 1, "wrong_type", "must be text"],
    ["text", "", "too_short", "must not be empty"],
    ["text", "abcd", "too_long", "must have at most 3 characters"],
    ["choice", "Red", "not_a_choice", 'must be one of red, green, blue; did you mean "red"?'],
    ["choice", "mauve", "not_a_choice", "must be one of red, green, blue"],
    ["titled", "Red", "not_a_choice", "must be one of r, g"],
    ["date", "2027-02-29", "invalid", "must be a calendar date such as 2026-03-31"],
    ["date", "2027-2-9", "invalid", "must be a calendar date such as 2026-03-31"],
    ["date", 20270209, "wrong_type", "must be a date in quotes, such as 2026-03-31"],
    ["yes", "true", "wrong_type", "must be true or false"],
    ["number", -2, "out_of_range", "must be at least -1.5"],
    ["number", 10, "out_of_range", "must be less than 10"],
    ["number", Infinity, "out_of_range", "is too large a number"],
    ["tenths", 0.25, "not_a_multiple", "must be a multiple of 0.1"],
    ["integer", 1.5, "wrong_type", "must be a whole number"],
    ["integer", 0, "out_of_range", "must be more than 0"],
    ["list", "a", "wrong_type", "must be a list of texts"],
    ["list", [], "too_few", "must have at least 1 item"],
    ["list", ["a", "b", "c"], "too_many", "must have at most 2 items"],
    ["list", ["a", "a"], "repeated", "must have no duplicates"],
    ["list", ["a", "abc"], "too_long", "must have at most 2 characters"],
    ["chosen", ["a", "c"], "not_a_choice", "must be one of a, b"],
  ])("%s: %j", (field, value, code, message) => expect(refused(field, value)).toEqual([[code, message]]));

  test.each(["1", true, null, [1], {}, [], ""])("nothing is made a number of: %j", (value) => {
    expect(refused("number", value)).toEqual([["wrong_type", "must be a number"]]);
    expect(refused("integer", value)).toEqual([["wrong_type", "must be a whole number"]]);
  });

  test("an item's path has its place, from 0", () => {
    expect(checkInput(FORM, { list: ["a", "abc"] }, "input.input").problems).toEqual([
      { path: "input.input.list.1", code: "too_long", message: "must have at most 2 characters" },
    ]);
  });
});

/** A field of each kind of limit, with the values on either side of it. */
test.each<[JsonObject, Json, string | undefined]>([
  [{ type: "string", minLength: 2 }, "a", "must have at least 2 characters"],
  [{ type: "string", minLength: 2 }, "😀", "must have at least 2 characters"],
  [{ type: "string", minLength: 2 }, "ab", undefined],
  [{ type: "string", minLength: 2 }, "😀😀", undefined],
  [{ type: "string", minLength: 3 }, "ab", "must have at least 3 characters"],
  [{ type: "string", minLength: 3 }, "😀😀a", undefined],
  [{ type: "string", minLength: 1 }, "a", undefined],
  [{ type: "string", minLength: 0 }, "", undefined],
  [{ type: "string", maxLength: 1 }, "ab", "must have at most 1 character"],
  [{ type: "string", maxLength: 1 }, "a", undefined],
  [{ type: "string", maxLength: 1 }, "😀", undefined],
  [{ type: "string", maxLength: 2 }, "😀😀a", "must have at most 2 characters"],
  [{ type: "string", maxLength: 0 }, "", undefined],
  [{ type: "string", format: "date", minLength: 11 }, "2026-01-31", "must have at least 11 characters"],
  [
    { type: "string", enum: Array.from({ length: 10 }, (_, at) => `c${at}`) },
    "nothing like it",
    "must be one of c0, c1, c2, c3, c4, c5, c6, c7, c8, c9",
  ],
  [
    { type: "string", enum: Array.from({ length: 11 }, (_, at) => `c${at}`) },
    "nothing like it",
    "must be one of c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, …",
  ],
  [{ type: "number", minimum: 2 }, 1.9, "must be at least 2"],
  [{ type: "number", minimum: 2 }, 2, undefined],
  [{ type: "number", maximum: 2 }, 2.1, "must be at most 2"],
  [{ type: "number", maximum: 2 }, 2, undefined],
  [{ type: "number", exclusiveMinimum: 2 }, 2, "must be more than 2"],
  [{ type: "number", exclusiveMinimum: 2 }, 2.1, undefined],
  [{ type: "number", exclusiveMaximum: 2 }, 2, "must be less than 2"],
  [{ type: "number", exclusiveMaximum: 2 }, 1.9, undefined],
  [{ type: "number", minimum: 0 }, -1, "must be at least 0"],
  [{ type: "number", maximum: 0 }, 1, "must be at most 0"],
  [{ type: "number" }, 2 ** 53, undefined],
  [{ type: "number" }, -Infinity, "is too large a number"],
  [{ type: "integer" }, 2 ** 53 - 1, undefined],
  [{ type: "integer" }, 1 - 2 ** 53, undefined],
  [{ type: "integer" }, 2 ** 53, undefined],
  [{ type: "integer" }, LONG, undefined],
  [{ type: "integer" }, numberOf("1e400")!, undefined],
  [{ type: "integer" }, numberOf("9007199254740993.0")!, undefined],
  [{ type: "integer" }, numberOf("9007199254740993.5")!, "must be a whole number"],
  [{ type: "string" }, LONG, "must be text"],
  [{ type: "boolean" }, LONG, "must be true or false"],
  [{ type: "number", minimum: LONG }, 2 ** 53, "must be at least 9007199254740993"],
  [{ type: "number", minimum: LONG }, LONG, undefined],
  [{ type: "number", exclusiveMinimum: LONG }, LONG, "must be more than 9007199254740993"],
  [{ type: "number", maximum: 2 ** 53 }, LONG, "must be at most 9007199254740992"],
  [{ type: "number", maximum: LONG }, numberOf("1e400")!, "must be at most 9007199254740993"],
  [{ type: "number", exclusiveMaximum: 0 }, numberOf("-1e400")!, undefined],
  [{ type: "integer", multipleOf: 2 }, LONG, "must be a multiple of 2"],
  [{ type: "integer", multipleOf: 3 }, LONG, undefined],
  [{ type: "integer", multipleOf: LONG }, numberOf("18014398509481986")!, undefined],
  [{ type: "integer", multipleOf: 3 }, 1_000_000_001, "must be a multiple of 3"],
  [{ type: "number", multipleOf: 0.1 }, numberOf("0.10000000000000000001")!, "must be a multiple of 0.1"],
  [{ type: "number", multipleOf: 7 }, numberOf("7e999999")!, undefined],
  [{ type: "number", multipleOf: 7 }, numberOf("8e999999")!, "must be a multiple of 7"],
  [{ type: "integer", multipleOf: 3 }, 4, "must be a multiple of 3"],
  [{ type: "integer", multipleOf: 3 }, 9, undefined],
  [{ type: "boolean" }, false, undefined],
  [{ type: "boolean" }, null, "must be true or false"],
  [{ type: "array", items: { type: "string" }, minItems: 2 }, ["a"], "must have at least 2 items"],
  [{ type: "array", items: { type: "string" }, minItems: 2 }, ["a", "b"], undefined],
  [{ type: "array", items: { type: "string" }, maxItems: 1 }, ["a", "b"], "must have at most 1 item"],
  [{ type: "array", items: { type: "string" }, maxItems: 1 }, ["a"], undefined],
  [{ type: "array", items: { type: "string" }, maxItems: 0 }, ["a"], "must have at most 0 items"],
  [{ type: "array", items: { type: "string" } }, ["a", "a"], undefined],
  [{ type: "array", items: { type: "string" }, uniqueItems: false }, ["a", "a"], undefined],
  [{ type: "array", items: { type: "string" } }, { length: 0 }, "must be a list of texts"],
  [{ type: "array", items: { type: "string" } }, ["a", 1], "must be text"],
])("%j and %j: %s", (field, value, message) => {
  const { problems } = checkInput({ type: "object", properties: { a: field } }, { a: value });
  expect(problems?.map((problem) => problem.message)).toEqual(message === undefined ? undefined : [message]);
});

test.each([
  ["text", "😀😀😀"],
  ["text", "\0\ud800x"],
  ["free", ""],
  ["date", "2028-02-29"],
  ["number", -0],
  ["tenths", 0.3],
  ["integer", 100],
  ["list", ["", "ab"]],
])("%s may be %j", (field, value) => expect(checkInput(FORM, { [field]: value }).value).toEqual({ [field]: value }));

describe("the whole input", () => {
  const small = {
    properties: { name: { type: "string" }, count: { type: "integer", default: 3 } },
    required: ["name", "count"],
  };

  test("all problems at once, in the order of the form", () => {
    expect(checkInput(small, { count: "3", Name: "x", other: 1 }).problems).toEqual([
      { path: "input.name", code: "required", message: "is missing" },
      { path: "input.count", code: "wrong_type", message: "must be a whole number" },
      { path: "input.Name", code: "unknown", message: 'there is no field "Name"; did you mean "name"?' },
      { path: "input.other", code: "unknown", message: 'there is no field "other"; known here: name, count' },
    ]);
  });

  test("defaults are written in, and what was given is not changed", () => {
    const input = { name: "x" };
    expect(checkInput(small, input).value).toEqual({ name: "x", count: 3 });
    expect(input).toEqual({ name: "x" });
    const plain = {
      properties: {
        a: { type: "string", default: "" },
        b: { type: "boolean", default: false },
        c: { type: "number", default: 0 },
      },
    };
    expect(checkInput(plain, {}).value).toEqual({ a: "", b: false, c: 0 });
  });

  test("null is no way to leave a field out", () => {
    expect(checkInput(small, { name: null }).problems?.map(({ code }) => code)).toEqual(["wrong_type"]);
  });

  test("unknown keys are dropped for webhooks", () => {
    expect(checkInput(small, { name: "x", other: 1 }, "body", { unknown: "drop" }).value).toEqual({
      name: "x",
      count: 3,
    });
  });

  test("names of Object.prototype are as unknown as others", () => {
    expect(
      checkInput(small, JSON.parse('{"name": "x", "constructor": 1, "toString": 2}')).problems?.map(({ path }) => path),
    ).toEqual(["input.constructor", "input.toString"]);
    expect(checkInput({ properties: { name: { type: "string" } }, required: ["name"] }, {}).problems).toHaveLength(1);
  });

  test("without a schema any object is taken, and nothing else", () => {
    const input = { a: [1, { b: null }] };
    expect(checkInput(undefined, input).value).toBe(input);
    expect(checkInput(undefined, [1]).problems).toEqual([
      { path: "input", code: "wrong_type", message: "must be an object" },
    ]);
    expect(checkInput(small, "x").problems).toHaveLength(1);
  });

  test("a thousand unknown keys are reported as a hundred problems", () => {
    const input = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key${index}`, 1]));
    expect(checkInput(small, input).problems).toHaveLength(101);
  });
});

test("agrees with @cfworker/json-schema, an independent validator", () => {
  const validator = new Validator({ ...FORM, additionalProperties: false }, "2020-12", true);
  const values: Json[] = [
    null,
    true,
    false,
    0,
    1,
    -1.5,
    -2,
    9.99,
    10,
    0.3,
    0.25,
    100,
    101,
    7.5,
    "",
    "a",
    "abc",
    "abcd",
    "😀😀😀",
    "😀😀😀😀",
    "red",
    "Red",
    "r",
    "g",
    "2028-02-29",
    "2027-02-29",
    "2027-13-01",
    "2027-00-10",
    "2027-01-00",
    "1900-02-29",
    "2000-02-29",
    "0000-01-01",
    "2027-01-01T00:00:00Z",
    [],
    ["a"],
    ["a", "b"],
    ["a", "a"],
    ["a", "b", "c"],
    ["abc"],
    [1],
    [null],
    {},
    { a: 1 },
  ];
  let taken = 0;
  for (const field of [...Object.keys(FORM["properties"] as object), "unknown"]) {
    for (const value of values) {
      const input = { [field]: value };
      const isTaken = checkInput(FORM, input).problems === undefined;
      expect(isTaken, JSON.stringify(input)).toBe(validator.validate(input).valid);
      if (isTaken) taken++;
    }
  }
  expect(taken).toBeGreaterThan(50);
});

test("the refusal names the first ten fields, and carries all", () => {
  const of = (input: Json) =>
    misfitOf("it does not fit", checkInput(FORM, input, "input.input").problems!, "input.input");
  expect(of([]).message).toBe("it does not fit: must be an object");
  const { problems } = checkInput(FORM, { zz: 1 }, "input.input");
  expect(of({ zz: 1 }).message).toContain(`zz: ${problems!.at(-1)!.message}`);
  const many = of(Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${index}${"x".repeat(1_000)}`, 0])));
  expect(many.message.length).toBeLessThan(3_000);
  expect(many.details.fields!.length).toBeGreaterThanOrEqual(50);
});
