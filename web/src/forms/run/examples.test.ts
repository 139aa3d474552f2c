import { expect, test } from "vitest";
import type { FormField } from "../values.ts";
import { exampleSentence, exampleSentences } from "./examples.ts";

const field = (name: string, type: FormField["type"]): FormField => ({
  name,
  type,
  title: name,
  description: null,
  required: false,
  choices: null,
  default: null,
  maxLength: null,
});

test("examples are sentences with the agent's name, and no more than it has fields for", () => {
  const inputFields = [field("reason", "text"), field("amount", "number"), field("payBy", "date")];
  expect(exampleSentences({ name: "Expense approval", inputFields })).toEqual([
    "Run expense approval with reason “Acme”.",
    "Run expense approval with reason “Acme”, amount 12 and pay by tomorrow.",
    "Run expense approval with amount 12 and pay by tomorrow.",
  ]);
  expect(exampleSentences({ name: "Flaky service", inputFields: [] })).toEqual([]);
  expect(exampleSentence({ name: "Flaky service", inputFields: [] })).toBe("Run flaky service.");
  expect(exampleSentence({ name: "Report", inputFields: [field("from", "date")] })).toBe("Run report from tomorrow.");
});
