import type { Clock } from "../lib/clock.ts";

/** A call that finds too many waiting comes again after this long at the earliest. */
const MIN_MS = 2_000;
/** Each call comes a little later than the one before it: a run that comes again costs two commits. */
const APART_MS = 10;
const MAX_MS = 600_000;

/** When an organization's calls that were sent away come again, one after the other. */
export class Crowd {
  readonly #clock: Clock;
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  next(): number {
    const now = this.#clock.now();
    const next = Math.max(now + MIN_MS, this.#last + APART_MS);
    // The clock was set back, or the line is full and begins once more.
    this.#last = next > now + MAX_MS ? now + MIN_MS : next;
    return this.#last;
  }
}
