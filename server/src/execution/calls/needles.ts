/** Searches for many texts at once: the cost depends only on the length of the searched text. */
import type { Steps } from "../../fairness/slices.ts";
import { Automaton } from "./automaton.ts";
import type { Range } from "./read-escapes.ts";

/** A known prefix identifies a secret: this many characters count as found, whatever follows. */
export const ENOUGH = 32;

/**
 * Characters of long texts that are known to their ends, 14 bytes each: twenty secrets of 3,000 characters in all their forms. Of the
 * rest only the beginnings are known, and everything that follows one is hidden.
 */
const WHOLE_CHARACTERS = 1_000_000;

/** About twenty nanoseconds each. */
const CHARACTERS_PER_STEP = 100_000;

/** The rest after a beginning of ENOUGH characters. */
const NOTHING = 0;
const KNOWN = 1;
const UNKNOWN = 2;

export class Needles {
  readonly shortest: number;
  readonly #beginnings: Automaton;
  /** By the state of the beginning. */
  readonly #following: Map<number, number>;
  readonly #long: readonly string[];
  /** Built when a beginning is found: hardly any answer repeats a secret. */
  #wholes: Automaton | undefined;

  private constructor(texts: readonly string[], beginnings: Automaton) {
    this.shortest = texts.reduce((least, { length }) => Math.min(least, length), ENOUGH);
    this.#beginnings = beginnings;
    const long: string[] = [];
    this.#following = new Map();
    let left = WHOLE_CHARACTERS;
    for (const text of texts) {
      if (text.length <= ENOUGH) continue;
      const isKnown = text.length <= left;
      if (isKnown) {
        left -= text.length;
        long.push(text);
      }
      const state = beginnings.stateOf(text.slice(0, ENOUGH));
      if (this.#following.get(state) !== UNKNOWN) this.#following.set(state, isKnown ? KNOWN : UNKNOWN);
    }
    this.#long = long;
  }

  /** The first ones are those that are known to their ends if there are too many. */
  static *of(texts: readonly string[]): Steps<Needles> {
    const beginnings = texts.map((text) => text.slice(0, ENOUGH));
    return new Needles(texts, yield* Automaton.of(beginnings, ENOUGH));
  }

  /** Ranges that may overlap. Stops at about `most`. */
  *findIn(text: string, most: number): Steps<Range[]> {
    const found: Range[] = [];
    let first: number | undefined;
    let state = 0;
    for (let at = 0; at < text.length && found.length < most; at++) {
      if (at % CHARACTERS_PER_STEP === 0) yield;
      state = this.#beginnings.next(state, text.charCodeAt(at));
      const length = this.#beginnings.found(state);
      if (length === 0) continue;
      add(found, at + 1 - length, endIn(text, at + 1));
      if (length < ENOUGH) continue;
      const following = this.#following.get(state) ?? NOTHING;
      if (following === UNKNOWN) {
        add(found, at + 1 - length, text.length);
        break;
      }
      if (following === KNOWN) first ??= at + 1 - length;
    }
    return first === undefined ? found : [...found, ...(yield* this.#wholesIn(text, first, most))];
  }

  /** From the first beginning of a long one. */
  *#wholesIn(text: string, from: number, most: number): Steps<Range[]> {
    const wholes = (this.#wholes ??= yield* Automaton.of(this.#long, ENOUGH));
    const found: Range[] = [];
    let state = 0;
    for (let at = from; at < text.length && found.length < most; at++) {
      if (at % CHARACTERS_PER_STEP === 0) yield;
      state = wholes.next(state, text.charCodeAt(at));
      const length = wholes.found(state);
      if (length > 0) add(found, at + 1 - length, endIn(text, at + 1));
    }
    return found;
  }
}

/** One that overlaps those before it is one with them. Ends are in order. */
function add(found: Range[], start: number, end: number): void {
  const last = found.at(-1);
  if (!last || last[1] <= start) {
    found.push([start, end]);
    return;
  }
  last[1] = end;
  if (start >= last[0]) return;
  last[0] = start;
  for (let before = found.at(-2); before && before[1] > start; before = found.at(-2)) {
    last[0] = Math.min(start, before[0]);
    found.splice(-2, 1);
  }
}

/** No character is cut. */
const endIn = (text: string, end: number): number => {
  const unit = text.charCodeAt(end);
  return unit >= 0xdc00 && unit <= 0xdfff ? end + 1 : end;
};
