/** Texts with halves of surrogate pairs, which jq can't be asked about. */
import { beforeEach, expect, test } from "vitest";
import { startCounting } from "./signals.ts";
import { characters, compare } from "./values.ts";

beforeEach(() => startCounting());

test.each([
  ["", 0],
  ["a", 1],
  ["😀", 1],
  ["a😀b😀", 4],
  ["\ud83d", 1],
  ["\ude00", 1],
  ["\ud83da", 2],
  ["a\ude00", 2],
  ["\ude00a", 2],
  ["\ud83d\ud83d", 2],
  ["\ude00\ude00", 2],
  ["\ude00\ud83d", 2],
  ["\ud83d😀", 2],
])("%j has %i characters", (text, count) => expect(characters(text)).toBe(count));

test.each([
  ["\uffff", "\ud800"],
  ["\uffff", "\udfff"],
  ["\ue000", "\ud800"],
  ["\ud7ff", "\ue000"],
  ["\ud800", "\udfff"],
  ["a\uffff", "a\udfff"],
])("%j is before %j, as their code points are", (first, second) => {
  expect(compare(first, second)).toBeLessThan(0);
  expect(compare(second, first)).toBeGreaterThan(0);
});

const LONG = "abcdefgh".repeat(32);

test.each([
  [LONG, `${LONG}a`],
  [`${LONG}a`, `${LONG}b`],
  [`${LONG}a${LONG}`, `${LONG}b`],
  [`${LONG}\uffff`, `${LONG}😀`],
  [`${LONG.slice(1)}\ue000${LONG}`, `${LONG.slice(1)}\ud83d${LONG}`],
  [`${LONG.slice(1)}😀${LONG}`, `${LONG.slice(1)}😁${LONG}`],
])("long texts in order, case %#", (first, second) => {
  expect(compare(first, second)).toBeLessThan(0);
  expect(compare(second, first)).toBeGreaterThan(0);
  expect(compare(second, second.slice(0, 100) + second.slice(100))).toBe(0);
});
