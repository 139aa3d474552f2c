/**
 * Limits how much is done at once: organizations take turns, whatever each has queued, and none has more than its share
 * of the slots, so that nobody waits for another's long work.
 */
import type { OrganizationId } from "../lib/ids.ts";

type Organization = OrganizationId | undefined;

export class Slots {
  #free: number;
  readonly #all: number;
  readonly #most: number;
  readonly #taken = new Map<Organization, number>();
  #waiting = 0;
  /** In the order of the organizations' turns. */
  readonly #queues = new Map<Organization, (() => void)[]>();

  /** `mostShare`: one organization's maximum share. */
  constructor(slots: number, mostShare = 1) {
    this.#free = slots;
    this.#all = slots;
    this.#most = Math.ceil(slots * mostShare);
  }

  /** Whether somebody waits for a slot. */
  get contended(): boolean {
    return this.#queues.size > 0;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many of an organization wait. */
  waitingOf(organizationId: Organization): number {
    return this.#queues.get(organizationId)?.length ?? 0;
  }

  /** About how many slots each organization that waits has at a time. */
  get shareOfEach(): number {
    return Math.min(this.#most, this.#all / Math.max(1, this.#queues.size));
  }

  /** A slot at once, or none. */
  tryTake(organizationId: Organization): boolean {
    if (this.#free === 0 || this.#queues.has(organizationId) || !this.#mayTake(organizationId)) return false;
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
      const queue = this.#queues.get(organizationId) ?? [];
      this.#queues.set(organizationId, queue);
      const granted = (): void => {
        signal?.removeEventListener("abort", aborted);
        resolve(true);
      };
      const aborted = (): void => {
        queue.splice(queue.indexOf(granted), 1);
        if (queue.length === 0) this.#queues.delete(organizationId);
        this.#waiting--;
        resolve(false);
      };
      queue.push(granted);
      this.#waiting++;
      signal?.addEventListener("abort", aborted);
    });
  }

  release(organizationId: Organization): void {
    this.#free++;
    const left = this.#taken.get(organizationId)! - 1;
    if (left === 0) this.#taken.delete(organizationId);
    else this.#taken.set(organizationId, left);
    for (const [next, queue] of this.#queues) {
      if (!this.#mayTake(next)) continue;
      // To the end of the round; gone when nothing of it is left.
      this.#queues.delete(next);
      this.#take(next);
      const granted = queue.shift()!;
      this.#waiting--;
      if (queue.length > 0) this.#queues.set(next, queue);
      granted();
      return;
    }
  }

  #mayTake(organizationId: Organization): boolean {
    return (this.#taken.get(organizationId) ?? 0) < this.#most;
  }

  #take(organizationId: Organization): void {
    this.#free--;
    this.#taken.set(organizationId, (this.#taken.get(organizationId) ?? 0) + 1);
  }
}
