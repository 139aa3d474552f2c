/** Which of many is the largest, while their sizes change: a binary heap in which each knows its place. */
export type Sized = { size: number; place: number };

export class Largest<Item extends Sized> {
  readonly #items: Item[] = [];

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
    this.moved(last);
  }

  /** Its size changed. */
  moved(item: Item): void {
    for (let above = parentOf(item); above >= 0 && this.#items[above]!.size < item.size; above = parentOf(item))
      this.#swap(item, above);
    for (let below = this.#largerChild(item); below !== undefined; below = this.#largerChild(item))
      this.#swap(item, below);
  }

  /** Undefined: none is larger than itself. */
  #largerChild({ place, size }: Item): number | undefined {
    const [left, right] = [2 * place + 1, 2 * place + 2];
    const child = (this.#items[right]?.size ?? -1) > (this.#items[left]?.size ?? -1) ? right : left;
    return (this.#items[child]?.size ?? -1) > size ? child : undefined;
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

/** Negative for the first. */
const parentOf = ({ place }: Sized): number => Math.ceil(place / 2) - 1;
