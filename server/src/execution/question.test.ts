import { expect, test } from "vitest";
import { prepareApproval } from "./question.ts";

const form = (field: object) => ({ type: "object", properties: { amount: field } }) as never;

test("what a definition asks is taken over, null is as if it were not there", () => {
  expect(
    prepareApproval({
      question: "Pay?",
      context: { a: 1 },
      assignee: null,
      form: form({ type: "number", default: 7 }),
      timeout: "PT1H",
    }),
  ).toEqual({ question: "Pay?", context: { a: 1 }, form: form({ type: "number", default: 7 }), timeout: "PT1H" });
  expect(prepareApproval({ question: "Pay?", form: form({ type: "number", default: null }) }).form).toEqual(
    form({ type: "number" }),
  );
});

test.each([
  [{ question: 7 }, /must be text/],
  [{ question: "  " }, /must be text/],
  [{ question: "x".repeat(10_001) }, /at most 10000/],
  [{ question: "a\0b" }, /must not contain NUL/],
  [{ question: "Pay?", assignee: 7 }, /`assignee`/],
  [{ question: "Pay?", assignee: "a\0" }, /must not contain NUL/],
  [{ question: "Pay?", form: form({ type: "number", default: "seven" }) }, /default of amount must be a number/],
])("%j is refused", (values, message) => {
  expect(() => prepareApproval(values)).toThrow(message);
});
