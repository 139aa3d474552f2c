import { expect, test } from "vitest";
import { leastMs } from "./processor-time.testsuite.ts";
import { changesBetween, hint, nearest } from "./did-you-mean.ts";

test.each([
  ["titel", ["title", "tags"], "title"],
  ["endpont", ["method", "endpoint"], "endpoint"],
  ["GETT", ["GET", "PUT"], "GET"],
  ["Summary", ["summary"], "summary"],
  ["x", ["y"], undefined],
  ["colour", ["method"], undefined],
  ["a".repeat(100), ["a".repeat(101)], undefined],
])("%s", (word, known, near) => expect(nearest(word, known)).toBe(near));

test("without a near match the known words are listed, if they are few", () => {
  expect(hint("colour", ["title", "tags", "tags"])).toBe("; known here: title, tags");
  expect(hint("colour", [])).toBe("");
  expect(
    hint(
      "colour",
      Array.from({ length: 20 }, (_, index) => `key${index}`),
    ),
  ).toBe("");
});

test("changes by their definition, on 20,000 pairs: two swapped neighbours are one", () => {
  let state = 7;
  const next = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
  const word = (): string => Array.from({ length: 2 + next(5) }, () => "abc"[next(3)]).join("");
  let swaps = 0;
  for (let round = 0; round < 20_000; round++) {
    const [one, other] = [word(), word()];
    const isSwap = one !== other && swapsOf(one).includes(other);
    if (isSwap) swaps++;
    expect(changesBetween(one, other), `${one} ${other}`).toBe(isSwap ? 1 : wholeTable(one, other));
  }
  expect(swaps).toBeGreaterThan(100);
});

test("at most 500 of thousands of near matches are compared, in milliseconds of processor time", () => {
  const words = Array.from({ length: 4_900 }, (_, at) => `x${"abcdefghij".repeat(3)}${String(at).padStart(5, "0")}`);
  nearest(`y${"abcdefghij".repeat(3)}99999`, words);
  const look = (): void => {
    for (let round = 0; round < 100; round++) nearest(`y${"abcdefghij".repeat(3)}99999`, words);
  };
  expect(leastMs(500, look)).toBeLessThan(500);
});

/** Every word that has two neighbours of this one the other way round. */
const swapsOf = (word: string): string[] =>
  Array.from(word, (_, at) => word.slice(0, at) + (word[at + 1] ?? "") + word[at]! + word.slice(at + 2));

/** Insertions, deletions and replacements (Levenshtein), by their definition. */
function wholeTable(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + same));
    }
  }
  return row[other.length]!;
}
