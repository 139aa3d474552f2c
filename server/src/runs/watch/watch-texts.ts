/** The texts that models write in a run, for one subscriber: joined, from where it has got to, so that a slow one misses nothing. */
import { until } from "../../lib/clock.ts";
import type { RunId } from "../../lib/ids.ts";
import type { LiveText, TextReader } from "../../execution/live-text.ts";
import type { Wakeup } from "../../realtime/stream.ts";
import type { Runs } from "../handle/runs.ts";

/** `offset`: the characters of the text that stand before it; 0 where a text begins, or begins again. */
export type TextDelta = { runId: RunId; stepNumber: number; offset: number; text: string };

/** All that is written within this time is sent together. */
const JOINED_MS = 50;

export class WatchedTexts implements TextReader, Disposable {
  readonly #runs: Runs;
  readonly #runId: RunId;
  readonly #wakeup: Wakeup;
  readonly #keep: (last: TextDelta) => void;
  readonly #reading: Disposable;
  /** The characters that were sent of each. */
  readonly #sent = new Map<LiveText, number>();
  #dueAt = 0;
  #isWaiting = false;

  /** `keep`: called with the last part of a text when it ends, before its step's commit. */
  constructor(runs: Runs, runId: RunId, wakeup: Wakeup, keep: (last: TextDelta) => void) {
    this.#runs = runs;
    this.#runId = runId;
    this.#wakeup = wakeup;
    this.#keep = keep;
    this.#reading = runs.executions.texts.read(runId, this);
  }

  grew(): void {
    if (this.#isDue()) return this.#wakeup.notify();
    if (!this.#isWaiting) void this.#notifyWhenDue();
  }

  async #notifyWhenDue(): Promise<void> {
    this.#isWaiting = true;
    await until(this.#runs.clock, this.#dueAt);
    this.#isWaiting = false;
    this.#wakeup.notify();
  }

  /** Also when the clock was set back. */
  #isDue(): boolean {
    const leftMs = this.#dueAt - this.#runs.clock.now();
    return leftMs <= 0 || leftMs > JOINED_MS;
  }

  ended(text: LiveText): void {
    const last = this.#next(text);
    this.#sent.delete(text);
    if (last) this.#keep(last);
  }

  /** Sends what has come since the last time; later, if that was just before. */
  async *due(turn: () => Promise<void> | undefined): AsyncGenerator<TextDelta, void> {
    const texts = this.#runs.executions.texts.of(this.#runId);
    if (!this.#isDue()) return this.grew();
    for (const text of texts) {
      await text.look(turn);
      const delta = text.isOver ? undefined : this.#next(text);
      if (!delta) continue;
      this.#dueAt = this.#runs.clock.now() + JOINED_MS;
      await turn();
      yield delta;
    }
  }

  #next(from: LiveText): TextDelta | undefined {
    const offset = this.#sent.get(from) ?? 0;
    const text = from.from(offset);
    if (text === "") return undefined;
    this.#sent.set(from, offset + text.length);
    return { runId: this.#runId, stepNumber: from.stepNumber, offset, text };
  }

  [Symbol.dispose](): void {
    this.#reading[Symbol.dispose]();
  }
}
