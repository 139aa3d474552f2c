/**
 * Definitions that are being read: one of the largest takes 200 ms of the thread in slices, and ten times its text in memory. So
 * an organization has one at a time, however many it sends or lists, and a bounded number that wait.
 */
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Slots } from "../fairness/slots.ts";

const READ_AT_ONCE = 8;

export class Reading {
  readonly #slots = new Slots(READ_AT_ONCE, 1 / READ_AT_ONCE);

  /**
   * Does `work` in the organization's turn. Throws UNAVAILABLE when too many wait, and the signal's reason when nobody waits for it any
   * longer.
   */
  async run<Result>(
    organizationId: OrganizationId,
    work: () => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    signal?.throwIfAborted();
    if (!this.#slots.tryTake(organizationId)) {
      this.#checkWaiting(organizationId);
      if (!(await this.#slots.take(organizationId, signal))) throw signal!.reason;
    }
    try {
      return await work();
    } finally {
      this.#slots.release(organizationId);
    }
  }

  #checkWaiting(organizationId: OrganizationId): void {
    const { definitionsWaiting: most, definitionsWaitingOwn: mostOwn } = LIMITS;
    if (this.#slots.waitingOf(organizationId) < mostOwn && this.#slots.waiting < most) return;
    const message = `too many definitions wait to be read (${most} may, ${mostOwn} of one organization): try again in a moment`;
    throw new Refusal("UNAVAILABLE", message, { retryAfter: 1 });
  }
}
