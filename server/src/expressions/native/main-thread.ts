/**
 * Shares this thread among all evaluations: after a stretch of them, any organization's, others get it, so that a `switch`
 * with 2,000 cases, a hundred branches or a thousand concurrent runs do not hold it. Organizations take turns.
 */
import type { OrganizationId } from "../../lib/ids.ts";
import { Slots } from "../../fairness/slots.ts";
import { STEPS } from "./signals.ts";

/** Maximum steps in a row, the same as for one evaluation: a stretch is at most two evaluations. */
const STRETCH_STEPS = STEPS;

export class MainThread {
  #steps = 0;
  readonly #turns = new Slots(1);

  /** Work can be done at once. */
  get isFree(): boolean {
    return this.#steps < STRETCH_STEPS && !this.#turns.contended;
  }

  /** Counts finished work. */
  charge(steps: number): void {
    this.#steps += steps;
  }

  /** Does `work` at once, or after the thread has been given back. */
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
      // Work that it continues elsewhere is not part of the turn.
      this.#turns.release(organizationId);
    }
    return result;
  }
}
