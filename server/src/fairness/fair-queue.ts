/** What waits, of groups that take turns: each turn takes one of the next group. */
import { Fifo } from "./fifo.ts";

export class FairQueue<Group, Item> {
  size = 0;
  /** In the order of their turns. */
  readonly #groups = new Map<Group, Fifo<Item>>();

  get groups(): number {
    return this.#groups.size;
  }

  sizeOf(group: Group): number {
    return this.#groups.get(group)?.size ?? 0;
  }

  add(group: Group, item: Item): void {
    let line = this.#groups.get(group);
    if (!line) this.#groups.set(group, (line = new Fifo()));
    line.push(item);
    this.size++;
  }

  take(): Item | undefined {
    for (const [group, line] of this.#groups) {
      // To the end, behind all others; gone when nothing of it is left.
      this.#groups.delete(group);
      const item = line.shift();
      if (line.size > 0) this.#groups.set(group, line);
      this.size--;
      return item;
    }
    return undefined;
  }
}
