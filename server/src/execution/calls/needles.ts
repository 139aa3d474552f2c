/** Texts that are searched for all at once: what a search costs depends on the text, hardly on how many they are. */
import type { Steps } from "../../lib/sharing/slices.ts";
import type { Range } from "./read-escapes.ts";

/** Whoever has the beginning of a secret has recognised it: so many characters are found whatever follows. */
export const ENOUGH = 32;

/** Half a microsecond each. */
const LOOKS_PER_STEP = 5_000;
/** Two nanoseconds each. */
const CHARACTERS_PER_STEP = 500_000;

export class Needles {
  readonly shortest: number;
  /** How they begin, in order. */
  readonly #beginnings: readonly string[];
  /** For each beginning, those that have it. */
  readonly #wholes: readonly (readonly string[])[];
  /** For each beginning, the place of the longest other one that it begins with, or -1. */
  readonly #within: readonly number[];
  /** By their first two characters; undefined if one has a single character. */
  readonly #pairs: Uint8Array | undefined;

  constructor(texts: readonly string[]) {
    const wholes = new Map<string, Set<string>>();
    for (const text of texts) {
      const beginning = text.slice(0, ENOUGH);
      const known = wholes.get(beginning);
      if (known) known.add(text);
      else wholes.set(beginning, new Set([text]));
    }
    this.#beginnings = [...wholes.keys()].toSorted(byUnits);
    this.#wholes = this.#beginnings.map((beginning) => [...wholes.get(beginning)!]);
    this.#within = withinOf(this.#beginnings);
    this.shortest = Math.min(...this.#beginnings.map(({ length }) => length));
    if (this.shortest < 2) return;
    this.#pairs = new Uint8Array(PAIRS);
    for (const beginning of this.#beginnings) this.#pairs[pairAt(beginning, 0)] = 1;
  }

  /** In order, without overlaps; at most `most`. */
  *findIn(text: string, most: number): Steps<Range[]> {
    const found: Range[] = [];
    let [looks, next] = [0, CHARACTERS_PER_STEP];
    for (let at = 0; at + this.shortest <= text.length; at++) {
      if (at === next) {
        next += CHARACTERS_PER_STEP;
        yield;
      }
      if (this.#pairs && this.#pairs[pairAt(text, at)] === 0) continue;
      if (++looks % LOOKS_PER_STEP === 0) yield;
      const end = this.#endAt(text, at);
      if (end === undefined) continue;
      const last = found.at(-1);
      if (last && at < last[1]) last[1] = Math.max(last[1], end);
      else if (found.push([at, end]) === most) return found;
      // Another one may begin shortly before the end.
      at = Math.max(at, end - ENOUGH);
      while (next <= at) next += CHARACTERS_PER_STEP;
    }
    yield;
    return found;
  }

  /** Where the longest one ends that is here. */
  #endAt(text: string, at: number): number | undefined {
    const here = text.slice(at, at + ENOUGH);
    let [low, high] = [0, this.#beginnings.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#beginnings[middle]! <= here) low = middle + 1;
      else high = middle;
    }
    let place = low - 1;
    while (place >= 0 && !here.startsWith(this.#beginnings[place]!)) place = this.#within[place]!;
    return place < 0 ? undefined : Math.max(...this.#wholes[place]!.map((whole) => endOf(whole, text, at)));
  }
}

/** Any two characters of ASCII have their own. */
const PAIRS = 1 << 14;
const pairAt = (text: string, at: number): number =>
  ((text.charCodeAt(at) << 7) ^ text.charCodeAt(at + 1)) & (PAIRS - 1);

const byUnits = (one: string, other: string): number => (one < other ? -1 : 1);

function withinOf(beginnings: readonly string[]): number[] {
  const open: number[] = [];
  return beginnings.map((beginning, place) => {
    while (open.length > 0 && !beginning.startsWith(beginnings[open.at(-1)!]!)) open.pop();
    const within = open.at(-1) ?? -1;
    open.push(place);
    return within;
  });
}

const LOW_SURROGATE = /^[\udc00-\udfff]/;

/** Where the text stops being the same, and no character is cut. */
function endOf(whole: string, text: string, at: number): number {
  let length = Math.min(whole.length, ENOUGH);
  while (length < whole.length && text[at + length] === whole[length]) length++;
  const end = at + length;
  return LOW_SURROGATE.test(text.charAt(end)) ? end + 1 : end;
}
