/**
 * Finds many texts in one pass (Aho and Corasick, 1975): a character of the searched text costs the same, however many texts there are
 * and however they overlap. A state is the beginning of a text; the states that it leads to lie side by side, ordered by character.
 */
import type { Steps } from "../../fairness/slices.ts";

/** A tenth of a microsecond each. */
const STATES_PER_STEP = 20_000;

export class Automaton {
  /** The character that leads to each state. */
  readonly #by: Uint16Array;
  /** The first state that each leads to; the last one is before the first of the next state. */
  readonly #first: Int32Array;
  /** The longest end of each that is a beginning, too. */
  readonly #back: Int32Array;
  readonly #found: Int32Array;
  /** The first state of each length, the shortest first. */
  readonly #lengths: number[] = [];

  private constructor(states: number) {
    // One array: four would be four times the work for the garbage collector.
    const buffer = new ArrayBuffer(14 * states + 4);
    this.#first = new Int32Array(buffer, 0, states + 1);
    this.#back = new Int32Array(buffer, 4 * states + 4, states);
    this.#found = new Int32Array(buffer, 8 * states + 4, states);
    this.#by = new Uint16Array(buffer, 12 * states + 4, states);
  }

  /** `enough`: a beginning of this many characters is found as if it were the whole text. */
  static *of(texts: readonly string[], enough: number): Steps<Automaton> {
    const sorted = [...new Set(texts)].toSorted(byUnits);
    const automaton = new Automaton(sorted.reduce((sum, { length }) => sum + length, 1));
    yield;
    yield* automaton.#add(sorted, enough);
    return automaton;
  }

  /**
   * All texts at once, character by character, so that a state's number is higher than those of all shorter beginnings. As the texts are
   * in order, those with the same beginning stand together.
   */
  *#add(sorted: readonly string[], enough: number): Steps<void> {
    const reached = new Int32Array(sorted.length);
    /** The texts that are longer, at the front. */
    const open = Int32Array.from(sorted.keys());
    let [count, known] = [1, 0];
    for (let length = 1, most = open.length; most > 0; length++) {
      let [parent, last, left] = [-1, -1, 0];
      this.#lengths.push(count);
      for (let at = 0; at < most; at++) {
        const index = open[at]!;
        const text = sorted[index]!;
        const from = reached[index]!;
        const unit = text.charCodeAt(length - 1);
        if (from !== parent || unit !== last) {
          for (; known <= from; known++) this.#first[known] = count;
          const back = from === 0 ? 0 : this.next(this.#back[from]!, unit);
          this.#by[count] = unit;
          this.#back[count] = back;
          this.#found[count] = length >= enough ? length : this.#found[back]!;
          parent = from;
          last = unit;
          if (++count % STATES_PER_STEP === 0) yield;
        }
        reached[index] = count - 1;
        if (text.length > length) open[left++] = index;
        else this.#found[count - 1] = length;
      }
      most = left;
    }
    this.#first.fill(count, known, count + 1);
  }

  /** Where a character leads. The first state is 0. */
  next(state: number, unit: number): number {
    for (let from = state; ; from = this.#back[from]!) {
      const to = this.#child(from, unit);
      if (to !== 0 || from === 0) return to;
    }
  }

  /** How many of the last characters begin a text, or are one. */
  begun(state: number): number {
    let length = 0;
    while (length < this.#lengths.length && this.#lengths[length]! <= state) length++;
    return length;
  }

  /** How many characters that led here are a text; 0 if none is. */
  found(state: number): number {
    return this.#found[state]!;
  }

  /** After the text's characters, as far as it is known from the first on. */
  stateOf(text: string): number {
    let state = 0;
    for (let at = 0; at < text.length; at++) state = this.#child(state, text.charCodeAt(at));
    return state;
  }

  /** Returns 0 if there is none. */
  #child(state: number, unit: number): number {
    const end = this.#first[state + 1]!;
    let [low, high] = [this.#first[state]!, end];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#by[middle]! < unit) low = middle + 1;
      else high = middle;
    }
    return low < end && this.#by[low] === unit ? low : 0;
  }
}

const byUnits = (one: string, other: string): number => (one < other ? -1 : 1);
