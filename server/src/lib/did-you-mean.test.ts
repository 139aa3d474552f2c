import { expect, test } from "vitest";
import { leastMs } from "./processor-time.testsuite.ts";
import { hint, nearest } from "./did-you-mean.ts";

test.each([
  ["titel", ["title", "tags"], "title"],
  ["endpont", ["method", "endpoint"], "endpoint"],
  ["GETT", ["GET", "PUT"], "GET"],
  ["Summary", ["summary"], "summary"],
  ["x", ["y"], undefined],
  ["colour", ["method"], undefined],
  ["a".repeat(100), ["a".repeat(101)], undefined],
])("%s", (word, known, near) => expect(nearest(word, known)).toBe(near));

test("without a near word the known ones are told, if they are few", () => {
  expect(hint("colour", ["title", "tags", "tags"])).toBe("; known here: title, tags");
  expect(hint("colour", [])).toBe("");
  expect(
    hint(
      "colour",
      Array.from({ length: 20 }, (_, index) => `key${index}`),
    ),
  ).toBe("");
});

test("the same as the whole table, on 20,000 pairs", () => {
  let state = 7;
  const next = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
  const word = (): string => Array.from({ length: 3 + next(12) }, () => "abc"[next(3)]).join("");
  let found = 0;
  for (let round = 0; round < 20_000; round++) {
    const [one, other] = [word(), word()];
    const most = Math.min(3, Math.floor(one.length / 3));
    const isNear = wholeTable(one, other) <= most;
    if (isNear) found++;
    expect(nearest(one, [other]), `${one} ${other}`).toBe(isNear ? other : undefined);
  }
  expect(found).toBeGreaterThan(200);
});

test("of thousands that nearly fit 500 are compared, in milliseconds of processor time", () => {
  const words = Array.from({ length: 4_900 }, (_, at) => `x${"abcdefghij".repeat(3)}${String(at).padStart(5, "0")}`);
  nearest(`y${"abcdefghij".repeat(3)}99999`, words);
  const look = (): void => {
    for (let round = 0; round < 100; round++) nearest(`y${"abcdefghij".repeat(3)}99999`, words);
  };
  expect(leastMs(500, look)).toBeLessThan(500);
});

/** Optimal string alignment, by its definition. */
function wholeTable(one: string, other: string): number {
  const table = Array.from({ length: one.length + 1 }, (_, i) =>
    Array.from({ length: other.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  for (let i = 1; i <= one.length; i++) {
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      let least = Math.min(table[i - 1]![j]! + 1, table[i]![j - 1]! + 1, table[i - 1]![j - 1]! + same);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        least = Math.min(least, table[i - 2]![j - 2]! + 1);
      table[i]![j] = least;
    }
  }
  return table[one.length]![other.length]!;
}
