import { expect, test } from "vitest";
import { stepDuration } from "./run.ts";
import type { RunStatus, StepStatus } from "../../storage/schema.ts";
import { AT_ONCE, AT_ONCE_SQL, dueAt } from "./due.ts";
import { changed, isFinal, isStepOpen, OPEN_STATUSES_SQL, RUN_STATUSES, RUN_TRANSITIONS } from "./states.ts";

const at = (ms: number): Date => new Date(Date.UTC(2026, 10, 21) + ms);
const now = at(5_000).getTime();

test.each([
  ["before its start", null, null, null],
  ["so far", at(0), null, 5_000],
  ["in the end", at(0), at(1_234), 1_234],
  ["when the clock was set back meanwhile", at(2_000), at(1_000), 0],
  ["of more than GraphQL's Int has", at(0), at(29 * 86_400_000), 2 ** 31 - 1],
])("a step's duration %s", (_, startedAt, finishedAt, ms) => {
  expect(stepDuration({ startedAt, finishedAt }, now)).toBe(ms);
});

test("every state but the final three leads on, none to pending, and none to itself", () => {
  expect(RUN_STATUSES.filter(isFinal)).toEqual(["completed", "failed", "cancelled"]);
  for (const [from, ends] of Object.entries(RUN_TRANSITIONS)) {
    expect(ends).not.toContain("pending");
    expect(ends).not.toContain(from);
  }
});

test("a change that the table does not have is not written; what ended stays what it is", () => {
  const allowed = new Set(
    "pending>pending running>running paused>paused pending>running pending>cancelled pending>failed running>paused running>completed running>failed running>cancelled paused>running paused>cancelled paused>failed".split(
      " ",
    ),
  );
  const attempt = (from: RunStatus, to: RunStatus): boolean => {
    try {
      return changed(from, to) === to;
    } catch (error) {
      expect(error).toEqual(new Error(`a run that is ${from} can't become ${to}`));
      return false;
    }
  };
  for (const from of RUN_STATUSES)
    for (const to of RUN_STATUSES)
      expect([from, to, attempt(from, to)]).toEqual([from, to, allowed.has(`${from}>${to}`)]);
});

test("in SQL: what is open", () => {
  expect(OPEN_STATUSES_SQL).toBe("'pending', 'running', 'paused'");
});

test.each<[StepStatus, boolean]>([
  ["pending", true],
  ["running", true],
  ["paused", true],
  ["completed", false],
  ["failed", false],
  ["skipped", false],
  ["cancelled", false],
])("a step that is %s is open: %s", (status, isOpen) => expect(isStepOpen(status)).toBe(isOpen));

test("a run is due at once, at the time that was asked for, or when it is unparked", () => {
  expect(dueAt({ limited: false, runAt: null })).toBe(AT_ONCE);
  expect(dueAt({ limited: false, runAt: now })).toBe(now);
  expect(dueAt({ limited: true, runAt: now })).toBeNull();
});

test("at once is before every clock, in ms as in SQL", () => {
  expect(AT_ONCE).toBe(new Date("1970-01-01T00:00:00Z").getTime());
  expect(AT_ONCE_SQL).toBe("'epoch'::timestamptz");
});
