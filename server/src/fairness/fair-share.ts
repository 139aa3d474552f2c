/**
 * How many bytes may be held at once, and by whom. An organization may hold as much as it leaves free: one alone half of
 * all, n of them an equal n+1th each. So whatever the others hold, the next one finds an equal part free, for any number
 * of organizations and with no share to set (Choudhury and Hahne's dynamic threshold for switches).
 */
import type { OrganizationId } from "../lib/ids.ts";

/** Undefined: strangers, who count as one organization. */
type Organization = OrganizationId | undefined;

export class FairShare {
  readonly bytes: number;
  #free: number;
  readonly #taken = new Map<Organization, number>();

  constructor(bytes: number) {
    this.bytes = bytes;
    this.#free = bytes;
  }

  /** Bytes taken by all together. */
  get taken(): number {
    return this.bytes - this.#free;
  }

  /** Bytes taken by one organization. */
  takenBy(organizationId: Organization): number {
    return this.#taken.get(organizationId) ?? 0;
  }

  /** Whether the organization may have this many more bytes. */
  has(organizationId: Organization, bytes: number): boolean {
    return this.takenBy(organizationId) + bytes <= this.#free - bytes;
  }

  tryTake(organizationId: Organization, bytes: number): boolean {
    const has = this.has(organizationId, bytes);
    if (has) this.take(organizationId, bytes);
    return has;
  }

  /** For bytes already held: they count even over the budget, and others wait for them. */
  take(organizationId: Organization, bytes: number): void {
    this.#free -= bytes;
    this.#taken.set(organizationId, this.takenBy(organizationId) + bytes);
  }

  give(organizationId: Organization, bytes: number): void {
    this.#free += bytes;
    const left = this.takenBy(organizationId) - bytes;
    if (left > 0) this.#taken.set(organizationId, left);
    else this.#taken.delete(organizationId);
  }
}
