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
