import { expect, test } from "vitest";
import { seeded } from "../../../test/faults/random.ts";
import { leastMs } from "../lib/processor-time.testsuite.ts";
import { FairQueue } from "./fair-queue.ts";

test("groups take turns, and what is of one group comes in its order", () => {
  const queue = new FairQueue<string, number>();
  for (const item of [1, 2, 3]) queue.add("a", item);
  queue.add("b", 4);
  expect([queue.size, queue.groups, queue.sizeOf("a"), queue.sizeOf("b"), queue.sizeOf("c")]).toEqual([4, 2, 3, 1, 0]);
  expect([queue.take(), queue.take()]).toEqual([1, 4]);
  queue.add("b", 5);
  expect([queue.take(), queue.take(), queue.take(), queue.take()]).toEqual([2, 5, 3, undefined]);
  expect([queue.size, queue.groups]).toEqual([0, 0]);
  queue.add("a", 6);
  expect(queue.take()).toBe(6);
});

test("a full queue displaces the last item of the longest group, or refuses the new one", () => {
  const queue = new FairQueue<string, string>(4, 3);
  for (const item of ["a1", "a2", "a3"]) expect(queue.add("a", item)).toBeUndefined();
  expect(queue.add("a", "a4")).toBe("a4");
  const added = ["b1", "b2", "c1", "d1", "e1"].map((item) => queue.add(item[0]!, item));
  expect(added).toEqual([undefined, "a3", "a2", "b2", "e1"]);
  const left = Array.from({ length: 5 }, () => queue.take());
  expect(left).toEqual(["a1", "b1", "c1", "d1", undefined]);
});

/** The same queue as plain arrays, in the order of turns. */
class Model {
  lines: { group: string; items: number[] }[] = [];

  add(group: string, item: number): number | undefined {
    const found = this.lines.find((line) => line.group === group);
    if (found && found.items.length >= 5) return item;
    let displaced: number | undefined;
    if (this.size >= 12) {
      const [longest] = this.lines.toSorted((a, b) => b.items.length - a.items.length);
      if (longest!.items.length <= (found?.items.length ?? 0) + 1) return item;
      displaced = longest!.items.pop();
    }
    if (found) found.items.push(item);
    else this.lines.push({ group, items: [item] });
    return displaced;
  }

  get size(): number {
    return this.lines.reduce((sum, { items }) => sum + items.length, 0);
  }

  take(may: (group: string) => boolean): number | undefined {
    const line = this.lines.find(({ group }) => may(group));
    return line && this.#serve(line, line.items[0]!);
  }

  takeOf(group: string): number | undefined {
    const item = this.lines.find((line) => line.group === group)?.items.shift();
    this.#dropEmpty();
    return item;
  }

  takeAccepted(accept: (item: number) => boolean, depth: number): void {
    for (let isOver = false; !isOver;) {
      isOver = true;
      for (const line of Array.from(this.lines)) {
        const item = line.items.slice(0, depth).find(accept);
        if (item === undefined) continue;
        isOver = false;
        this.#serve(line, item);
      }
    }
  }

  delete(item: number): void {
    for (const line of this.lines) line.items = line.items.filter((other) => other !== item);
    this.#dropEmpty();
  }

  #serve(line: { group: string; items: number[] }, item: number): number {
    line.items = line.items.filter((other) => other !== item);
    this.lines = [...this.lines.filter((other) => other !== line), line];
    this.#dropEmpty();
    return item;
  }

  #dropEmpty(): void {
    this.lines = this.lines.filter(({ items }) => items.length > 0);
  }
}

test("whatever is added, taken, accepted and deleted in any order, it answers as plain arrays would", () => {
  const random = seeded("fair queue");
  const groups = ["a", "b", "c", "d", "e"];
  const queue = new FairQueue<string, number>(12, 5);
  const model = new Model();
  for (let item = 0; item < 20_000; item++) {
    const group = random.pick(groups);
    const other = random.pick(groups);
    const may = (asked: string): boolean => asked !== other;
    const accept = (limit: number) => {
      let left = 3;
      return (offered: number): boolean => offered % limit === 0 && left-- > 0;
    };
    const did = [
      () => [queue.add(group, item), model.add(group, item)],
      () => [queue.add(group, item), model.add(group, item)],
      () => [queue.take(may), model.take(may)],
      () => [queue.takeOf(group), model.takeOf(group)],
      () => [queue.takeAccepted(accept(3), 2), model.takeAccepted(accept(3), 2)],
      () => {
        const waiting = model.lines.find((line) => line.group === group)?.items ?? [item];
        const gone = random.pick(waiting);
        return [queue.delete(group, gone), model.delete(gone)];
      },
    ];
    const [answer, expected] = random.pick(did)();
    expect(answer).toBe(expected);
    expect([queue.size, queue.groups, queue.first]).toEqual([model.size, model.lines.length, model.lines[0]?.items[0]]);
    for (const { group: one, items } of model.lines) expect(queue.sizeOf(one)).toBe(items.length);
  }
});

test("a line of 200,000 is emptied in time that grows with its length", () => {
  const queue = new FairQueue<string, number>();
  const fillAndEmpty = (): void => {
    for (let item = 0; item < 200_000; item++) queue.add("a", item);
    while (queue.take() !== undefined);
  };
  // 40 ms; an array that is shifted took 2 s.
  expect(leastMs(400, fillAndEmpty)).toBeLessThan(400);
});
