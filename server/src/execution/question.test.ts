import { expect, test } from "vitest";
import type { JsonObject } from "../lib/json/json.ts";
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
  ).toEqual({
    question: "Pay?",
    context: { a: 1 },
    form: form({ type: "number", default: 7 }),
    timeout: "PT1H",
    assignees: null,
    excludesStarter: false,
    quorum: 1,
    notifies: false,
  });
  expect(prepareApproval({ question: "Pay?", form: form({ type: "number", default: null }) }).form).toEqual(
    form({ type: "number" }),
  );
});

test("an e-mail or a role as the assignee binds with the assignees, each once and in lower case; another text is a note", () => {
  const asked = (values: JsonObject) => prepareApproval({ question: "Pay?", ...values }).assignees;
  expect(asked({ assignee: "Ada@Example.org", assignees: ["role:editor", " ada@example.org "] })).toEqual([
    "ada@example.org",
    "role:editor",
  ]);
  expect(asked({ assignee: "The finance team" })).toBeNull();
});

test("others who are asked later are named as the first are, and count for the quorum", () => {
  const escalate = { after: "PT1H", assignees: ["Bob@example.org", "bob@example.org"] };
  const asked = { question: "Pay?", assignees: ["ada@example.org"], escalate, remindAfter: { minutes: 5 }, quorum: 2 };
  expect(prepareApproval(asked)).toMatchObject({
    assignees: ["ada@example.org"],
    escalate: { after: "PT1H", assignees: ["bob@example.org"] },
    remindAfter: { minutes: 5 },
  });
  expect(() => prepareApproval({ ...asked, quorum: 3 })).toThrow(/only 2 are asked/);
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
