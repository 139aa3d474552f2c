/**
 * Starting a process copies the page tables of this one, which holds the thread for about 10 ms for each 100 MB. So starts follow
 * each other in turns of organizations, and take a tenth of the thread at most.
 */
import { Slots } from "../../../fairness/slots.ts";
import type { OrganizationId } from "../../../lib/ids.ts";

const SHARE = 1 / 10;

export class Starts {
  readonly #slot = new Slots(1);

  /** Resolves when it is the organization's turn; false if the signal aborts first. After true, `start` must follow. */
  take(organizationId: OrganizationId, signal: AbortSignal): Promise<boolean> {
    return this.#slot.take(organizationId, signal);
  }

  start<Started>(organizationId: OrganizationId, work: () => Started): Started {
    const begunAt = performance.now();
    try {
      return work();
    } finally {
      const tookMs = performance.now() - begunAt;
      setTimeout(() => this.#slot.release(organizationId), tookMs * (1 / SHARE - 1)).unref();
    }
  }
}
