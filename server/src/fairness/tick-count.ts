/** Counts what is done in one tick of the event loop, for bounds that all callers share. */
export class TickCount {
  #count = 0;
  /** Identifies the tick: a new number for each tick in which something was counted. */
  tick = 0;

  /** Counts one more; returns the count. */
  add(): number {
    if (this.#count === 0) setImmediate(this.#next);
    return ++this.#count;
  }

  readonly #next = (): void => {
    this.#count = 0;
    this.tick++;
  };
}
