/**
 * Texts that have broken other programs: the Big List of Naughty Strings (test/fixtures/naughty-strings.json names its source), then
 * names of Object.prototype, control characters and lone surrogates of our own.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

const FIXTURE = path.join(import.meta.dirname, "../fixtures/naughty-strings.json");
const { strings } = JSON.parse(readFileSync(FIXTURE, "utf8")) as { strings: string[] };

const OWN: readonly string[] = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "__defineGetter__",
  "length",
  "\ud800",
  "\udc00a",
  "a\ud83d",
  "\u0000",
  "a\u0000b",
  "\u2028",
  "e\u0301",
  " a ",
  "\r\n",
  "${ . }",
  "${ broken",
];

export const NAUGHTY: readonly string[] = [...new Set([...strings, ...OWN])];

/** Our own and each `every`th of the others, other ones at each place: what mishandles a text does so at more than one place. */
export const naughtyAt = (place: number, every: number): readonly string[] =>
  NAUGHTY.filter((text, index) => index % every === place % every || OWN.includes(text));
