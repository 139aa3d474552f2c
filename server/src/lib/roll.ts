/** Where it stands, which only the roll writes. */
export type Entry = { place: number };

/**
 * What is under way, looked at from time to time, in no order. Every request joins and leaves: an array for it, as the tables
 * that a Set or a Map leaves behind keep what was in them until the next major collection.
 */
export class Roll<Item extends Entry> implements Iterable<Item> {
  readonly #items: Item[] = [];

  add(item: Item): void {
    item.place = this.#items.push(item) - 1;
  }

  /** Nothing when it has left already. */
  delete(item: Item): void {
    if (this.#items[item.place] !== item) return;
    const last = this.#items.pop()!;
    if (last === item) return;
    this.#items[item.place] = last;
    last.place = item.place;
  }

  /** The one that is looked at may leave. */
  *[Symbol.iterator](): Generator<Item, void, void> {
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const item = this.#items[at];
      if (item) yield item;
    }
  }
}
