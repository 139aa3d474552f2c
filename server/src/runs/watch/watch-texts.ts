/** The texts that models write in a run, for one subscriber: joined, from where it has got to, so that a slow one misses nothing. */
import type { RunId } from "../../lib/ids.ts";
import { Pace } from "../../fairness/pace.ts";
import type { LiveText, TextReader } from "../../execution/live-text.ts";
import type { Wakeup } from "../../realtime/stream.ts";
import type { Runs } from "../handle/runs.ts";

/** `offset`: the characters of the text that stand before it; 0 where a text begins, or begins again. */
export type TextDelta = { runId: RunId; stepNumber: number; offset: number; text: string };

/**
 * All that comes within this time is sent together. Less than the time in which a stream's events are read together (llm/event-stream.ts), so
 * that a reader falls into step with it: two times that are alike would be waited for one after the other.
 */
const JOINED_MS = 40;
const NONE: readonly LiveText[] = [];
/** Each reader has a copy of its own: of thousands that read slowly, or come late, none holds much. */
export const MAX_PART_CHARACTERS = 16 * 1_024;

export class WatchedTexts implements TextReader, Disposable {
  readonly #runs: Runs;
  readonly #runId: RunId;
  readonly #keep: (last: TextDelta) => void;
  readonly #reading: Disposable;
  readonly #pace: Pace;
  /** The characters that were sent of each. */
  readonly #sent = new Map<LiveText, number>();

  /**
   * `keep`: called with the last part of a text when it ends, before its step's commit; not if there is more than a part left, which comes with
   * the step.
   */
  constructor(runs: Runs, runId: RunId, wakeup: Wakeup, keep: (last: TextDelta) => void) {
    const { texts } = runs.executions;
    this.#runs = runs;
    this.#runId = runId;
    this.#keep = keep;
    this.#pace = new Pace(texts.beats, JOINED_MS, () => wakeup.notify());
    this.#reading = texts.read(runId, this);
  }

  grew(): void {
    this.#pace.ask();
  }

  ended(text: LiveText): void {
    const last = this.#leftOf(text) > MAX_PART_CHARACTERS ? undefined : this.#next(text);
    this.#sent.delete(text);
    if (last) this.#keep(last);
  }

  /** The texts of which there may be more to send. None before it is time, at which the reader is woken. */
  due(): Iterable<LiveText> {
    const texts = this.#runs.executions.texts.of(this.#runId);
    if (this.#pace.isDue()) return texts;
    this.#pace.ask();
    return NONE;
  }

  /** The part that has come since the last time, as far as it was looked at. */
  take(text: LiveText): TextDelta | undefined {
    const delta = text.isOver ? undefined : this.#next(text);
    if (delta) this.#pace.done();
    if (delta && this.#leftOf(text) > 0) this.#pace.ask();
    return delta;
  }

  #leftOf(text: LiveText): number {
    return text.length - (this.#sent.get(text) ?? 0);
  }

  #next(from: LiveText): TextDelta | undefined {
    const offset = this.#sent.get(from) ?? 0;
    const text = from.from(offset, MAX_PART_CHARACTERS);
    if (text === "") return undefined;
    this.#sent.set(from, offset + text.length);
    return { runId: this.#runId, stepNumber: from.stepNumber, offset, text };
  }

  [Symbol.dispose](): void {
    this.#reading[Symbol.dispose]();
  }
}
