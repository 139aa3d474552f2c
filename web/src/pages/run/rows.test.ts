import { expect, test } from "vitest";
import type { StepRowFragment } from "../../api/documents.ts";
import { around, foldedAtFirst, linesOf, type StepLine } from "./rows.ts";

type Given = Partial<StepRowFragment> & { number: number };
const step = (given: Given): StepRowFragment =>
  ({
    name: `s${given.number}`,
    parentNumber: null,
    item: null,
    kind: "set",
    status: "completed",
    attempts: [],
    ...given,
  }) as StepRowFragment;

/** A loop of 60 items with two steps each, item 7 failed, in the order in which they were reached by turns. */
const LOOP = [
  step({ number: 1, kind: "each" }),
  ...Array.from({ length: 60 }, (_, index) => step({ number: 2 + index, parentNumber: 1, item: index + 1 })),
  ...Array.from({ length: 60 }, (_, index) =>
    step({ number: 62 + index, parentNumber: 1, item: index + 1, status: index === 6 ? "failed" : "completed" }),
  ),
];

const numbersOf = (lines: ReturnType<typeof linesOf>): number[] => lines.map((line) => (line as StepLine).step.number);

test("a long loop is folded and says how its items ended, but not around the chosen step", () => {
  const folded = foldedAtFirst(LOOP, undefined);
  const lines = linesOf(LOOP, { folded, status: "all" });
  expect(lines).toMatchObject([
    {
      step: { number: 1 },
      inside: {
        items: [1, 60],
        counts: [
          ["completed", 59],
          ["failed", 1],
        ],
      },
    },
  ]);
  expect(foldedAtFirst(LOOP, 68).size).toBe(0);
  expect(around(LOOP, 68)).toEqual([1]);
});

test("items that ran at the same time are put beside each other", () => {
  const lines = linesOf(LOOP, { folded: new Set(), status: "all" });
  expect(numbersOf(lines).slice(0, 5)).toEqual([1, 2, 62, 3, 63]);
});

test("failed ones are the innermost; what waits is not slow", () => {
  expect(numbersOf(linesOf(LOOP, { folded: new Set(), status: "failed" }))).toEqual([68]);
  const alone = [step({ number: 1, kind: "for", status: "failed" }), step({ number: 2, parentNumber: 1 })];
  expect(numbersOf(linesOf(alone, { folded: new Set(), status: "failed" }))).toEqual([1]);
  const some = [
    step({ number: 1, kind: "approval", duration: 7_200_000 }),
    step({ number: 2, kind: "http", duration: 900 }),
    step({ number: 3, duration: 1 }),
  ];
  expect(numbersOf(linesOf(some, { folded: new Set(), status: "slow" }))).toEqual([2]);
});
