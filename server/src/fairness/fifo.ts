/** First in, first out, as a linked list: shifting an array of some 16,000 entries would move all that are left. */
type Entry<Item> = { item: Item; next: Entry<Item> | undefined };

export class Fifo<Item> {
  size = 0;
  #first: Entry<Item> | undefined;
  #last: Entry<Item> | undefined;

  /** The one that waits longest. */
  get first(): Item | undefined {
    return this.#first?.item;
  }

  push(item: Item): void {
    const entry = { item, next: undefined };
    if (this.#last) this.#last.next = entry;
    else this.#first = entry;
    this.#last = entry;
    this.size++;
  }

  shift(): Item | undefined {
    const first = this.#first;
    if (!first) return undefined;
    this.#unlink(first, undefined);
    return first.item;
  }

  /** Removes the last one; walks all of them. */
  pop(): Item | undefined {
    let before: Entry<Item> | undefined;
    let last = this.#first;
    for (; last?.next; last = last.next) before = last;
    if (last) this.#unlink(last, before);
    return last?.item;
  }

  /** Removes the first of the next `depth` items that `accept` accepts. Returns whether there was one. */
  takeFirst(accept: (item: Item) => boolean, depth = Infinity): boolean {
    let before: Entry<Item> | undefined;
    let entry = this.#first;
    for (let looked = 0; entry && looked < depth; looked++) {
      if (accept(entry.item)) {
        this.#unlink(entry, before);
        return true;
      }
      before = entry;
      entry = entry.next;
    }
    return false;
  }

  #unlink(entry: Entry<Item>, before: Entry<Item> | undefined): void {
    if (before) before.next = entry.next;
    else this.#first = entry.next;
    if (this.#last === entry) this.#last = before;
    this.size--;
  }
}
