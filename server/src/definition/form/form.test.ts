import { expect, test } from "vitest";
import { inputFields } from "./form.ts";

test("a form's fields, in the order of the document", () => {
  const fields = inputFields({
    type: "object",
    properties: {
      text: { type: "string", title: "A text", description: "Any." },
      choice: { type: "string", enum: ["a", "b"], default: "a" },
      titled: { type: "string", oneOf: [{ const: "a", title: "The a" }, { const: "b" }] },
      date: { type: "string", format: "date" },
      yes: { type: "boolean", default: false },
      number: { type: "number" },
      integer: { type: "integer", default: 0 },
      list: { type: "array", items: { type: "string" }, default: ["x"] },
      chosen: { type: "array", items: { type: "string", enum: ["a"] } },
    },
    required: ["date", "text"],
  });
  const plain = { description: null, required: false, choices: null, default: null, maxLength: null };
  expect(fields).toEqual([
    { ...plain, name: "text", type: "text", title: "A text", description: "Any.", required: true },
    {
      ...plain,
      name: "choice",
      type: "choice",
      title: "choice",
      choices: [
        { value: "a", title: "a" },
        { value: "b", title: "b" },
      ],
      default: "a",
    },
    {
      ...plain,
      name: "titled",
      type: "choice",
      title: "titled",
      choices: [
        { value: "a", title: "The a" },
        { value: "b", title: "b" },
      ],
    },
    { ...plain, name: "date", type: "date", title: "date", required: true },
    { ...plain, name: "yes", type: "boolean", title: "yes", default: false },
    { ...plain, name: "number", type: "number", title: "number" },
    { ...plain, name: "integer", type: "integer", title: "integer", default: 0 },
    { ...plain, name: "list", type: "list", title: "list", default: ["x"] },
    { ...plain, name: "chosen", type: "list", title: "chosen", choices: [{ value: "a", title: "a" }] },
  ]);
});

test("without a schema, or without properties, there are no fields", () => {
  expect(inputFields(undefined)).toEqual([]);
  expect(inputFields({ type: "object" })).toEqual([]);
});
