import { expect, test } from "vitest";
import type { StepRowFragment } from "../../api/documents.ts";
import { timeAxis } from "../../lib/time-axis.ts";
import { busyTimes, spansOf, tookOf } from "./spans.ts";

const at = (ms: number): string => new Date(ms).toISOString();

/** Tried again after 1 s each time; each attempt takes 100 ms, and the step's own start is the newest one's. */
const retried = (count: number, read = count): StepRowFragment =>
  ({
    number: 2,
    parentNumber: 1,
    kind: "http",
    status: "failed",
    startedAt: at((count - 1) * 1_100),
    finishedAt: at((count - 1) * 1_100 + 100),
    attemptCount: count,
    attempts: Array.from({ length: read }, (_, index) => ({
      number: index + 1,
      status: "failed",
      startedAt: at(index * 1_100),
      finishedAt: at(index * 1_100 + 100),
    })),
  }) as unknown as StepRowFragment;

test("a step of five attempts has five spans on the axis, and takes as long as all of them", () => {
  const step = retried(5);
  const busy = busyTimes([step], 0);
  expect(busy.map(({ from, to }) => [from, to])).toEqual([
    [0, 100],
    [1_100, 1_200],
    [2_200, 2_300],
    [3_300, 3_400],
    [4_400, 4_500],
  ]);
  expect(tookOf(step)).toBe(4_500);
  const { place, folds } = timeAxis({ from: 0, to: 4_500 }, busy);
  expect(folds).toEqual([]);
  expect(place(100) - place(0)).toBeCloseTo(place(4_500) - place(4_400));
});

test("of 23 attempts those that were not read are one span up to the end", () => {
  const spans = spansOf(retried(23, 10), 0);
  expect(spans).toHaveLength(11);
  expect(spans.at(-1)).toMatchObject({ number: 23, from: 10_000, to: 24_300 });
});

test("an open step lasts until now, also one that waits; one that has waited was not busy, and one that has not begun has no span", () => {
  const open = { ...retried(1), status: "running", finishedAt: null, attempts: [] } as StepRowFragment;
  expect(spansOf(open, 700)).toEqual([{ number: 1, status: "running", from: 0, to: 700 }]);
  expect([tookOf(open), tookOf(open, 700)]).toEqual([null, 700]);
  expect(busyTimes([{ ...open, kind: "approval" }], 700)).toMatchObject([{ from: 0, to: 700 }]);
  expect(busyTimes([{ ...open, kind: "approval", finishedAt: at(600) }], 700)).toEqual([]);
  expect(spansOf({ ...open, startedAt: null }, 700)).toEqual([]);
});
