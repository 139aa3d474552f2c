/** Its position, which only the roll writes. */
export type Entry = { place: number };

/**
 * The work under way, in no order, to be looked at from time to time. Every request joins and leaves. An array, because the
 * tables that a Set or a Map discards keep their former contents until the next major collection.
 */
export class Roll<Item extends Entry> implements Iterable<Item> {
  readonly #items: Item[] = [];

  add(item: Item): void {
    item.place = this.#items.push(item) - 1;
  }

  /** Whether it was still there. */
  delete(item: Item): boolean {
    if (this.#items[item.place] !== item) return false;
    const last = this.#items.pop()!;
    if (last === item) return true;
    this.#items[item.place] = last;
    last.place = item.place;
    return true;
  }

  /** The current item may leave during iteration. */
  *[Symbol.iterator](): Generator<Item, void, void> {
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const item = this.#items[at];
      if (item) yield item;
    }
  }
}
