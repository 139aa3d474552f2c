import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { Beats, Pace } from "./pace.ts";

const START = Date.UTC(2026, 10, 21, 12);

/** Something that is done at most every 50 ms, and when it was, in ms from the start. */
function paced(clock = testClock(START), beats = new Beats(clock)) {
  const times: number[] = [];
  const pace: Pace = new Pace(beats, 50, () => {
    times.push(clock.now() - START);
    pace.done();
  });
  return { clock, beats, pace, times };
}

test("the first time is at once, the next ones every 50 ms, however often it is asked for", () => {
  const { clock, pace, times } = paced();
  for (let ms = 0; ms < 203; ms++) {
    pace.ask();
    clock.pass(1);
  }
  expect(times).toEqual([0, 50, 100, 150, 200]);
});

test("what is asked for in between is done when its time comes, and after a pause at once", () => {
  const { clock, pace, times } = paced();
  pace.ask();
  clock.pass(7);
  pace.ask();
  clock.pass(500);
  expect(times).toEqual([0, 50]);
  pace.ask();
  expect(times).toEqual([0, 50, 507]);
});

test("those whose times come within 10 ms go together, with one timer", () => {
  const clock = testClock(START);
  let timers = 0;
  const beats = new Beats({ ...clock, at: (at, fire) => (timers++, clock.at(at, fire)) });
  const all = Array.from({ length: 10 }, () => {
    clock.pass(1);
    const one = paced(clock, beats);
    one.pace.ask();
    one.pace.ask();
    return one;
  });
  clock.pass(100);
  expect(timers).toBe(2);
  expect(all.map(({ times }) => times.at(-1))).toEqual([50, 50, 50, 50, 50, 50, 50, 50, 50, 60]);
});

test("a clock that is set back holds nothing up", () => {
  let back = 0;
  const real = testClock(START);
  const clock = { ...real, now: () => real.now() - back };
  const { pace, times } = paced(clock);
  pace.ask();
  back = 3_600_000;
  pace.ask();
  expect(times).toHaveLength(2);
});

test("a beat that is over holds nobody who comes for its time later", () => {
  const clock = testClock(START);
  const beats = new Beats(clock);
  const times: number[] = [];
  for (let count = 0; count < 2; count++) {
    beats.at(START + 5, () => times.push(clock.now() - START));
    clock.pass(20);
  }
  expect(times).toEqual([10, 20]);
});
