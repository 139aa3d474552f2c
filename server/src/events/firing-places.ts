import { FairShare } from "../fairness/fair-share.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";

/** Which events are held in memory while they fire, each with what its data takes there. Without a place, one waits in its table. */
export class FiringPlaces {
  #taken = 0;
  readonly #own = new Map<OrganizationId, number>();
  readonly #budget = new FairShare(LIMITS.eventsFiringBytes);

  tryTake(organizationId: OrganizationId, bytes: number): boolean {
    const own = this.#own.get(organizationId) ?? 0;
    if (this.#taken >= LIMITS.eventsFiring || own >= LIMITS.eventsFiringOwn) return false;
    if (!this.#budget.tryTake(organizationId, bytes)) return false;
    this.#own.set(organizationId, own + 1);
    this.#taken++;
    return true;
  }

  release(organizationId: OrganizationId, bytes: number): void {
    const own = this.#own.get(organizationId)! - 1;
    if (own === 0) this.#own.delete(organizationId);
    else this.#own.set(organizationId, own);
    this.#budget.give(organizationId, bytes);
    this.#taken--;
  }
}
