/**
 * All runs share one thread: in each round of the event loop they have it for 5 ms together, then what came from outside
 * is looked at. Who comes later waits, and organizations take turns: one step of each, as many as the next rounds' 5 ms have
 * room for.
 */
import type { OrganizationId } from "../lib/ids.ts";
import type { Clock } from "../lib/clock.ts";

const ROUND_MS = 5;

export class Turns {
  readonly #clock: Clock;
  readonly #waiting = new Map<OrganizationId, (() => void)[]>();
  /** When a run was first seen in this round. */
  #since: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: it may go on at once. Else it resolves when its turn has come. */
  next(organizationId: OrganizationId): Promise<void> | undefined {
    if (this.#since === undefined) {
      this.#since = this.#clock.now();
      setImmediate(this.#round);
      return undefined;
    }
    // Not past those who wait: there is always somebody who comes from outside.
    if (this.#waiting.size === 0 && this.#hasTime) return undefined;
    return new Promise((resolve) => {
      const line = this.#waiting.get(organizationId);
      if (line) line.push(resolve);
      else this.#waiting.set(organizationId, [resolve]);
    });
  }

  get #hasTime(): boolean {
    return Math.abs(this.#clock.now() - this.#since!) < ROUND_MS;
  }

  readonly #round = (): void => {
    this.#since = undefined;
    if (this.#waiting.size === 0) return;
    this.#since = this.#clock.now();
    setImmediate(this.#round);
    this.#serve();
  };

  #serve(): void {
    for (const [organizationId, line] of this.#waiting) {
      const resolve = line.shift()!;
      // To the end, behind all others.
      this.#waiting.delete(organizationId);
      if (line.length > 0) this.#waiting.set(organizationId, line);
      resolve();
      // A tick comes when all that follows from it at once is done.
      queueMicrotask(() => process.nextTick(this.#serveMore));
      return;
    }
  }

  readonly #serveMore = (): void => {
    if (this.#since !== undefined && this.#hasTime) this.#serve();
  };
}
