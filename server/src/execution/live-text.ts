/** The texts that models are writing at this moment, for who watches their runs. They are kept nowhere: the whole text is its step's output. */
import type { RunId } from "../lib/ids.ts";
import type { Beats } from "../fairness/pace.ts";
import { GrowingText } from "../lib/text.ts";
import { inTurns, type Steps } from "../fairness/slices.ts";

/** Both are called at once, and must be quick. `ended`: the text can be read for the last time. */
export type TextReader = { grew(): void; ended(text: LiveText): void };

/**
 * `clean`: up to there a text can be shown. `instead`: a secret begins there, whose end is not looked for; this is shown instead of all
 * that follows.
 */
export type Looked = { clean: number; instead: string | undefined };

/** Makes what looks for secrets in a text that still comes, after what is clean. Undefined: there are none. */
export type SearchComing = () => Steps<Search> | undefined;
type Search = { look(text: string): Looked };

type Turn = () => Promise<void> | undefined;

export class LiveTexts {
  /** Wakes all readers together. */
  readonly beats: Beats;
  readonly #texts = new Map<RunId, Set<LiveText>>();
  readonly #readers = new Map<RunId, Set<TextReader>>();

  constructor(beats: Beats) {
    this.beats = beats;
  }

  /** The text of a step, until it is disposed. */
  open(runId: RunId, stepNumber: number, search: SearchComing): LiveText {
    const text = new LiveText(stepNumber, search, {
      grew: () => this.#readers.get(runId)?.forEach((reader) => reader.grew()),
      ended: () => {
        this.#readers.get(runId)?.forEach((reader) => reader.ended(text));
        leave(this.#texts, runId, text);
      },
    });
    join(this.#texts, runId, text);
    return text;
  }

  of(runId: RunId): Iterable<LiveText> {
    return this.#texts.get(runId) ?? [];
  }

  /** Tells of the run's texts until it is disposed. */
  read(runId: RunId, reader: TextReader): Disposable {
    join(this.#readers, runId, reader);
    return { [Symbol.dispose]: () => leave(this.#readers, runId, reader) };
  }
}

function join<Item>(all: Map<RunId, Set<Item>>, runId: RunId, item: Item): void {
  const items = all.get(runId);
  if (items) items.add(item);
  else all.set(runId, new Set([item]));
}

function leave<Item>(all: Map<RunId, Set<Item>>, runId: RunId, item: Item): void {
  const items = all.get(runId);
  if (items?.delete(item) && items.size === 0) all.delete(runId);
}

/** Characters that are searched at a stretch: 2 ms at most. */
const LOOKED_AT_ONCE = 16 * 1_024;

export class LiveText implements Disposable {
  readonly stepNumber: number;
  /** Its readers were told that it ended. */
  isOver = false;
  readonly #makeSearch: SearchComing;
  readonly #tell: { grew(): void; ended(): void };
  readonly #raw = new GrowingText();
  #isWhole = false;
  /** The characters that can be shown. */
  #clean = 0;
  /** Stands for all that follows on them. */
  #instead: string | undefined;
  /** Undefined: not made yet, which takes steps. Null: nothing is secret. */
  #search: Search | null | undefined;
  /** All readers wait for the same one. */
  #making: Promise<Search | null> | undefined;

  constructor(stepNumber: number, makeSearch: SearchComing, tell: { grew(): void; ended(): void }) {
    this.stepNumber = stepNumber;
    this.#makeSearch = makeSearch;
    this.#tell = tell;
  }

  add(text: string): void {
    if (this.#instead !== undefined) return;
    this.#raw.add(text);
    this.#tell.grew();
  }

  /** Nothing more comes, so that its end is the beginning of nothing. */
  complete(): void {
    this.#isWhole = true;
  }

  /** Looks for secrets in what has come. Undefined: it is done already. */
  look(turn: Turn): Promise<void> | undefined {
    return this.#search !== undefined && !this.#lookOn() ? undefined : this.#lookAll(turn);
  }

  async #lookAll(turn: Turn): Promise<void> {
    if (this.#search === undefined) this.#search = await (this.#making ??= this.#make(turn));
    while (this.#lookOn()) await turn();
  }

  async #make(turn: Turn): Promise<Search | null> {
    const steps = this.#makeSearch();
    return steps ? inTurns(steps, turn) : null;
  }

  /** The characters that can be shown, as far as was looked. */
  get length(): number {
    return this.#clean + (this.#instead?.length ?? 0);
  }

  /** So much of it from there on: at most so many characters of the text, and what stands for the rest. */
  from(start: number, most = Infinity): string {
    const instead = this.#instead ?? "";
    if (start >= this.#clean) return instead.slice(start - this.#clean);
    const text = this.#raw.from(start, Math.min(start + most, this.#clean));
    if (start + text.length === this.#clean) return text + instead;
    return text.slice(0, text.length - cutPair(text, text.length));
  }

  /** Returns whether there is more to look at. */
  #lookOn(): boolean {
    const [raw, at] = [this.#raw, this.#clean];
    if (this.#instead !== undefined || at === raw.length || this.#search === undefined) return false;
    const text = raw.from(at, Math.min(at + LOOKED_AT_ONCE, raw.length));
    const isLast = at + text.length === raw.length;
    const { clean, instead } = this.#search?.look(text) ?? { clean: text.length, instead: undefined };
    this.#instead = instead;
    this.#clean += isLast && this.#isWhole && instead === undefined ? text.length : clean - cutPair(text, clean);
    // A beginning is shorter than the part that is searched at a stretch.
    return !isLast && this.#clean > at;
  }

  [Symbol.dispose](): void {
    this.isOver = true;
    if (this.#raw.length - this.#clean <= LOOKED_AT_ONCE) this.#lookOn();
    this.#tell.ended();
  }
}

/** Is 1 if a character's first half would be the last. */
const cutPair = (text: string, end: number): number => ((text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? 1 : 0);
