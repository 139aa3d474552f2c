/** What work costs a processor, for tests that hold a bound to it. */

const TRIES = 5;

/**
 * Milliseconds of this thread's processor: the least of five tries, or the first one below `enough`. A busy machine, the collector
 * and V8's compiler only add to what the work takes itself. `work` is done again, so it must not change what it is given.
 */
export function leastMs(enough: number, work: () => unknown): number {
  let least = Infinity;
  for (let tried = 0; tried < TRIES && least >= enough; tried++) {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

/** Less than this is too little to measure: a thread's clock moves in steps of 4 ms. */
const TELLING_MS = 40;
/** Twice is linear; four times is quadratic. */
const GROWTH_MOST = 3;

/**
 * Whether twice the length costs about twice as much, and not four times. The length is doubled until the cost can be told, or it is
 * `most`. `work` gets the length; what it prepares counts, so it should prepare little.
 */
export function growsWithLength(most: number, work: (length: number) => unknown): boolean {
  for (let length = 1_000; length * 2 <= most; length *= 2) {
    const once = leastMs(TELLING_MS, () => work(length));
    if (once < TELLING_MS) continue;
    return leastMs(GROWTH_MOST * once, () => work(2 * length)) < GROWTH_MOST * once;
  }
  return true;
}
