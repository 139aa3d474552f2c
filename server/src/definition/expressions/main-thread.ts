/**
 * This thread, which everybody's evaluations share: after a stretch of them it is given back, whoever asked for them, so that
 * a `switch` of 2,000 cases, a hundred branches or a thousand runs at once do not hold it. Organizations take turns.
 */
import type { OrganizationId } from "../../lib/ids.ts";
import { Slots } from "../../lib/slots.ts";
import { STEPS } from "./signals.ts";

/** Steps in a row: as many as one evaluation may take, so that a stretch is two of them at most. */
const STRETCH_STEPS = STEPS;

export class MainThread {
  #steps = 0;
  readonly #turns = new Slots(1);

  /** Work can be done at once. */
  get isFree(): boolean {
    return this.#steps < STRETCH_STEPS && !this.#turns.contended;
  }

  /** Counts work that was done. */
  charge(steps: number): void {
    this.#steps += steps;
  }

  /** Does `work` at once, or when the thread has been given back. */
  async run<Result>(organizationId: OrganizationId, work: () => Result | Promise<Result>): Promise<Result> {
    if (this.isFree) return work();
    await this.#turns.take(organizationId);
    let result: Result | Promise<Result>;
    try {
      while (this.#steps >= STRETCH_STEPS) {
        await new Promise(setImmediate);
        this.#steps = 0;
      }
      result = work();
    } finally {
      // What it goes on with elsewhere is no part of the turn.
      this.#turns.release(organizationId);
    }
    return result;
  }
}
