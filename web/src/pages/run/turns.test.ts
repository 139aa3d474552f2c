import { expect, test } from "vitest";
import type { StepRowFragment } from "../../api/documents.ts";
import { callCount, countOver, isSameTurn, isTurnOpen, limitAsksOf, turnsOf, workedMs } from "./turns.ts";

const step = (number: number, kind: string, position: string, given: object = {}): StepRowFragment =>
  ({ number, kind, position, parentNumber: number === 1 ? null : 1, child: null, attempts: [], ...given }) as never;

const at = (from: number, to: number | null): object => ({
  startedAt: new Date(from * 1_000).toISOString(),
  finishedAt: to === null ? null : new Date(to * 1_000).toISOString(),
});

const STEPS = [
  step(1, "assistant", "work#1", at(0, 100)),
  step(2, "mcp", "work#1/steps/list-1#1"),
  step(3, "model", "work#1/steps/model-1#1"),
  step(4, "approval", "work#1/steps/approval-1-2#1", at(10, 50)),
  step(5, "tool", "work#1/steps/tool-1-1#1"),
  step(6, "approval", "work#1/steps/approval-1-1#1", at(10, 20)),
  step(7, "model", "work#1/steps/model-2#1"),
  step(8, "tool", "other#1/steps/tool-1-1#1", { parentNumber: 9 }),
];

test("calls belong to the question before them, by their place in its answer, however they are reached", () => {
  const turns = turnsOf(STEPS, 1);
  const shown = turns.map(({ model, calls }) => ({
    model: model.number,
    calls: [...calls]
      .toSorted(([a], [b]) => a - b)
      .map(([place, { tool, question }]) => [place, tool?.number, question?.number]),
  }));
  expect(shown).toEqual([
    {
      model: 3,
      calls: [
        [1, 5, 6],
        [2, undefined, 4],
      ],
    },
    { model: 7, calls: [] },
  ]);
  expect(callCount(turns)).toBe(2);
});

test("the time in which people decide does not count, and of questions at the same time the longest", () => {
  expect(workedMs(STEPS[0]!, turnsOf(STEPS, 1), [], 0)).toBe(60_000);
  const asked = [...STEPS, step(9, "approval", "work#1/steps/limit-toolCalls-1#1", at(60, 75))];
  const asks = limitAsksOf(asked, 1);
  expect(asks.map(({ limit, step: { number } }) => [limit, number])).toEqual([["toolCalls", 9]]);
  expect(workedMs(asked[0]!, turnsOf(asked, 1), asks, 0)).toBe(45_000);
});

test("a turn is the same until a step of it changes, and is open until all of them are over", () => {
  const ended = [
    step(1, "assistant", "work#1", at(0, null)),
    step(2, "model", "work#1/steps/model-1#1", at(0, 1)),
    step(3, "tool", "work#1/steps/tool-1-1#1", at(1, 2)),
  ];
  const [turn, again] = [turnsOf(ended, 1)[0]!, turnsOf(ended, 1)[0]!];
  expect(again).not.toBe(turn);
  expect([isSameTurn(turn, again), isTurnOpen(turn), countOver([turn])]).toEqual([true, false, 2]);
  const open = turnsOf(ended.with(2, step(3, "tool", "work#1/steps/tool-1-1#1", at(1, null))), 1)[0]!;
  expect([isSameTurn(turn, open), isTurnOpen(open), countOver([open])]).toEqual([false, true, 1]);
});
