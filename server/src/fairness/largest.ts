/**
 * Finds the largest of many while their sizes change: a binary heap in which each knows its place. Of equals it is the one that
 * has had its size longest, so that those who have least take turns at being the largest.
 */
export type Sized = { size: number; place: number; since: number };

/** For a new one. */
export const unplaced = { size: 0, place: -1, since: 0 };

export class Largest<Item extends Sized> {
  readonly #items: Item[] = [];
  /** Numbers the changes of sizes. */
  #changes = 0;

  /** Undefined: there is none. */
  get first(): Item | undefined {
    return this.#items[0];
  }

  add(item: Item): void {
    this.#put(item, this.#items.length);
    this.moved(item);
  }

  delete(item: Item): void {
    const last = this.#items.pop()!;
    if (last === item) return;
    this.#put(last, item.place);
    this.#settle(last);
  }

  /** Its size changed. */
  moved(item: Item): void {
    item.since = ++this.#changes;
    this.#settle(item);
  }

  #settle(item: Item): void {
    for (let above = parentOf(item); above >= 0 && isBefore(item, this.#items[above]!); above = parentOf(item))
      this.#swap(item, above);
    for (let below = this.#childBefore(item); below; below = this.#childBefore(item)) this.#swap(item, below.place);
  }

  /** Undefined: it comes before both. */
  #childBefore(item: Item): Item | undefined {
    const [left, right] = [this.#items[2 * item.place + 1], this.#items[2 * item.place + 2]];
    const child = left && right && isBefore(right, left) ? right : left;
    return child && isBefore(child, item) ? child : undefined;
  }

  #swap(item: Item, place: number): void {
    const other = this.#items[place]!;
    this.#put(other, item.place);
    this.#put(item, place);
  }

  #put(item: Item, place: number): void {
    this.#items[place] = item;
    item.place = place;
  }
}

const isBefore = (one: Sized, other: Sized): boolean =>
  one.size > other.size || (one.size === other.size && one.since < other.since);

/** Negative for the first. */
const parentOf = ({ place }: Sized): number => Math.ceil(place / 2) - 1;
