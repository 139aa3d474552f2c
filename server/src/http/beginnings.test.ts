import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Exchange } from "./answer.ts";
import { Beginnings } from "./beginnings.ts";

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("what comes after 5 ms of a turn begins in the next turns, 5 ms of each, by turns; who has gone does not", async () => {
  const begun: string[] = [];
  let inTurn = 0;
  let mostInTurn = 0;
  const beginnings = new Beginnings(({ path }) => {
    begun.push(path);
    mostInTurn = Math.max(mostInTurn, ++inTurn);
    spin(2);
  });
  const exchange = (path: string, destroyed = false): Exchange =>
    ({ path, request: { socket: { destroyed } } }) as unknown as Exchange;
  expect([beginnings.isOpen(), beginnings.isOpen()]).toEqual([true, true]);
  spin(6);
  expect(beginnings.isOpen()).toBe(false);
  for (let count = 0; count < 20; count++) beginnings.wait("flood", exchange(`flood ${count}`));
  beginnings.wait("gone", exchange("gone", true));
  beginnings.wait("caller", exchange("caller"));
  for (let turn = 0; begun.length < 21; turn++) {
    await nextTurn();
    inTurn = 0;
    if (begun.length < 21 && turn > 0) expect(beginnings.isOpen()).toBe(false);
  }
  expect(begun).toEqual(["flood 0", "caller", ...Array.from({ length: 19 }, (_, index) => `flood ${index + 1}`)]);
  expect(mostInTurn).toBeLessThanOrEqual(4);
  await nextTurn();
  await nextTurn();
  expect(beginnings.isOpen()).toBe(true);
});
