/**
 * Places in memory for runs, and who may have the next one. A run with a call in flight can't be evicted, so each
 * organization has a few places that nobody else can take: its first runs never wait for another's calls, for any number
 * of organizations. The rest is shared: an organization may have a fixed number for each place that stays free (Choudhury
 * and Hahne's dynamic threshold). One alone has nearly all; the next ones share what it leaves, and more as its runs end.
 *
 * Nothing queues here. A run that finds no place stays in the table; its organization waits for its turn.
 */
import type { OrganizationId } from "../lib/ids.ts";

/** Shared places that an organization may have for each free one: one organization alone gets nine tenths. */
const TAKEN_FOR_EACH_FREE = 9;

export class Places {
  /** Called when a waiting organization may have a place again. */
  freed: (() => void) | undefined;
  readonly #own: number;
  #all = 0;
  /** Free shared places; below zero if more are taken than exist. */
  #free: number;
  readonly #taken = new Map<OrganizationId, number>();
  /** Organizations with due runs that found no place. */
  readonly #waiting = new Set<OrganizationId>();

  constructor({ shared, own }: { shared: number; own: number }) {
    this.#free = shared;
    this.#own = own;
  }

  /** How many places the organization may take now. */
  room(organizationId: OrganizationId): number {
    const taken = this.#taken.get(organizationId) ?? 0;
    const shared = Math.max(0, taken - this.#own);
    // The number that may be taken one after the other while the free ones allow it.
    const more = Math.ceil((TAKEN_FOR_EACH_FREE * this.#free - shared) / (TAKEN_FOR_EACH_FREE + 1));
    return Math.max(0, this.#own - taken) + Math.max(0, more);
  }

  /** A place for a new run, which may not overtake waiting runs of its organization. */
  tryTake(organizationId: OrganizationId): boolean {
    if (this.#waiting.has(organizationId) || this.room(organizationId) === 0) return false;
    this.take(organizationId);
    return true;
  }

  /** A place for a run that waited; after that, others come first. */
  tryTakeWaiting(organizationId: OrganizationId): boolean {
    if (this.room(organizationId) === 0) return false;
    this.take(organizationId);
    if (this.#waiting.delete(organizationId)) this.#waiting.add(organizationId);
    return true;
  }

  /** Takes a place even if none is free: for a run that was in memory before and must be again. */
  take(organizationId: OrganizationId): void {
    const taken = this.#taken.get(organizationId) ?? 0;
    if (taken >= this.#own) this.#free--;
    this.#taken.set(organizationId, taken + 1);
    this.#all++;
  }

  release(organizationId: OrganizationId): void {
    const taken = this.#taken.get(organizationId)!;
    this.#all--;
    if (taken > this.#own) this.#free++;
    if (taken === 1) this.#taken.delete(organizationId);
    else this.#taken.set(organizationId, taken - 1);
    if (this.#waiting.size > 0) this.freed?.();
  }

  /** The organization has due runs without a place. */
  wait(organizationId: OrganizationId): void {
    this.#waiting.add(organizationId);
  }

  /** It no longer has any. */
  leave(organizationId: OrganizationId): void {
    this.#waiting.delete(organizationId);
  }

  /** How many are taken. */
  get taken(): number {
    return this.#all;
  }

  /** How many organizations wait for one. */
  get waiting(): number {
    return this.#waiting.size;
  }

  get someWait(): boolean {
    return this.#waiting.size > 0;
  }

  /** Waiting organizations that may have places now, and how many, in the order of their turns. */
  turns(): { organizationId: OrganizationId; room: number }[] {
    const turns = Array.from(this.#waiting, (organizationId) => ({ organizationId, room: this.room(organizationId) }));
    return turns.filter(({ room }) => room > 0);
  }

  /** Whether a place of this organization is of use to others, its own runs among them. */
  contended(organizationId: OrganizationId): boolean {
    if (this.#waiting.size === 0) return false;
    return this.#waiting.has(organizationId) || (this.#taken.get(organizationId) ?? 0) > this.#own;
  }
}
