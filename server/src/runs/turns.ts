/**
 * All runs share one thread: in each round of the event loop they have it for 5 ms together, then what came from outside
 * is looked at. Those that have more to evaluate go on one a round, by turns of their organizations.
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
    const now = this.#clock.now();
    if (this.#since === undefined) {
      this.#since = now;
      setImmediate(() => this.#round());
      return undefined;
    }
    if (Math.abs(now - this.#since) < ROUND_MS) return undefined;
    return new Promise((resolve) => {
      const line = this.#waiting.get(organizationId);
      if (line) line.push(resolve);
      else this.#waiting.set(organizationId, [resolve]);
    });
  }

  #round(): void {
    this.#since = undefined;
    for (const [organizationId, line] of this.#waiting) {
      const resolve = line.shift()!;
      // To the end, behind all others.
      this.#waiting.delete(organizationId);
      if (line.length > 0) this.#waiting.set(organizationId, line);
      this.#since = this.#clock.now();
      setImmediate(() => this.#round());
      resolve();
      return;
    }
  }
}
