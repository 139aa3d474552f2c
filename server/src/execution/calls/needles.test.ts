import { expect, test } from "vitest";
import { seeded } from "../../../../test/faults/random.ts";
import { scaled } from "../../../../test/scale.ts";
import { growsWithLength, leastHereMs, leastMs } from "../../lib/processor-time.testsuite.ts";
import { atOnce } from "../../fairness/slices.ts";
import { ENOUGH, Needles } from "./needles.ts";
import type { Range } from "./read-escapes.ts";

const needlesOf = (texts: readonly string[]): Needles => atOnce(Needles.of(texts));
const found = (needles: Needles, text: string): Range[] => atOnce(needles.findIn(text, Infinity));

/** As the promise has it, at each place by itself: whole texts, and beginnings of 32 characters as far as the text goes on. */
function* expected(texts: readonly string[], text: string): Generator<Range> {
  for (let at = 0; at < text.length; at++)
    for (const one of texts) {
      let length = 0;
      while (length < one.length && text[at + length] === one[length]) length++;
      if (length === one.length || length >= ENOUGH) yield [at, at + length];
    }
}

/** Each character that is in a range. */
const covered = (text: string, ranges: Iterable<Range>): string => {
  const marks = Array.from(text, () => ".");
  for (const [start, end] of ranges) marks.fill("x", start, end);
  return marks.join("");
};

const RANDOM_TEXTS = scaled({ whole: 3_000, part: 600 });

test(`finds what looking at each place by itself finds: ${RANDOM_TEXTS} texts of few characters`, () => {
  const random = seeded("needles");
  const wordOf = (most: number): string => {
    const piece = Array.from({ length: random.between(1, 6) }, () => random.pick(["a", "b", "c"])).join("");
    return piece.repeat(50).slice(0, random.between(1, most)) + random.pick(["", "", "b", "ca"]);
  };
  for (let at = 0; at < RANDOM_TEXTS; at++) {
    const texts = Array.from({ length: random.between(1, 6) }, () => wordOf(random.pick([5, 40, 120])));
    const text = Array.from({ length: random.between(1, 6) }, () =>
      random.pick([random.pick(texts), wordOf(60), random.pick(texts).slice(0, random.between(1, 100))]),
    ).join("");
    const needles = needlesOf(texts);
    expect(covered(text, found(needles, text)), JSON.stringify({ texts, text })).toBe(
      covered(text, expected(texts, text)),
    );
  }
});

test("one that begins within another and goes on after it is found to its end", () => {
  const tail = "0123456789".repeat(5);
  const texts = [`${"x".repeat(40)}${tail}`, `${"x".repeat(20)}${tail}${"y".repeat(100)}`];
  const text = `${"x".repeat(40)}${tail}${"y".repeat(60)}`;
  expect(found(needlesOf(texts), `-${text}-`)).toContainEqual([1, text.length + 1]);
});

test("of more than a million characters each beginning is known, and what follows one that is not known to its end is hidden", () => {
  const texts = ["s", "t", "u"].map((sign) => `${sign}${"0123456789".repeat(49_999)}`);
  const needles = needlesOf(texts);
  expect(found(needles, `-${texts[1]!.slice(0, 100)}-`)).toContainEqual([1, 101]);
  expect(found(needles, `-${texts[2]!.slice(0, 32)}- and more`)).toEqual([[1, 43]]);
  expect(found(needles, texts[2]!.slice(0, 31))).toEqual([]);
});

const LETTERS = "abcdefghijklmnop";
/** No two places of it are alike. */
const varied = (length: number): string =>
  Array.from({ length }, (_, at) => LETTERS[(Math.imul(at + 7, 0x9e3779b1) >>> 20) % LETTERS.length]).join("");

const WORST: [string, (characters: number) => string[]][] = [
  ["one of a single character", (characters) => ["a".repeat(characters)]],
  ["one that only ends otherwise", (characters) => [`${"a".repeat(characters)}b`]],
  ["twenty that begin alike", (characters) => [...LETTERS].map((last) => "ab".repeat(characters / 2) + last)],
  ["each within the next", (characters) => Array.from({ length: 40 }, (_, at) => "ab".repeat((characters * at) / 80))],
  ["periods of each length", (characters) => [...LETTERS].map((_, at) => varied(at + 1).repeat(characters / (at + 1)))],
  ["no period", (characters) => [varied(characters)]],
  [
    "hundreds that begin alike",
    (characters) =>
      Array.from({ length: characters / 10 }, (_, at) => `${"a".repeat(ENOUGH)}${"b".repeat(at % 9)}${at}`),
  ],
  ["600 short ones", () => Array.from({ length: 600 }, (_, at) => `${"a".repeat(26)}${at}`)],
];
const TEXTS: ((texts: readonly string[]) => string)[] = [
  () => "a",
  () => "ab",
  (texts) => texts[0]!.slice(0, ENOUGH + 8),
  (texts) => texts.map((one) => one.slice(0, -1)).join(""),
  (texts) => texts.join(""),
];
const filled = (unit: string, length: number): string => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

test.each(WORST)(
  "%s: a text of twice the length takes about twice the time, of 8,192 characters or of 512",
  (_, textsOf) => {
    const searchOf = (characters: number) => {
      const texts = textsOf(characters).filter((text) => text !== "");
      const needles = needlesOf(texts);
      const searched = TEXTS.map((unitOf) => filled(unitOf(texts), 400_000));
      return (length: number) => searched.map((text) => found(needles, text.slice(0, length / TEXTS.length)));
    };
    const [search, small] = [searchOf(8_192), searchOf(512)];
    search(100_000);
    expect(growsWithLength(2_000_000, search)).toBe(true);
    const most = 5 * leastHereMs(0, () => small(200_000)) + 40;
    expect(leastMs(most, () => search(200_000))).toBeLessThan(most);
  },
);
