/** Searches a text while it still comes: what may be the beginning of a secret is not shown before the rest says that it is none. */
import { atOnce } from "../../fairness/slices.ts";
import type { Looked } from "../live-text.ts";
import type { Automaton } from "./automaton.ts";
import { cutEscape, rangesBefore, READ_MOST, readEscapes } from "./read-escapes.ts";

export const HIDDEN = "[redacted]";

export class ComingSearch {
  readonly #beginnings: Automaton;

  constructor(beginnings: Automaton) {
    this.#beginnings = beginnings;
  }

  /** `text`: what follows on the part that is clean. A thousand characters take 20 µs, ten times that with many escapes. */
  look(text: string): Looked {
    const readings: string[] = [];
    let looked: Looked = { clean: text.length, instead: undefined };
    let cut = cutEscape(text);
    for (let reading: string | undefined = text; reading !== undefined;) {
      const { clean, instead } = this.#lookIn(reading, cut);
      const before = readings.reduceRight((at, outer) => atOnce(rangesBefore(outer, [[at, at]]))[0]![0], clean);
      looked = { clean: Math.min(looked.clean, before), instead: looked.instead ?? instead };
      readings.push(reading);
      const next: string | undefined = readings.length > READ_MOST ? undefined : atOnce(readEscapes(reading));
      if (next !== undefined) cut = Math.min(cutEscape(next), cutIn(reading, cut, next));
      reading = next;
    }
    return looked;
  }

  /** `cut`: what comes may be read in another way from there on. A secret may go on with it, or be written as it is. */
  #lookIn(text: string, cut: number): Looked {
    let state = 0;
    let begunBefore = 0;
    for (let at = 0; at < text.length; at++) {
      if (at === cut) begunBefore = this.#beginnings.begun(state);
      state = this.#beginnings.next(state, text.charCodeAt(at));
      const found = this.#beginnings.found(state);
      if (found > 0) return { clean: at + 1 - found, instead: HIDDEN };
    }
    const clean = text.length - this.#beginnings.begun(state);
    return { clean: cut === text.length ? clean : Math.min(cut - begunBefore, clean), instead: undefined };
  }
}

/** Where the cut of a text is in what was read of it. */
const cutIn = (text: string, cut: number, read: string): number =>
  cut === text.length ? read.length : (atOnce(readEscapes(text.slice(0, cut)))?.length ?? cut);
