/**
 * A fair share of a count: limits how much is done at once. Organizations take turns, whatever each has queued, and none has
 * more than its share of the slots, so that nobody waits for another's long work.
 */
import type { OrganizationId } from "../lib/ids.ts";
import { FairQueue } from "./fair-queue.ts";

type Organization = OrganizationId | undefined;
type Waiting = { organizationId: Organization; granted: () => void };

export class Slots {
  #free: number;
  readonly #all: number;
  readonly #most: number;
  readonly #taken = new Map<Organization, number>();
  readonly #queue = new FairQueue<Organization, Waiting>();

  /** `mostShare`: one organization's maximum share. */
  constructor(slots: number, mostShare = 1) {
    this.#free = slots;
    this.#all = slots;
    this.#most = Math.ceil(slots * mostShare);
  }

  get free(): number {
    return this.#free;
  }

  /** How many an organization may have besides its own, while they are free. */
  leftOf(organizationId: Organization): number {
    return this.#most - (this.#taken.get(organizationId) ?? 0);
  }

  /** Whether somebody waits for a slot. */
  get contended(): boolean {
    return this.#queue.size > 0;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** How many of an organization wait. */
  waitingOf(organizationId: Organization): number {
    return this.#queue.sizeOf(organizationId);
  }

  /** About how many slots each organization that waits has at a time. */
  get shareOfEach(): number {
    return Math.min(this.#most, this.#all / Math.max(1, this.#queue.groups));
  }

  /** A slot at once, or none. */
  tryTake(organizationId: Organization): boolean {
    if (this.#free === 0 || this.#queue.sizeOf(organizationId) > 0 || !this.#mayTake(organizationId)) return false;
    this.#take(organizationId);
    return true;
  }

  /** Does `work` with a slot, in the organization's turn. */
  async run<Result>(organizationId: Organization, work: () => Promise<Result>): Promise<Result> {
    await this.take(organizationId);
    try {
      return await work();
    } finally {
      this.release(organizationId);
    }
  }

  /** Resolves with a slot; without one when `signal` aborts first. */
  take(organizationId: Organization, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false);
    if (this.tryTake(organizationId)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const granted = (): void => {
        signal?.removeEventListener("abort", aborted);
        resolve(true);
      };
      const aborted = (): void => {
        this.#queue.delete(organizationId, waiting);
        resolve(false);
      };
      const waiting = { organizationId, granted };
      this.#queue.add(organizationId, waiting);
      signal?.addEventListener("abort", aborted);
    });
  }

  release(organizationId: Organization): void {
    this.#free++;
    const left = this.#taken.get(organizationId)! - 1;
    if (left === 0) this.#taken.delete(organizationId);
    else this.#taken.set(organizationId, left);
    const next = this.#queue.take(this.#mayTake);
    if (!next) return;
    this.#take(next.organizationId);
    next.granted();
  }

  readonly #mayTake = (organizationId: Organization): boolean => this.leftOf(organizationId) > 0;

  #take(organizationId: Organization): void {
    this.#free--;
    this.#taken.set(organizationId, (this.#taken.get(organizationId) ?? 0) + 1);
  }
}
