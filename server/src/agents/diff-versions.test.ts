import { describe, expect, test } from "vitest";
import { leastMs } from "../lib/processor-time.testsuite.ts";
import { diffVersions } from "./diff-versions.ts";
import { randomFrom } from "../../../test/faults/random.ts";

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`);

test("a changed line, with three lines around it", () => {
  const before = numbered(12);
  expect(diffVersions(before.join(""), before.with(5, "another\n").join(""))).toBe(`--- before
+++ after
@@ -3,7 +3,7 @@
 line 3
 line 4
 line 5
-line 6
+another
 line 7
 line 8
 line 9
`);
});

test("changes that are far apart are told apart, under the names of the versions", () => {
  const before = numbered(20);
  const after = [...before.slice(1, 10), "more\n", "and more\n", ...before.slice(10)];
  expect(diffVersions(before.join(""), after.join(""), { before: "1.0.0", after: "1.1.0" })).toBe(`--- 1.0.0
+++ 1.1.0
@@ -1,4 +1,3 @@
-line 1
 line 2
 line 3
 line 4
@@ -8,6 +7,8 @@
 line 8
 line 9
 line 10
+more
+and more
 line 11
 line 12
 line 13
`);
});

test.each([
  ["", "", ""],
  ["a\n", "a\n", ""],
  ["", "a\n", "@@ -0,0 +1 @@\n+a\n"],
  ["a\n", "", "@@ -1 +0,0 @@\n-a\n"],
  ["a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"],
  ["a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"],
  ["a\nb", "c\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n"],
  ["a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"],
])("%j and %j", (before, after, hunks) => {
  expect(diffVersions(before, after)).toBe(hunks && `--- before\n+++ after\n${hunks}`);
});

describe("of random texts", () => {
  const seed = 20_261_121;
  test(`put upon the first it makes the second, with the fewest changes (seed ${seed})`, () => {
    const random = randomFrom(seed).next;
    for (let round = 0; round < 2_000; round++) {
      const [before, after] = [randomText(random), randomText(random)];
      const diff = diffVersions(before, after);
      expect(patched(before, diff), JSON.stringify({ before, after, diff })).toBe(after);
      expect(diff.split("\n").filter((line) => /^[-+](?!-- |\+\+ )/.test(line))).toHaveLength(fewest(before, after));
    }
  });
});

describe("of large texts", () => {
  const many = numbered(20_000);
  test("one change among 20,000 lines", () => {
    const diff = diffVersions(many.join(""), many.with(9_999, "another\n").join(""));
    expect(diff.split("\n")).toHaveLength(12);
  });

  test("20,000 lines and 1,000 changes are told one by one, with one more of either all is one change", () => {
    const hunks = (before: string[], after: string[]): number =>
      diffVersions(before.join(""), after.join("")).match(/^@@/gm)!.length;
    const twice = (lines: string[]): number => hunks(lines, lines.with(10, "a\n").with(19_000, "b\n"));
    expect([twice(many), twice([...many, "one more\n"])]).toEqual([2, 1]);
    const thinned = (lines: string[]): number =>
      hunks(
        lines,
        lines.filter((_, index) => index % 10 > 0),
      );
    expect([thinned(many.slice(0, 10_000)), thinned(many.slice(0, 10_001))]).toEqual([1_000, 1]);
  });

  test.each([
    ["all of 20,000 lines", many, many.map((line) => `x${line}`)],
    ["more than 20,000 lines", [...many, "a\n", "b\n"], ["c\n", ...many, "a\n", "c\n"]],
    ["a thousand changes and one", many.slice(0, 5_000), many.slice(0, 5_000).filter((_, index) => index % 4 > 0)],
  ])("%s: told as one change, within 3 s of the processor", (_, before, after) => {
    let diff = "";
    expect(leastMs(3_000, () => (diff = diffVersions(before.join(""), after.join(""))))).toBeLessThan(3_000);
    expect(diff.match(/^@@/gm)).toHaveLength(1);
    expect(patched(before.join(""), diff)).toBe(after.join(""));
  });
});

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** The output that `patch` would produce. */
function patched(text: string, diff: string): string {
  const lines = linesOf(text);
  const made: string[] = [];
  let place = 0;
  for (const part of diff.split(/^(?=@@ )/m).slice(1)) {
    const [, start, count] = /^@@ -(\d+)(?:,(\d+))? /.exec(part)!;
    const from = count === "0" ? Number(start) : Number(start) - 1;
    made.push(...lines.slice(place, from));
    place = from;
    for (const [, signed] of part.matchAll(/^([-+ ][^\n]*\n(?:\\ No newline at end of file\n)?)/gm)) {
      const line = signed!.replace(/\n\\ No.*\n/, "");
      if (line[0] !== "+") expect(line.slice(1)).toBe(lines[place++]);
      if (line[0] !== "-") made.push(line.slice(1));
    }
  }
  return [...made, ...lines.slice(place)].join("");
}

/** The number of lines outside the longest common subsequence, by the textbook table. */
function fewest(before: string, after: string): number {
  const [old, now] = [linesOf(before), linesOf(after)];
  let row = Array.from({ length: now.length + 1 }, () => 0);
  for (const line of old) {
    const next = [0];
    for (const [index, other] of now.entries()) {
      next.push(line === other ? row[index]! + 1 : Math.max(row[index + 1]!, next[index]!));
    }
    row = next;
  }
  return old.length + now.length - 2 * row.at(-1)!;
}

function randomText(random: () => number): string {
  const lines = Array.from({ length: Math.floor(random() * 30) }, () => "abcde"[Math.floor(random() * 5)]!);
  return lines.join("\n") + (random() < 0.7 && lines.length > 0 ? "\n" : "");
}
