import { expect, test } from "vitest";
import { busyLength, timeAxis } from "./time-axis.ts";
import { scaleText } from "./times.ts";

const HOUR = 3_600_000;

test("without long gaps a time lies where it is", () => {
  const { place, folds } = timeAxis({ from: 1_000, to: 2_000 }, [{ from: 1_000, to: 2_000 }]);
  expect(folds).toEqual([]);
  expect([1_000, 1_250, 2_000, 0, 9_000].map(place)).toEqual([0, 0.25, 1, 0, 1]);
});

test("two hours of waiting between two seconds of work are folded, and the work has nearly all of the width", () => {
  const end = 2 * HOUR + 2_000;
  const busy = [
    { from: end - 1_000, to: end },
    { from: 0, to: 1_000 },
  ];
  const { place, folds } = timeAxis({ from: 0, to: end }, busy);
  expect(folds).toHaveLength(1);
  expect(folds[0]).toMatchObject({ from: 1_000, to: end - 1_000 });
  expect(place(1_000)).toBeCloseTo(0.47);
  expect(place(end - 1_000)).toBeCloseTo(0.53);
  expect(place(end)).toBe(1);
});

test("any number of folds leaves room for the work, and later is never further left", () => {
  const busy = Array.from({ length: 50 }, (_, index) => ({ from: index * HOUR, to: index * HOUR + 1_000 }));
  const { place, folds } = timeAxis({ from: 0, to: 50 * HOUR }, busy);
  expect(folds.length).toBe(50);
  expect(folds.reduce((width, fold) => width + fold.width, 0)).toBeLessThanOrEqual(0.4001);
  const places = Array.from({ length: 1_000 }, (_, index) => place((index / 999) * 50 * HOUR));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places.at(-1)).toBeCloseTo(1);
});

test("spans that overlap or stick out make no gap between them", () => {
  const busy = [
    { from: -5_000, to: 4_000 },
    { from: 3_000, to: 90_000 },
  ];
  expect(timeAxis({ from: 0, to: 10_000 }, busy).folds).toEqual([]);
});

test("a pause that is short beside the work, or by itself, is no fold", () => {
  const work = (from: number, to: number) => ({ from, to });
  const folds = (to: number, ...busy: { from: number; to: number }[]) => timeAxis({ from: 0, to }, busy).folds;
  expect(folds(2_000, work(0, 100), work(1_900, 2_000))).toEqual([]);
  expect(folds(70_000, work(0, 30_000), work(35_000, 70_000))).toEqual([]);
  expect(folds(70_000, work(0, 10_000), work(60_000, 70_000))).toHaveLength(1);
});

test("what goes on while something shorter ends leaves no gap behind that", () => {
  const busy = [
    { from: 0, to: 90_000 },
    { from: 1_000, to: 2_000 },
  ];
  expect(timeAxis({ from: 0, to: 90_000 }, busy).folds).toEqual([]);
});

test("what is done at the same time counts once, and nothing outside", () => {
  const busy = [
    { from: 0, to: 300 },
    { from: 100, to: 400 },
    { from: 900, to: 2_000 },
  ];
  expect(busyLength({ from: 0, to: 1_000 }, busy)).toBe(500);
  expect(busyLength({ from: 0, to: 1_000 }, [])).toBe(0);
});

test("ticks are round times outside of folds, each once", () => {
  const { folds, ticks, place } = timeAxis({ from: 0, to: HOUR }, [{ from: 0, to: 1_000 }]);
  expect(folds).toHaveLength(1);
  expect(place(HOUR)).toBeCloseTo(1);
  expect(ticks.map(({ ms }) => ms)).toEqual([0, 200, 400, 600, 800]);
  expect(timeAxis({ from: 0, to: 90_000 }, [{ from: 0, to: 90_000 }]).ticks.map(({ ms }) => ms)).toEqual([
    0, 20_000, 40_000, 60_000, 80_000,
  ]);
  const two = timeAxis({ from: 0, to: HOUR }, [
    { from: 0, to: 500 },
    { from: HOUR - 500, to: HOUR },
  ]).ticks;
  expect(two.every(({ at }, index) => index === 0 || at > two[index - 1]!.at)).toBe(true);
});

test("a scale says no value twice, however long it is and however long a pause is cut out of it", () => {
  for (let length = 1; length < 400 * 24 * HOUR; length *= 1.13)
    for (const pause of [0, 3 * length, 500 * length]) {
      const to = Math.round(2 * length + pause);
      const busy = [
        { from: 0, to: length },
        { from: to - length, to },
      ];
      const texts = timeAxis({ from: 0, to }, busy).ticks.map(({ ms }) => scaleText(ms));
      expect(new Set(texts).size, `${to} ms: ${texts.join(", ")}`).toBe(texts.length);
    }
});
