import { expect, test } from "vitest";
import { lastSegment, WorkflowError } from "./workflow-error.ts";

test.each([
  [404, 404],
  ["503", 503],
  [1.5, 500],
  [700, 500],
  [0, 500],
  ["soon", 500],
  [null, 500],
  [true, 500],
])("a raised error's status %j is %i in the API", (status, shown) => {
  expect(WorkflowError.fromJson({ type: "https://example.org/x", status }).fields.status).toBe(shown);
});

test("what is no text is left out; the place is kept when there is one", () => {
  const { fields } = WorkflowError.fromJson({ type: 1, status: 500, title: {}, detail: null, instance: "/do/0/a" });
  expect(fields).toMatchObject({ title: null, detail: null, instance: "/do/0/a" });
  expect(fields.type).toMatch(/\/runtime$/);
  expect(new WorkflowError(fields).at("/do/1/b").fields.instance).toBe("/do/0/a");
  expect(WorkflowError.of("timeout", "late").at("/do/1/b").fields).toMatchObject({ instance: "/do/1/b", status: 408 });
});

test("types are compared by their last segment", () => {
  expect(["https://example.org/a/timeout", "timeout", "x:/timeout"].map(lastSegment)).toEqual(Array(3).fill("timeout"));
});
