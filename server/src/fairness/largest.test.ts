import { expect, test } from "vitest";
import { Largest, type Sized } from "./largest.ts";

/** Park and Miller's: the same numbers each time. */
let state = 7;
const random = (below: number): number => (state = (state * 16_807) % 2_147_483_647) % below;

test("the first is the largest, whatever comes, goes, grows and shrinks", () => {
  const largest = new Largest<Sized>();
  const all: Sized[] = [];
  expect(largest.first).toBeUndefined();
  for (let time = 0; time < 20_000; time++) {
    const what = random(4);
    const one = all[random(Math.max(1, all.length))];
    if (what === 0 || !one) {
      const item = { size: random(1_000), place: -1 };
      all.push(item);
      largest.add(item);
    } else if (what === 1) {
      all.splice(all.indexOf(one), 1);
      largest.delete(one);
    } else {
      one.size = random(1_000);
      largest.moved(one);
    }
    expect(largest.first?.size).toBe(all.length === 0 ? undefined : Math.max(...all.map(({ size }) => size)));
  }
});
