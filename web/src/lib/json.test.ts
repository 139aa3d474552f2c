import { createRequest, stringifyVariables } from "@urql/core";
import { expect, test } from "vitest";
import { ExactNumber, numberOf } from "./exact-number.ts";
import {
  isObject,
  marked,
  objectIn,
  parseJson,
  problemInJson,
  problemInObject,
  restored,
  unmarked,
  withDigits,
} from "./json.ts";

const TEXT = `{"id":820982911946154508,"list":[1,-9007199254740993,{"a":0.1000000000000000055511151231257827}],"big":1E+400,"zero":-0,"text":"9007199254740993, \\"9007199254740993"}`;

test("numbers that a double can't hold keep their digits", () => {
  expect(JSON.stringify(parseJson(TEXT))).toBe(TEXT);
  expect(JSON.stringify(restored(JSON.parse(marked(TEXT))))).toBe(TEXT);
  expect(JSON.stringify(JSON.parse(TEXT, withDigits))).toBe(TEXT);
  expect(JSON.stringify(objectIn(TEXT))).toBe(TEXT);
});

test("other texts are parsed as they are", () => {
  const text = '{"a":[1,0.5,1e3],"at":"2026-01-05T00:00:00Z","id":"820982911946154508"}';
  expect(marked(text)).toBe(text);
  expect(parseJson("[0.30000000000000004, 9007199254740992, 820982911946154500]")).toEqual([
    0.30000000000000004, 9007199254740992, 820982911946154500,
  ]);
  expect(() => parseJson("{9007199254740993")).toThrow(SyntaxError);
});

test.each([
  ["1.50", 1.5],
  ["-0.5", -0.5],
  ["1e3", 1000],
  ["100000000000000000000", 1e20],
  ["9007199254740992.0", 9007199254740992],
  ["820982911946154508", new ExactNumber("820982911946154508")],
  ["-820982911946154508.25", new ExactNumber("-820982911946154508.25")],
  ["1e400", new ExactNumber("1e400")],
])("%s is a double where one holds it", (text, number) => expect(numberOf(text)).toEqual(number));

test("it is no object", () => {
  expect(isObject(parseJson("9007199254740993"))).toBe(false);
  expect(Number.isNaN(numberOf("12 apples"))).toBe(true);
});

test("urql writes it into a request", () => {
  const { variables } = createRequest("query($a: JSON) { a }", parseJson(TEXT) as Record<string, unknown>);
  const body = stringifyVariables({ variables });
  expect(JSON.parse(unmarked(body), withDigits)).toEqual({ variables: parseJson(TEXT) });
  expect(unmarked(body)).toContain(`"id":820982911946154508,`);
});

test.each([
  ["", undefined],
  ['{"a": 820982911946154508}', undefined],
  ["{", "is not JSON at line 1, column 2: expected property name or '}'"],
  ['{\n  "a": 1\n  "b": 2\n}', "is not JSON at line 3, column 3: expected ',' or '}' after property value"],
  ["[820982911946154508, x]", `is not JSON: unexpected token 'x', ..."46154508, x]"`],
  ['{"a":', "is not JSON: unexpected end of JSON input"],
])("what is wrong with %j as JSON", (text, problem) => expect(problemInJson(text)).toBe(problem));

test("an object is asked for where other JSON will not do", () => {
  expect(problemInObject("")).toBeUndefined();
  expect(problemInObject("[1]")).toBe("must be a JSON object, such as {}");
  expect(problemInObject("{")).toMatch(/^is not JSON at line 1/);
});
