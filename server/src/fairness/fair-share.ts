/**
 * A fair share of bytes, or of another amount: how much may be held at once, and by whom. An organization may hold as much as it
 * leaves free: one alone half of all, n of them an equal n+1th each. So whatever the others hold, the next one finds an equal part
 * free, for any number of organizations and with no share to set (Choudhury and Hahne's dynamic threshold for switches).
 */
import type { OrganizationId } from "../lib/ids.ts";

/** Undefined: strangers, who count as one organization. */
type Organization = OrganizationId | undefined;

export class FairShare {
  readonly total: number;
  #free: number;
  readonly #taken = new Map<Organization, number>();

  constructor(total: number) {
    this.total = total;
    this.#free = total;
  }

  /** Left for all together; below zero if they hold more than the total. */
  get free(): number {
    return this.#free;
  }

  /** Taken by all together. */
  get taken(): number {
    return this.total - this.#free;
  }

  /** Taken by one organization. */
  takenBy(organizationId: Organization): number {
    return this.#taken.get(organizationId) ?? 0;
  }

  /** Whether the organization may have this much more. */
  has(organizationId: Organization, amount: number): boolean {
    return this.takenBy(organizationId) + amount <= this.#free - amount;
  }

  /** The organizations that hold some and may not have one more. */
  full(): OrganizationId[] {
    return Array.from(this.#taken.keys()).flatMap((id) => (id === undefined || this.has(id, 1) ? [] : [id]));
  }

  tryTake(organizationId: Organization, amount: number): boolean {
    const has = this.has(organizationId, amount);
    if (has) this.take(organizationId, amount);
    return has;
  }

  /** For what is already held: it counts even beyond the total, and others wait for it. */
  take(organizationId: Organization, amount: number): void {
    this.#free -= amount;
    this.#taken.set(organizationId, this.takenBy(organizationId) + amount);
  }

  give(organizationId: Organization, amount: number): void {
    this.#free += amount;
    const left = this.takenBy(organizationId) - amount;
    if (left > 0) this.#taken.set(organizationId, left);
    else this.#taken.delete(organizationId);
  }
}
