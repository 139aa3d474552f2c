import { expect, test } from "vitest";
import { Largest, unplaced, type Sized } from "./largest.ts";

/** Park and Miller's: the same numbers each time. */
let state = 7;
const random = (below: number): number => (state = (state * 16_807) % 2_147_483_647) % below;

/** `changed`: when its size was. */
type Item = Sized & { changed: number };

test("the first is the largest, and of equals the one that has been so longest, whatever comes, goes, grows and shrinks", () => {
  const largest = new Largest<Item>();
  const all: Item[] = [];
  expect(largest.first).toBeUndefined();
  for (let time = 0; time < 20_000; time++) {
    const what = random(4);
    const one = all[random(Math.max(1, all.length))];
    if (what === 0 || !one) {
      const item = { ...unplaced, size: random(20), changed: time };
      all.push(item);
      largest.add(item);
    } else if (what === 1) {
      all.splice(all.indexOf(one), 1);
      largest.delete(one);
    } else {
      Object.assign(one, { size: random(20), changed: time });
      largest.moved(one);
    }
    expect(largest.first).toBe(all.toSorted((a, b) => b.size - a.size || a.changed - b.changed)[0]);
  }
});
