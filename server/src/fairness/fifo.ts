/** First in, first out. An array that is shifted would move all that is left, once it has some 16,000 entries. */
type Entry<Item> = { item: Item; next?: Entry<Item> };

export class Fifo<Item> {
  size = 0;
  #first: Entry<Item> | undefined;
  #last: Entry<Item> | undefined;

  /** The one that waits longest. */
  get first(): Item | undefined {
    return this.#first?.item;
  }

  push(item: Item): void {
    const entry = { item };
    if (this.#last) this.#last.next = entry;
    else this.#first = entry;
    this.#last = entry;
    this.size++;
  }

  shift(): Item | undefined {
    const first = this.#first;
    if (!first) return undefined;
    this.#first = first.next;
    if (!first.next) this.#last = undefined;
    this.size--;
    return first.item;
  }
}
