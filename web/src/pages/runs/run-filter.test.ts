import { expect, test } from "vitest";
import { filterOf, hasFilters } from "./run-filter.ts";

const NOW = Date.parse("2026-11-23T12:00:30Z");

test("what the address says is what the API is asked", () => {
  expect(filterOf({}, NOW)).toEqual({});
  expect(filterOf({ project: "p", status: "failed", agent: "a", by: "trigger_1" }, NOW)).toEqual({
    projectId: ["p"],
    status: ["failed"],
    agentId: ["a"],
    startedBy: { id: ["trigger_1"] },
  });
  expect(filterOf({ by: "trigger", from: "f", to: "t" }, NOW)).toEqual({
    startedBy: { kind: ["trigger"] },
    createdFrom: "f",
    createdBefore: "t",
  });
});

test("a period by its name goes before its edges", () => {
  expect(filterOf({ when: "hour", from: "f", to: "t" }, NOW)).toEqual({ createdFrom: "2026-11-23T11:00:00.000Z" });
});

test("a project is no filter of the page's own", () => {
  expect(hasFilters({ project: "p" })).toBe(false);
  expect(hasFilters({ project: "p", to: "t" })).toBe(true);
});
