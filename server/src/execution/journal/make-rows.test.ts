import { expect, test } from "vitest";
import type { Head, JournalStep } from "./loaded-run.ts";
import { attemptRow } from "./make-rows.ts";

const attempt = (step: Partial<JournalStep>, error: { type: string; detail: string } | null = null) =>
  attemptRow(
    {} as Head,
    { state: {}, startedAt: 1, finishedAt: null, ...step } as JournalStep,
    error as Parameters<typeof attemptRow>[2],
    9,
  );

test("an attempt has failed with its error, has completed if its step goes on, or ended as its step did", () => {
  expect(attempt({ status: "running" }, { type: "x", detail: "y" }).status).toBe("failed");
  expect(attempt({ status: "running" }).status).toBe("completed");
  expect(attempt({ status: "cancelled" }).status).toBe("cancelled");
});

test("an attempt lasts from its own start until its error was caught, its step ended, or now", () => {
  const times = (step: Partial<JournalStep>): number[] => {
    const { started_at, finished_at } = attempt({ status: "running", ...step });
    return [started_at, finished_at];
  };
  expect(times({})).toEqual([1, 9]);
  expect(times({ finishedAt: 5 })).toEqual([1, 5]);
  expect(times({ finishedAt: 5, state: { tryStartedAt: 2, caughtAt: 3 } })).toEqual([2, 3]);
});
