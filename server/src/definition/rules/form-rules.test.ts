import { describe, expect, test } from "vitest";
import { leastHereMs } from "../../lib/processor-time.testsuite.ts";
import { problemsOf, problemsOfTask, whole } from "../definitions.fixture.ts";
import { parseDefinition } from "../parse-definition.ts";

test("5,000 required names that are no field's take little more than as many that are one's", () => {
  const fields = Array.from({ length: 90 }, (_, index) => `something_called_${index}: {type: string}`).join(", ");
  const spent = (name: (index: number) => string): number => {
    const names = Array.from({ length: 5_000 }, (_, index) => name(index)).join(", ");
    const text = `input: {schema: {document: {type: object, properties: {${fields}}, required: [${names}]}}}`;
    return leastHereMs(0, () => problemsOf(text));
  };
  expect(spent((index) => `nothing_called_${index}`)).toBeLessThan(
    2 * spent((index) => `something_called_${index % 90}`),
  );
});

describe("forms", () => {
  const ofForm = (form: string): [string, string][] =>
    problemsOf(`input: {schema: {document: {type: object, ${form}}}}`).map(([path, message]) => [
      path.replace("/input/schema/document", ""),
      message,
    ]);
  test.each([
    [
      "properties: {a: {type: string, pattern: '^(a+)+$'}}",
      "/properties/a/pattern",
      "pattern is not accepted: a regular expression can block the whole server; use enum, format or maxLength",
    ],
    [
      "properties: {a: {type: object, properties: {}}}",
      "/properties/a/type",
      "the type of a field is one of string, number, integer, boolean, array",
    ],
    [
      "properties: {a: {title: x}}",
      "/properties/a",
      '"a" does not say enough; write its type: string, number, integer, boolean or array, or the choices of a text as enum or oneOf',
    ],
    ["properties: {a: {enum: [1, b]}}", "/properties/a/enum/0", "item 1 must be text, not a number; put it in quotes"],
    [
      "properties: {a: {oneOf: [{const: 1}]}}",
      "/properties/a/oneOf/0/const",
      '"const" must be text, not a number; put it in quotes',
    ],
    ["properties: {a: {enum: [x], oneOf: [{const: x}]}}", "/properties/a/oneOf", "write enum or oneOf, not both"],
    [
      "properties: {a: {enum: [x], default: y}}",
      "/properties/a/default",
      "the default does not fit: it must be one of x",
    ],
    [
      "properties: {a: {enum: [x], minimum: 1}}",
      "/properties/a/minimum",
      '"minimum" is not known in a choice; known here: title, description, default, minLength, maxLength, format, enum, oneOf',
    ],
    [
      "properties: {a: {type: array, items: {title: x}}}",
      "/properties/a/items",
      '"items" does not say enough; write type: string, or the choices as enum or oneOf',
    ],
    ["properties: {a: {type: string, format: email}}", "/properties/a/format", '"format" must be date'],
    ["properties: {a: {type: string, enum: [x, x]}}", "/properties/a/enum", '"enum" has duplicate items'],
    [
      "properties: {a: {type: string, enum: [1]}}",
      "/properties/a/enum/0",
      "item 1 must be text, not a number; put it in quotes",
    ],
    [
      "properties: {a: {type: string, oneOf: [{const: x}, {const: x}]}}",
      "/properties/a/oneOf",
      "a choice is listed twice; keep one",
    ],
    [
      "properties: {a: {type: string, enum: [x], oneOf: [{const: x}]}}",
      "/properties/a/oneOf",
      "write enum or oneOf, not both",
    ],
    [
      "properties: {a: {type: string, minLength: 3, maxLength: 2}}",
      "/properties/a/minLength",
      '"minLength" is more than "maxLength"',
    ],
    [
      "properties: {a: {type: array, items: {type: string}, minItems: 3, maxItems: 2}}",
      "/properties/a/minItems",
      '"minItems" is more than "maxItems"',
    ],
    [
      "properties: {a: {type: integer, minimum: 3, maximum: 2}}",
      "/properties/a/minimum",
      '"minimum" is more than "maximum"',
    ],
    [
      "properties: {a: {type: array, items: {type: string, minLength: 3, maxLength: 2}}}",
      "/properties/a/items/minLength",
      '"minLength" is more than "maxLength"',
    ],
    [
      "properties: {a: {type: array, items: {type: string, oneOf: [{const: x}, {const: y}, {const: x}]}}}",
      "/properties/a/items/oneOf",
      "a choice is listed twice; keep one",
    ],
    [
      "properties: {a: {type: string, enum: [x], format: date}}",
      "/properties/a/format",
      "a choice has no format; leave it out",
    ],
    [
      "properties: {a: {type: string}}, required: [a, c]",
      "/required/1",
      'there is no field "c" under properties; known here: a',
    ],
    [
      "properties: {a: {type: integer, default: 1.5}}",
      "/properties/a/default",
      "the default does not fit: it must be a whole number",
    ],
    [
      "properties: {a: {type: number, default: '${ .a }'}}",
      "/properties/a/default",
      "the default does not fit: it must be a number",
    ],
    [
      "properties: {a: {type: string, format: date, default: 2026-02-30}}",
      "/properties/a/default",
      "the default does not fit: it must be a calendar date such as 2026-03-31",
    ],
    ["properties: {a: {type: array}}", "/properties/a/items", '"items" is missing in a field of type array'],
    ["properties: {a: {type: array, items: {type: number}}}", "/properties/a/items/type", '"type" must be "string"'],
    [
      "properties: {a-b: {type: string}}",
      "/properties/a-b",
      'the name "a-b" does not fit; write 1 to 64 letters, digits and underscores, not a word such as constructor',
    ],
    [
      "properties: {constructor: {type: string}}",
      "/properties/constructor",
      'the name "constructor" does not fit; write 1 to 64 letters, digits and underscores, not a word such as constructor',
    ],
    [
      "properties: {a: {type: string}}, required: [b]",
      "/required/0",
      'there is no field "b" under properties; known here: a',
    ],
    [
      "properties: {a: {type: string}}, required: [1]",
      "/required/0",
      "item 1 must be text, not a number; put it in quotes",
    ],
    [
      "properties: {}, additionalProperties: true",
      "/additionalProperties",
      '"additionalProperties" must be false; leave it out: a form takes its own fields only',
    ],
    ["propertys: {}", "/propertys", '"propertys" is not known in the form; did you mean "properties"?'],
  ])("%s", (form, path, message) => expect(ofForm(form)).toEqual([[path, message]]));

  test.each([
    "properties: {a: {type: string, minLength: 2, maxLength: 2}}",
    "properties: {a: {type: array, items: {type: string}, minItems: 2, maxItems: 2}}",
    "properties: {a: {type: integer, minimum: 2, maximum: 2, default: 2}}",
    "properties: {a: {type: string, enum: [x, y], default: y}}",
    "properties: {a: {type: string, oneOf: [{const: x}, {const: y}]}}",
    "properties: {a: {type: string, format: date, default: 2026-02-28}}",
    "properties: {a: {type: array, items: {type: string, enum: [x, y]}, default: [x]}}",
    "properties: {a: {type: string, minLength: 5}, b: {type: string, maxLength: 3}}, required: [b, a]",
    "properties: {}",
  ])("%s is as it should be", (form) => expect(ofForm(form)).toEqual([]));

  test("a problem stands at the value that does not fit, or at the key that should go", () => {
    const form = `{type: object, properties: {
      a: {type: string, enum: [x], oneOf: [{const: x}]},
      b: {type: string, enum: [x], format: date},
      c: {type: string, minLength: 3, maxLength: 2}},
      required: [
        d]}`;
    const { problems } = parseDefinition(whole(`input: {schema: {document: ${form}}}`));
    expect(problems.map(({ line, column }) => `${line}:${column}`)).toEqual(["3:36", "4:36", "5:36", "7:9"]);
  });

  test("an approval's form may take defaults and texts from the data", () => {
    const approval = (field: string): [string, string][] =>
      problemsOfTask(`{call: 'approval:1.0.0@default', with: {question: Sure?, form: {properties: {a: ${field}}}}}`);
    expect(approval("{type: number, default: '${ .a }', title: '${ .title }'}")).toEqual([]);
    expect(approval("{type: number, default: x}")).toEqual([
      ["/with/form/properties/a/default", "the default does not fit: it must be a number"],
    ]);
    expect(approval("{type: string, title: 'Of ${ .a }'}").map(([path]) => path)).toEqual([
      "/with/form/properties/a/title",
    ]);
  });
});
