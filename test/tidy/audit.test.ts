import { expect, test } from "vitest";
import { AUDIT_ACTIONS } from "../../server/src/audit/event.ts";
import { allSources, isTest } from "./source.ts";

test("a test expects the event of each audited action", () => {
  const tests = allSources().filter(({ path }) => isTest(path));
  const isExpected = (action: string): boolean => tests.some(({ text }) => text.includes(`"${action}"`));
  expect(
    Object.keys(AUDIT_ACTIONS).filter((action) => !isExpected(action)),
    "the test of what an operation does also expects the event that it leaves in the audit: its action, subject and detail",
  ).toEqual([]);
});
