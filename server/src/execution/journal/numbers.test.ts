import { expect, test } from "vitest";
import type { JournalStep } from "./loaded-run.ts";
import { Numbers } from "./numbers.ts";

const step = (number: number, key: string, kind = "set"): JournalStep => ({ number, key, kind }) as JournalStep;

test("without gaps a step has the next number", () => {
  const numbers = new Numbers([step(1, "one#1"), step(2, "two#1")]);
  expect([numbers.highest, numbers.next("three#1", undefined), numbers.highest]).toEqual([2, 3, 3]);
});

test("a free number goes to a step that stands behind no higher one: not inside it, nor after it in its list", () => {
  const all = step(1, "all#1", "fork");
  const right = step(3, "all#1/right#1", "do");
  const inner = step(7, "all#1/right#1/inner#1", "do");
  const assistant = step(9, "all#1/third#1", "assistant");
  const kept = [all, step(2, "all#1/left#1", "do"), right, step(5, "all#1/right#1/before#1"), inner, assistant];
  const nextOf = (key: string, parent: JournalStep): number => new Numbers(kept).next(key, parent);
  expect(nextOf("all#1/left#1/one#1", kept[1]!)).toBe(4);
  expect(nextOf("all#1/fourth#1", all)).toBe(4);
  expect(nextOf("all#1/right#1/after#1", right)).toBe(8);
  expect(nextOf("all#1/right#1/inner#1/late#1", inner)).toBe(8);
  expect(nextOf("all#1/third#1/steps/tool-1-1#1", assistant)).toBe(10);
});

test("each number is given once, and what is opened counts for what follows", () => {
  const loop = step(1, "loop#1", "for");
  const numbers = new Numbers([loop, step(4, "loop#1/2/one#1"), step(6, "loop#1/2/two#1")]);
  const next = (key: string): number => numbers.next(`loop#1/${key}#1`, loop);
  expect([next("1/one"), next("2/three"), next("1/two"), next("1/three"), next("3/one")]).toEqual([2, 7, 3, 5, 8]);
  expect(numbers.highest).toBe(8);
});
