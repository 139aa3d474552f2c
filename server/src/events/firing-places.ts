import { FairShare } from "../fairness/fair-share.ts";
import { Slots } from "../fairness/slots.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";

/** Which events are held in memory while they fire, each with what its data takes there. Without a place, one waits in its table. */
export class FiringPlaces {
  readonly #slots = new Slots(LIMITS.eventsFiring, LIMITS.eventsFiringOwn / LIMITS.eventsFiring);
  readonly #budget = new FairShare(LIMITS.eventsFiringBytes);

  tryTake(organizationId: OrganizationId, bytes: number): boolean {
    if (!this.#budget.has(organizationId, bytes) || !this.#slots.tryTake(organizationId)) return false;
    this.#budget.take(organizationId, bytes);
    return true;
  }

  release(organizationId: OrganizationId, bytes: number): void {
    this.#budget.give(organizationId, bytes);
    this.#slots.release(organizationId);
  }
}
