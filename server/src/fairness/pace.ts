/**
 * The pace of something that is done at most so often: at once if the last time is long enough ago, else when it is due. All that is due
 * within the same 10 ms, a beat, has one timer and is done together: a thousand timers cost more than what they wait for, and what goes to
 * one socket at a time is one write.
 */
import type { Clock } from "../lib/clock.ts";

const BEAT_MS = 10;

export class Beats {
  readonly clock: Clock;
  readonly #waiting = new Map<number, (() => void)[]>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Calls `go` at the first beat from `at` on. It must be quick, and must not throw. */
  at(at: number, go: () => void): void {
    const beat = Math.ceil(at / BEAT_MS) * BEAT_MS;
    const waiting = this.#waiting.get(beat);
    if (waiting) return void waiting.push(go);
    const all = [go];
    this.#waiting.set(beat, all);
    this.clock.at(beat, () => {
      this.#waiting.delete(beat);
      for (const each of all) each();
    });
  }
}

export class Pace {
  readonly #beats: Beats;
  readonly #everyMs: number;
  readonly #act: () => void;
  #dueAt = 0;
  #isWaiting = false;

  /** `act`: does what is due, and calls `done` after it. */
  constructor(beats: Beats, everyMs: number, act: () => void) {
    this.#beats = beats;
    this.#everyMs = everyMs;
    this.#act = act;
  }

  /** Says that there is something to do. */
  ask(): void {
    if (this.#isWaiting) return;
    if (this.isDue()) return this.#act();
    this.#isWaiting = true;
    this.#beats.at(this.#dueAt, () => {
      this.#isWaiting = false;
      this.#act();
    });
  }

  /** Whether it may be done now; also if the clock was set back. */
  isDue(): boolean {
    const leftMs = this.#dueAt - this.#beats.clock.now();
    return leftMs <= 0 || leftMs > this.#everyMs;
  }

  /** Says that it is done. Counts from the beat before, so that work that takes long delays no next time. */
  done(): void {
    const now = this.#beats.clock.now();
    this.#dueAt = now - (now % BEAT_MS) + this.#everyMs;
  }
}
