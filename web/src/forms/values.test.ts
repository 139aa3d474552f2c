import { expect, test } from "vitest";
import { numberIn } from "./field-types.ts";
import { canSay, inputFrom, problemOf, valuesFrom, type FormField } from "./values.ts";

const field = (name: string, type: FormField["type"], more: Partial<FormField> = {}): FormField => ({
  name,
  type,
  title: name,
  description: null,
  required: false,
  choices: null,
  default: null,
  maxLength: null,
  ...more,
});

const FIELDS = [
  field("purpose", "text", { required: true }),
  field("amount", "number"),
  field("count", "integer", { default: 3 }),
  field("isUrgent", "boolean"),
  field("names", "list", { default: ["Ada", "Grace"] }),
  field("rooms", "list", { choices: [{ value: "a", title: "A" }] }),
];

test("defaults stand in the form, and what says nothing is not sent", () => {
  const values = valuesFrom(FIELDS);
  expect(values).toMatchObject({ purpose: undefined, count: "3", names: "Ada\nGrace" });
  expect(inputFrom(FIELDS, values)).toEqual({ count: 3, names: ["Ada", "Grace"] });
});

test("an earlier input comes back as it was", () => {
  const input = { purpose: "7", amount: 12.5, count: 0, isUrgent: false, names: ["x"], rooms: ["a"] };
  expect(inputFrom(FIELDS, valuesFrom(FIELDS, input))).toEqual(input);
});

test.each([
  ["12", 12],
  [" -3.5 ", -3.5],
  ["3,5", 3.5],
  ["1,200.50", 1200.5],
  ["1 200", 1200],
  ["1,200", 1200],
])("%s is the number %d", (text, number) => expect(numberIn(text)).toBe(number));

test.each(["", "abc", "1.2.3", "12 apples"])("%j is no number, and is sent as it stands", (text) => {
  expect(numberIn(text)).toBeNaN();
  expect(inputFrom(FIELDS, { amount: text })).toEqual(text === "" ? {} : { amount: text });
});

test("problems are said of what is missing or no number", () => {
  const [purpose, amount, count] = FIELDS;
  expect(problemOf(purpose!, undefined)).toBe("is required");
  expect(problemOf(amount!, undefined)).toBeUndefined();
  expect(problemOf(amount!, "x")).toBe("must be a number");
  expect(problemOf(count!, "1.5")).toBe("must be a whole number");
  expect(problemOf(count!, "2")).toBeUndefined();
});

test("lines without words are none of a list's, and a list in which nothing is chosen is not sent", () => {
  expect(inputFrom(FIELDS, { names: "Ada\n\n  \n Grace ", rooms: [] })).toEqual({ names: ["Ada", "Grace"] });
});

test.each([
  [undefined, true],
  [{}, true],
  [{ amount: 12.5, names: ["Ada"] }, true],
  [{ amount: "12.5" }, false],
  [{ purpose: 7 }, false],
  [{ names: ["two\nlines"] }, false],
  [{ colour: "red" }, false],
  [[1], false],
  [null, false],
])("whether the form can say %j", (input, isSaid) => expect(canSay(FIELDS, input)).toBe(isSaid));
