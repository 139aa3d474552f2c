import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { Pings } from "./pings.ts";

test("each is pinged once in 15 s, a sixtieth of them at a time, and not when it is gone", () => {
  const clock = testClock();
  const pinged: number[] = [];
  using pings = new Pings<number>(clock, (connection) => void pinged.push(connection));
  const ends = Array.from({ length: 600 }, (_, index) => pings.add(index));
  let most = 0;
  for (let time = 0; time < 60; time++) {
    const before = pinged.length;
    clock.pass(250);
    most = Math.max(most, pinged.length - before);
  }
  expect(pinged.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 600 }, (_, index) => index));
  expect(most).toBe(10);
  pinged.length = 0;
  for (const end of ends.slice(1)) end();
  clock.pass(30_000);
  expect(pinged).toEqual([0, 0]);
});
