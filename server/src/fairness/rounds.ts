/**
 * Shares the thread: work gets it at once during the first 5 ms of a round of the event loop; the others
 * wait for the next rounds, 5 ms of each, and their groups (an organization, an address) take turns. In between, the
 * event loop handles I/O.
 */
import { FairQueue } from "./fair-queue.ts";

const ROUND_MS = 5;

export class Rounds<Group> {
  /** How long the last one took, with all that the event loop did besides, ms. */
  lastMs = 0;
  readonly #now: () => number;
  readonly #waiting = new FairQueue<Group, () => void>();
  /** When the first of this round began. */
  #since: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether a caller may continue at once: there is time left, and nobody waits. */
  isOpen(): boolean {
    if (this.#since === undefined) {
      this.#begin();
      return true;
    }
    return this.#waiting.size === 0 && this.#hasTime();
  }

  /** Calls `go` when it is its group's turn. */
  wait(group: Group, go: () => void): void {
    this.#waiting.add(group, go);
  }

  /** Both in one: calls it at once, or when it is its group's turn. */
  call(group: Group, go: () => void): void {
    if (this.isOpen()) go();
    else this.wait(group, go);
  }

  /** The same as a promise: undefined if the caller may continue at once, else it resolves when its turn has come. */
  next(group: Group): Promise<void> | undefined {
    return this.isOpen() ? undefined : new Promise((resolve) => this.wait(group, resolve));
  }

  #begin(): void {
    this.#since = this.#now();
    setImmediate(this.#round);
  }

  /** Setting the clock back ends the round. */
  #hasTime(): boolean {
    return Math.abs(this.#now() - this.#since!) < ROUND_MS;
  }

  readonly #round = (): void => {
    this.lastMs = this.#now() - this.#since!;
    this.#since = undefined;
    if (this.#waiting.size === 0) return;
    this.#begin();
    this.#serve();
  };

  #serve(): void {
    const go = this.#waiting.take();
    if (!go) return;
    go();
    // The next tick comes once all its immediate consequences are done.
    queueMicrotask(this.#tick);
  }

  readonly #tick = (): void => process.nextTick(this.#serveMore);

  readonly #serveMore = (): void => {
    if (this.#since !== undefined && this.#hasTime()) this.#serve();
  };
}
