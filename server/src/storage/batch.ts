/**
 * Group commit: everything added in a few ticks of the event loop becomes one write, so that many callers share one
 * commit's fsync. At most two writes are in flight; meanwhile items gather for the next one, in which organizations take
 * turns: a single item gets into the next write even behind another's thousand.
 *
 * Large items have a lane of their own, so that small ones never wait for them. There each write belongs to one
 * organization, which has one in flight at a time, and organizations take turns by bytes.
 */
import { Histogram } from "../lib/figures.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { FairByteQueue } from "../fairness/fair-byte-queue.ts";
import { FairQueue } from "../fairness/fair-queue.ts";
import { isDeadlock, isUnavailable } from "./pg-errors.ts";

/** Which of the two an item goes through. */
export type WriteLane = "small" | "large";

type BatchOptions<Item, Result> = {
  /** Writes all or none, and returns results in the order of the items. May be called again with items of a failed write. */
  write: (items: Item[], lane: WriteLane) => Promise<Result[]>;
  /** Sort key of the rows, so that two writes lock rows in the same order. */
  id: (item: Item) => string;
  /** The organization whose turn it takes. */
  organizationId: (item: Item) => OrganizationId;
  bytes: (item: Item) => number;
  /** Maximum of small writes in flight; 2 if left out. */
  inFlight?: number;
  /** Maximum of items in a write; `LIMITS.batchRows` if left out. */
  rows?: number;
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
/**
 * A write waits for so many ticks of the event loop while each brings another item: few full statements cost less than many
 * (docs/decisions/0007). An item that comes alone waits for none.
 */
const MAX_TICKS = 3;
const DEADLOCK_REPEATS = 3;

export class Batch<Item, Result> {
  /** How many items a write has, and how long it takes. */
  readonly figures = { rows: Histogram.ofRows(), seconds: Histogram.ofSeconds() };
  readonly #options: BatchOptions<Item, Result>;
  readonly #most: number;
  readonly #rows: number;
  readonly #small = new FairQueue<OrganizationId, Entry<Item, Result>>();
  #inFlight = 0;
  readonly #large = new FairByteQueue<OrganizationId, Entry<Item, Result>>();
  /** Organizations with a large write in flight. */
  readonly #writing = new Set<OrganizationId>();
  #scheduled = false;

  constructor(options: BatchOptions<Item, Result>) {
    this.#options = options;
    this.#most = options.inFlight ?? IN_FLIGHT;
    this.#rows = options.rows ?? LIMITS.batchRows;
  }

  /** How many items wait for a write. */
  get waiting(): number {
    return this.#small.size + this.#large.size;
  }

  /** Resolves when the write that has the item is committed; rejects with the item's own error. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { id, bytes, organizationId } = this.#options;
      const entry = { item, id: id(item), bytes: bytes(item), resolve, reject };
      const organization = organizationId(item);
      if (entry.bytes > LIMITS.largeWriteBytes) this.#large.add(organization, entry, entry.bytes);
      else this.#small.add(organization, entry);
      this.#schedule();
    });
  }

  #schedule(ticks = MAX_TICKS): void {
    if (this.#scheduled || !(this.#isWorthAWrite() || this.#mayWriteLarge())) return;
    this.#scheduled = true;
    const waiting = this.#small.size;
    setImmediate(() => {
      this.#scheduled = false;
      if (ticks > 1 && this.#small.size > waiting && this.#small.size < this.#rows) return this.#schedule(ticks - 1);
      while (this.#isWorthAWrite()) this.#flushSmall();
      while (this.#mayWriteLarge() && this.#flushLarge());
    });
  }

  #mayWriteLarge(): boolean {
    return this.#large.size > 0 && this.#writing.size < LIMITS.largeWrites;
  }

  #flushSmall(): void {
    this.#inFlight++;
    void this.#flush(this.#take(), "small", () => this.#inFlight--);
  }

  /** False: every organization that waits has a write in flight. */
  #flushLarge(): boolean {
    const next = this.#large.take(LIMITS.batchBytes, (organizationId) => !this.#writing.has(organizationId));
    if (!next) return false;
    this.#writing.add(next.group);
    void this.#flush(sorted(next.items), "large", () => this.#writing.delete(next.group));
    return true;
  }

  #isWorthAWrite(): boolean {
    return this.#inFlight < this.#most && this.#small.size >= (this.#inFlight === 0 ? 1 : WORTH_A_WRITE);
  }

  /** The first of each organization, then the second of each, and so on within both limits; at least one item. */
  #take(): Entry<Item, Result>[] {
    const taken: Entry<Item, Result>[] = [];
    let bytes = 0;
    for (let next = this.#small.first; next; next = this.#small.first) {
      bytes += next.bytes;
      if (taken.length > 0 && (taken.length === this.#rows || bytes > LIMITS.batchBytes)) break;
      taken.push(next);
      this.#small.take();
    }
    return sorted(taken);
  }

  /** `landed`: it is not in flight any longer. */
  async #flush(entries: Entry<Item, Result>[], lane: WriteLane, landed: () => void): Promise<void> {
    const begunAt = performance.now();
    try {
      const results = await this.#options.write(
        entries.map((entry) => entry.item),
        lane,
      );
      this.figures.rows.observe(entries.length);
      this.figures.seconds.since(begunAt);
      entries.forEach((entry, index) => entry.resolve(results[index]!));
    } catch (error) {
      await this.#oneByOne(entries, error, lane);
    } finally {
      landed();
      this.#schedule();
    }
  }

  /** Repeats a failed write item by item. Skips the rest once the database is gone: each would wait for a timeout. */
  async #oneByOne(entries: Entry<Item, Result>[], first: unknown, lane: WriteLane): Promise<void> {
    let gone = entries.length === 1 && !isDeadlock(first) ? { error: first } : undefined;
    for (const entry of entries) {
      if (gone) {
        entry.reject(gone.error);
        continue;
      }
      try {
        entry.resolve(await this.#alone(entry.item, lane));
      } catch (error) {
        entry.reject(error);
        if (isUnavailable(error)) gone = { error };
      }
    }
  }

  async #alone(item: Item, lane: WriteLane, repeats = DEADLOCK_REPEATS): Promise<Result> {
    try {
      return (await this.#options.write([item], lane))[0]!;
    } catch (error) {
      if (repeats > 1 && isDeadlock(error)) return this.#alone(item, lane, repeats - 1);
      throw error;
    }
  }
}

const sorted = <Item, Result>(entries: Entry<Item, Result>[]): Entry<Item, Result>[] =>
  entries.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
