/**
 * A queue of groups that take turns by bytes: next comes the group that has had the fewest. A group that sends 60 MB at once then
 * waits for as many bytes of the others, however they are divided (start-time fair queueing, Goyal 1996).
 */
import { Fifo } from "./fifo.ts";

type Entry<Item> = { item: Item; bytes: number };
/** `at`: where in the common count of bytes its next turn begins. */
type Line<Item> = { entries: Fifo<Entry<Item>>; at: number };

export class FairByteQueue<Group, Item> {
  size = 0;
  /** Where the last turn began in that count. */
  #now = 0;
  /** Includes groups that have had more than others and wait for nothing. */
  readonly #lines = new Map<Group, Line<Item>>();

  add(group: Group, item: Item, bytes: number): void {
    let line = this.#lines.get(group);
    if (!line) this.#lines.set(group, (line = { entries: new Fifo(), at: this.#now }));
    else if (line.entries.size === 0) line.at = Math.max(line.at, this.#now);
    line.entries.push({ item, bytes });
    this.size++;
  }

  /** How many of a group wait. */
  sizeOf(group: Group): number {
    return this.#lines.get(group)?.entries.size ?? 0;
  }

  /** The next group's first items, at most this many bytes but at least one item. Undefined: no group that `may` waits. */
  take(mostBytes: number, may: (group: Group) => boolean): { group: Group; items: Item[]; bytes: number } | undefined {
    const next = this.#next(may);
    if (!next) return undefined;
    const { group, line } = next;
    const items: Item[] = [];
    let taken = 0;
    for (let first = line.entries.first; first; first = line.entries.first) {
      if (items.length > 0 && taken + first.bytes > mostBytes) break;
      line.entries.shift();
      items.push(first.item);
      taken += first.bytes;
    }
    this.size -= items.length;
    this.#now = Math.max(this.#now, line.at);
    line.at = this.#now + taken;
    return { group, items, bytes: taken };
  }

  #next(may: (group: Group) => boolean): { group: Group; line: Line<Item> } | undefined {
    let least: { group: Group; line: Line<Item> } | undefined;
    for (const [group, line] of this.#lines) {
      if (line.entries.size === 0) {
        if (line.at <= this.#now) this.#lines.delete(group);
      } else if ((!least || line.at < least.line.at) && may(group)) least = { group, line };
    }
    return least;
  }
}
