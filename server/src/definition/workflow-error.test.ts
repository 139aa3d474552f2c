import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIMITS } from "../lib/limits.ts";
import { lastSegment, WorkflowError, ERROR_KINDS, type ErrorKind } from "./workflow-error.ts";

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

test("a message that is not text is left out; a known place is kept", () => {
  const { fields } = WorkflowError.fromJson({ type: 1, status: 500, title: {}, detail: null, instance: "/do/0/a" });
  expect(fields).toMatchObject({ title: null, detail: null, instance: "/do/0/a" });
  expect(fields.type).toMatch(/\/runtime$/);
  expect(new WorkflowError(fields).at("/do/1/b").fields.instance).toBe("/do/0/a");
  expect(WorkflowError.of("timeout", "late").at("/do/1/b").fields).toMatchObject({ instance: "/do/1/b", status: 408 });
});

test("each text has at most 10,000 characters, and of a longer one the end is cut", () => {
  const most = LIMITS.errorCharacters;
  const detailOf = (count: number) =>
    WorkflowError.fromJson({ type: "https://example.org/x", status: 500, detail: "d".repeat(count) }).fields.detail;
  expect(detailOf(most)).toBe("d".repeat(most));
  expect(detailOf(most + 1)).toBe(`${"d".repeat(most - 1)}…`);
});

test("the title of every kind is a sentence", () => {
  for (const [kind, { status, title }] of Object.entries(ERROR_KINDS)) {
    expect(title, kind).toMatch(/^[A-Z][^.]{20,}\.$/);
    expect(WorkflowError.of(kind as ErrorKind, "detail").fields).toMatchObject({ title, status, detail: "detail" });
  }
});

test("docs/errors.md lists every kind with its status and title, and no other", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/errors.md"), "utf8");
  const row = /^\| `([a-z-]+)` \| (?:the answer's, or )?(\d+) \| ([^|]+) \|/gm;
  const rows = Array.from(page.matchAll(row), ([, kind, status, title]) => [kind, Number(status), title!.trim()]);
  expect(rows).toEqual(Object.entries(ERROR_KINDS).map(([kind, { status, title }]) => [kind, status, title]));
});

test("docs/outbound-http.md speaks of these kinds alone", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/outbound-http.md"), "utf8");
  const kinds = Array.from(page.matchAll(/^\| `([a-z_-]+)` +\|/gm), ([, kind]) => kind!);
  expect(kinds.length).toBeGreaterThan(4);
  expect(kinds.filter((kind) => !Object.hasOwn(ERROR_KINDS, kind))).toEqual([]);
});

test("types are compared by their last segment", () => {
  expect(["https://example.org/a/timeout", "timeout", "x:/timeout"].map(lastSegment)).toEqual(Array(3).fill("timeout"));
});
