import { describe, expect, test } from "vitest";
import { LIMITS } from "../lib/limits.ts";
import { elicitationSchema, messageOf } from "./questions.ts";

describe("the form of a question", () => {
  test("is the approval's, as far as MCP knows its fields", () => {
    const form = {
      type: "object",
      properties: {
        why: { type: "string", title: "Why", description: "A reason", maxLength: 9, pattern: "^x" },
        when: { type: "string", format: "date" },
        where: { type: "string", oneOf: [{ const: "a", title: "Here" }, { const: "b" }] },
        many: { type: "array", items: { type: "string", enum: ["a", "b"] } },
        much: { type: "number", default: 1 },
        is: { type: "boolean" },
      },
      required: ["why"],
    };
    expect(elicitationSchema(form)).toEqual({
      type: "object",
      properties: {
        why: { type: "string", title: "Why", description: "A reason", maxLength: 9 },
        when: { type: "string", format: "date", title: "when" },
        where: {
          type: "string",
          title: "where",
          oneOf: [
            { const: "a", title: "Here" },
            { const: "b", title: "b" },
          ],
        },
        many: {
          type: "array",
          title: "many",
          items: {
            anyOf: [
              { const: "a", title: "a" },
              { const: "b", title: "b" },
            ],
          },
        },
        much: { type: "number", title: "much", default: 1 },
        is: { type: "boolean", title: "is" },
      },
      required: ["why"],
    });
  });

  test("is empty without one, and none if MCP has no such field", () => {
    expect(elicitationSchema(undefined)).toEqual({ type: "object", properties: {} });
    const texts = { type: "array", items: { type: "string" } };
    expect(elicitationSchema({ type: "object", properties: { texts } })).toBeUndefined();
  });
});

test("4,000 characters of a question stay, one more is cut", () => {
  const question = "q".repeat(LIMITS.mcpQuestionCharacters);
  expect(messageOf({ question }, "null")).toBe(question);
  expect(messageOf({ question: `${question}q` }, undefined)).toHaveLength(LIMITS.mcpQuestionCharacters);
  expect(messageOf({ question: "Pay?" }, '{"a":1}')).toBe('Pay?\n\n{"a":1}');
});
