/**
 * Group commit: everything added in one tick of the event loop becomes one write, so that many callers share one
 * commit's fsync. Two writes are in flight at most; while they are, items gather for the next.
 */
import { LIMITS } from "../lib/limits.ts";
import { isDeadlock, isUnavailable } from "./pg-errors.ts";

export type BatchOptions<Item, Result> = {
  /** Writes all or none, and answers in the order of the items. May be called again with items of a failed write. */
  write: (items: Item[]) => Promise<Result[]>;
  /** Rows are sorted by it, so that two writes lock rows in the same order. */
  id: (item: Item) => string;
  bytes: (item: Item) => number;
  /** Writes in flight at most; 2 when left out. */
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
/** A further write is begun only for so many: one that starts for the first item that comes along leaves the rest behind it. */
const WORTH_A_WRITE = 4;
const DEADLOCK_REPEATS = 3;

export class Batch<Item, Result> {
  readonly #options: BatchOptions<Item, Result>;
  readonly #most: number;
  #waiting: Entry<Item, Result>[] = [];
  #inFlight = 0;
  #scheduled = false;

  constructor(options: BatchOptions<Item, Result>) {
    this.#options = options;
    this.#most = options.inFlight ?? IN_FLIGHT;
  }

  /** Resolves when the write that has the item is committed; rejects with the item's own error. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, id: this.#options.id(item), bytes: this.#options.bytes(item), resolve, reject });
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
    return this.#inFlight < this.#most && this.#waiting.length >= (this.#inFlight === 0 ? 1 : WORTH_A_WRITE);
  }

  /** The longest head of the queue within both limits, at least one item. */
  #take(): Entry<Item, Result>[] {
    let bytes = 0;
    let count = 0;
    for (const entry of this.#waiting) {
      bytes += entry.bytes;
      if (count > 0 && (count === LIMITS.batchRows || bytes > LIMITS.batchBytes)) break;
      count++;
    }
    return this.#waiting.splice(0, count).toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  }

  async #flush(entries: Entry<Item, Result>[]): Promise<void> {
    this.#inFlight++;
    try {
      const results = await this.#options.write(entries.map((entry) => entry.item));
      entries.forEach((entry, index) => entry.resolve(results[index]!));
    } catch (error) {
      await this.#oneByOne(entries, error);
    } finally {
      this.#inFlight--;
      this.#schedule();
    }
  }

  /** Repeats a failed write item by item. Once the database is gone the rest is not tried: each would wait for a timeout. */
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
