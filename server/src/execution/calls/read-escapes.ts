/** A text as a reader of the escapes of JSON, URLs and HTML in it sees it. */
import type { Steps } from "../../fairness/slices.ts";

/** From a place in a text up to another. */
export type Range = [start: number, end: number];

const HEX = "[\\da-fA-F]";
const NEXT_BYTE = `%[89abAB]${HEX}`;

const KINDS = [
  `\\\\(?:u${HEX}{4}|["\\\\/bfnrt])`,
  // A character in UTF-8, or a byte of anything else.
  `%(?:[0-7]${HEX}|[cdCD]${HEX}${NEXT_BYTE}|[eE]${HEX}(?:${NEXT_BYTE}){2}|[fF][0-7](?:${NEXT_BYTE}){3}|[89a-fA-F]${HEX})`,
  `&(?:#0*\\d{1,7}|#[xX]0*${HEX}{1,6}|amp|lt|gt|quot|apos|AMP|LT|GT|QUOT);`,
];
const patternOf = (kinds: readonly string[]): RegExp => new RegExp(kinds.join("|"), "g");
const ESCAPE = patternOf(KINDS);
const ALL_BUT_ONE = KINDS.map((kind) => patternOf(KINDS.filter((other) => other !== kind)));

/** JSON within JSON within a URL. */
export const READ_MOST = 3;

/** An escape that has begun at the end of a text, if it is not whole yet. */
const BEGUN = new RegExp(
  `(?:\\\\(?:u${HEX}{0,3})?|%(?:${HEX}|[c-fC-F]${HEX}(?:%${HEX}{2}){0,2}(?:%${HEX}?)?)?|` +
    `&(?:[a-zA-Z]{0,4}|#[xX]?0{0,240}(?:[1-9a-fA-F]${HEX}{0,6})?))$`,
);
/** Who writes more zeros than that before a digit means to hide what follows, and knows it already. */
const BEGUN_CHARACTERS = 256;

/** Where an escape begins that the end of the text may cut; the text's length if there is none. */
export function cutEscape(text: string): number {
  const end = text.slice(-BEGUN_CHARACTERS);
  const begun = BEGUN.exec(end);
  return begun ? text.length - end.length + begun.index : text.length;
}

/** An escape takes a third of a microsecond. */
const ESCAPES_PER_STEP = 10_000;

/** With the escapes read once, as `%2541` becomes `%41`. Undefined: it has none. */
export function* readEscapes(text: string): Steps<string | undefined> {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: escape, index } of text.matchAll(ESCAPE)) {
    parts.push(text.slice(from, index), meaningOf(escape));
    from = index + escape.length;
    if (parts.length % ESCAPES_PER_STEP === 0) yield;
  }
  yield;
  return from === 0 ? undefined : parts.join("") + text.slice(from);
}

/** Where these ranges of what was read stand in the text. */
export function* rangesBefore(text: string, ranges: readonly Range[]): Steps<Range[]> {
  const wanted = [...new Set(ranges.flat())].toSorted((one, other) => one - other);
  const places = new Map<number, number>();
  let next = 0;
  let [from, read, count] = [0, 0, 0];
  const noteUpTo = (end: number, place: (at: number) => number): void => {
    for (; next < wanted.length && wanted[next]! < end; next++) places.set(wanted[next]!, place(wanted[next]!));
  };
  for (const { 0: escape, index } of text.matchAll(ESCAPE)) {
    if (next === wanted.length) break;
    const [start, begins] = [from, read];
    read += index - from;
    noteUpTo(read + 1, (at) => start + at - begins);
    read += meaningOf(escape).length;
    from = index + escape.length;
    const end = from;
    noteUpTo(read, () => end);
    if (++count % ESCAPES_PER_STEP === 0) yield;
  }
  noteUpTo(Infinity, (at) => from + at - read);
  return ranges.map(([start, end]) => [places.get(start)!, places.get(end)!]);
}

/** The forms of a text within another one that was read: the writer of that one guarded its own escapes alone. */
export const misreadingsOf = (text: string): string[] =>
  ALL_BUT_ONE.map((pattern) => text.replaceAll(pattern, meaningOf));

const CONTROLS = new Map(Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }));
const NAMED = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }));

function meaningOf(escape: string): string {
  if (escape[0] === "\\") return escape.length > 2 ? unit(escape.slice(2)) : (CONTROLS.get(escape[1]!) ?? escape[1]!);
  if (escape[0] === "%")
    return escape.length === 3 ? unit(escape.slice(1)) : Buffer.from(escape.replaceAll("%", ""), "hex").toString();
  const name = escape.slice(1, -1);
  if (name[0] !== "#") return NAMED.get(name.toLowerCase())!;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : "\ufffd";
}

const unit = (hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));
