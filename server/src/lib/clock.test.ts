import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { every, realClock, until } from "./clock.ts";

const HOUR_MS = 3_600_000;

afterEach(() => void vi.restoreAllMocks());

function setClock(ms: number): void {
  const real = Date.now;
  vi.spyOn(Date, "now").mockImplementation(() => real() + ms);
}

/** Whether it comes true within ten times the time. */
async function within(ms: number, look: () => boolean): Promise<boolean> {
  for (let waited = 0; waited < ms * 10 && !look(); waited += 5) await sleep(5);
  return look();
}

test("a timer fires at its time, not before, and not when it is disposed of", async () => {
  const at = realClock.now() + 40;
  let firedAt = 0;
  realClock.at(at, () => (firedAt = realClock.now()));
  realClock.at(at, () => (firedAt = -1))[Symbol.dispose]();
  expect(await within(40, () => firedAt !== 0)).toBe(true);
  expect(firedAt).toBeGreaterThanOrEqual(at);
});

test("overdue triggers fire at once", async () => {
  let fired = false;
  realClock.at(realClock.now() - 1, () => (fired = true));
  expect(await within(20, () => fired)).toBe(true);
});

test("a clock that is set back an hour holds no timer up", async () => {
  let [timer, rounds, waited] = [false, 0, false];
  realClock.at(realClock.now() + 30, () => (timer = true));
  using _every = every(realClock, 20, () => void rounds++);
  void until(realClock, realClock.now() + 30).then(() => (waited = true));
  setClock(-HOUR_MS);
  expect(await within(60, () => timer && waited && rounds > 2)).toBe(true);
});
