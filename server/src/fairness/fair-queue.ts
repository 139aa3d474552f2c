/**
 * A queue in which groups take turns: each turn takes one item of the next group, so an item waits behind one of each other
 * group, however many those have queued. It may be bounded, in total and per group. Every operation costs the same for any
 * number of items and groups, unless its comment says otherwise.
 */
import { Fifo } from "./fifo.ts";

/** A group's items, and its neighbours in the order of turns. */
class Line<Group, Item> extends Fifo<Item> {
  readonly group: Group;
  before: Line<Group, Item> | undefined;
  after: Line<Group, Item> | undefined;

  constructor(group: Group) {
    super();
    this.group = group;
  }
}

export class FairQueue<Group, Item> {
  size = 0;
  readonly #most: number;
  readonly #mostPerGroup: number;
  readonly #lines = new Map<Group, Line<Group, Item>>();
  #next: Line<Group, Item> | undefined;
  #last: Line<Group, Item> | undefined;

  constructor(most = Infinity, mostPerGroup = Infinity) {
    this.#most = most;
    this.#mostPerGroup = mostPerGroup;
  }

  get groups(): number {
    return this.#lines.size;
  }

  sizeOf(group: Group): number {
    return this.#lines.get(group)?.size ?? 0;
  }

  /** The item that `take` would take. */
  get first(): Item | undefined {
    return this.#next?.first;
  }

  /**
   * Returns what finds no place in a bounded queue: the new item or, if another group has more, the last item of the longest
   * group. A full queue walks its groups to find it, and the items of the longest.
   */
  add(group: Group, item: Item): Item | undefined {
    let line = this.#lines.get(group);
    if (line && line.size >= this.#mostPerGroup) return item;
    let displaced: Item | undefined;
    if (this.size >= this.#most) {
      const longest = this.#longest();
      if (!longest || longest.size <= (line?.size ?? 0) + 1) return item;
      displaced = longest.pop();
      this.size--;
    }
    if (!line) this.#lines.set(group, (line = this.#append(new Line(group))));
    line.push(item);
    this.size++;
    return displaced;
  }

  /** Takes the next group's first item. Walks past the groups that may not have a turn. */
  take(may?: (group: Group) => boolean): Item | undefined {
    let line = this.#next;
    if (may) while (line && !may(line.group)) line = line.after;
    if (!line) return undefined;
    const item = line.shift();
    this.#endTurn(line);
    return item;
  }

  /** Takes the first item of this group, which keeps its turn. */
  takeOf(group: Group): Item | undefined {
    const line = this.#lines.get(group);
    if (!line) return undefined;
    const item = line.shift();
    this.size--;
    if (line.size === 0) this.#remove(line);
    return item;
  }

  /**
   * Offers groups their turns until a whole round accepts nothing: of each, the first of its next `depth` items that is accepted
   * is taken. An item that is not accepted stays where it is.
   */
  takeAccepted(accept: (item: Item) => boolean, depth: number): void {
    for (let isOver = false; !isOver;) {
      isOver = true;
      const last = this.#last;
      for (let line = this.#next; line;) {
        const after = line === last ? undefined : line.after;
        if (line.takeFirst(accept, depth)) {
          isOver = false;
          this.#endTurn(line);
        }
        line = after;
      }
    }
  }

  /** Removes an item that no longer waits. Walks the items of its group that came before it. */
  delete(group: Group, item: Item): void {
    const line = this.#lines.get(group);
    if (!line?.takeFirst((other) => other === item)) return;
    this.size--;
    if (line.size === 0) this.#remove(line);
  }

  /** One item of the group was taken: it goes behind all others. */
  #endTurn(line: Line<Group, Item>): void {
    this.size--;
    if (line.size === 0) return this.#remove(line);
    if (line === this.#last) return;
    this.#unlink(line);
    this.#append(line);
  }

  #append(line: Line<Group, Item>): Line<Group, Item> {
    line.before = this.#last;
    if (this.#last) this.#last.after = line;
    else this.#next = line;
    return (this.#last = line);
  }

  #remove(line: Line<Group, Item>): void {
    this.#lines.delete(line.group);
    this.#unlink(line);
  }

  #unlink(line: Line<Group, Item>): void {
    const { before, after } = line;
    if (before) before.after = after;
    else this.#next = after;
    if (after) after.before = before;
    else this.#last = before;
    line.before = line.after = undefined;
  }

  #longest(): Line<Group, Item> | undefined {
    let longest = this.#next;
    for (let line = longest; line; line = line.after) if (line.size > longest!.size) longest = line;
    return longest;
  }
}
