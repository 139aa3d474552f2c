/**
 * The counts of a process about itself: plain numbers that the rooms add to, and that `metrics/` reads when somebody asks.
 * Their keys come from closed lists, never from what others send, so nobody can make more of them.
 */
export type Counts<Key extends string = string> = Record<Key, number>;

export const eachOf = <Key extends string, Value>(keys: readonly Key[], make: () => Value): Record<Key, Value> =>
  Object.fromEntries(keys.map((key) => [key, make()])) as Record<Key, Value>;

export const countsOf = <Key extends string>(keys: readonly Key[]): Counts<Key> => eachOf(keys, () => 0);

/** Bounds for what takes from a millisecond to half a minute. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** For what may take a week. */
const LONG_SECONDS = [0.01, 0.1, 1, 10, 60, 600, 3_600, 21_600, 86_400, 604_800];
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** How many values fell between which bounds. */
export class Histogram {
  readonly bounds: readonly number[];
  /** For each bound, the values up to it and above the one before; the last: those above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  static ofSeconds = (): Histogram => new Histogram(SECONDS);
  static ofLongSeconds = (): Histogram => new Histogram(LONG_SECONDS);
  static ofRows = (): Histogram => new Histogram(ROWS);

  /** Below zero counts as zero: a clock may be set back. */
  observe(value: number): void {
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    counts[bucket]!++;
    if (value > 0) this.sum += value;
  }

  /** `begunAt` is a time of `performance.now()`. */
  since(begunAt: number): void {
    this.observe((performance.now() - begunAt) / 1_000);
  }
}
