/**
 * Group commit: everything added in one tick of the event loop becomes one write, so that many callers share one
 * commit's fsync. At most two writes are in flight; meanwhile items gather for the next one, in which organizations take
 * turns: a single item gets into the next write even behind another's thousand.
 */
import { Histogram } from "../lib/figures.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { isDeadlock, isUnavailable } from "./pg-errors.ts";

type BatchOptions<Item, Result> = {
  /** Writes all or none, and returns results in the order of the items. May be called again with items of a failed write. */
  write: (items: Item[]) => Promise<Result[]>;
  /** Sort key of the rows, so that two writes lock rows in the same order. */
  id: (item: Item) => string;
  /** The organization whose turn it takes. */
  organizationId: (item: Item) => OrganizationId;
  bytes: (item: Item) => number;
  /** Maximum of writes in flight; 2 if left out. */
  inFlight?: number;
};

type Entry<Item, Result> = {
  item: Item;
  id: string;
  bytes: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

const IN_FLIGHT = 2;
/** A second write begins only for this many: one that began for the first item to arrive would leave the rest behind. */
const WORTH_A_WRITE = 4;
const DEADLOCK_REPEATS = 3;

export class Batch<Item, Result> {
  /** How many items a write has, and how long it takes. */
  readonly figures = { rows: Histogram.ofRows(), seconds: Histogram.ofSeconds() };
  readonly #options: BatchOptions<Item, Result>;
  readonly #most: number;
  /** In the order of their turns. */
  readonly #queues = new Map<OrganizationId, Entry<Item, Result>[]>();
  #waiting = 0;
  #inFlight = 0;
  #scheduled = false;

  constructor(options: BatchOptions<Item, Result>) {
    this.#options = options;
    this.#most = options.inFlight ?? IN_FLIGHT;
  }

  /** How many items wait for a write. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when the write that has the item is committed; rejects with the item's own error. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { id, bytes, organizationId } = this.#options;
      const entry = { item, id: id(item), bytes: bytes(item), resolve, reject };
      const queue = this.#queues.get(organizationId(item));
      if (queue) queue.push(entry);
      else this.#queues.set(organizationId(item), [entry]);
      this.#waiting++;
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || !this.#isWorthAWrite()) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#isWorthAWrite()) void this.#flush(this.#take());
    });
  }

  #isWorthAWrite(): boolean {
    return this.#inFlight < this.#most && this.#waiting >= (this.#inFlight === 0 ? 1 : WORTH_A_WRITE);
  }

  /** The first of each organization, then the second of each, and so on within both limits; at least one item. */
  #take(): Entry<Item, Result>[] {
    const taken: Entry<Item, Result>[] = [];
    let bytes = 0;
    // A map's iteration reaches entries appended meanwhile: round after round.
    for (const [organizationId, queue] of this.#queues) {
      bytes += queue[0]!.bytes;
      if (taken.length > 0 && (taken.length === LIMITS.batchRows || bytes > LIMITS.batchBytes)) break;
      taken.push(queue.shift()!);
      this.#queues.delete(organizationId);
      if (queue.length > 0) this.#queues.set(organizationId, queue);
    }
    this.#waiting -= taken.length;
    return taken.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  }

  async #flush(entries: Entry<Item, Result>[]): Promise<void> {
    this.#inFlight++;
    const begunAt = performance.now();
    try {
      const results = await this.#options.write(entries.map((entry) => entry.item));
      this.figures.rows.observe(entries.length);
      this.figures.seconds.since(begunAt);
      entries.forEach((entry, index) => entry.resolve(results[index]!));
    } catch (error) {
      await this.#oneByOne(entries, error);
    } finally {
      this.#inFlight--;
      this.#schedule();
    }
  }

  /** Repeats a failed write item by item. Skips the rest once the database is gone: each would wait for a timeout. */
  async #oneByOne(entries: Entry<Item, Result>[], first: unknown): Promise<void> {
    let gone = entries.length === 1 && !isDeadlock(first) ? { error: first } : undefined;
    for (const entry of entries) {
      if (gone) {
        entry.reject(gone.error);
        continue;
      }
      try {
        entry.resolve(await this.#alone(entry.item));
      } catch (error) {
        entry.reject(error);
        if (isUnavailable(error)) gone = { error };
      }
    }
  }

  async #alone(item: Item, repeats = DEADLOCK_REPEATS): Promise<Result> {
    try {
      return (await this.#options.write([item]))[0]!;
    } catch (error) {
      if (repeats > 1 && isDeadlock(error)) return this.#alone(item, repeats - 1);
      throw error;
    }
  }
}
