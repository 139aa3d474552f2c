/**
 * The processor time of work, for tests that hold a bound to it. A bound in milliseconds was set on one quiet machine: another may be
 * slower, and a busy neighbour core makes processor time itself longer. Whatever is over its bound is therefore divided by how much slower a
 * fixed piece of work is here and now.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

const TRIES = 5;

/** Processor time of this thread until now. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The time of the fixed work on the machine where the bounds were set, when it is idle. */
const CALM_MS = 25;
const ROUNDS = 40;
/** Until V8 has compiled it for good. */
const WARMED_UP = 5;
let isWarm = false;

/** Something of each: allocates, prints and parses, looks up, goes through a text. Keeps nothing. */
function doFixedWork(): number {
  let found = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const records = Array.from({ length: 1_000 }, (_, at) => ({ id: at, name: `name ${at}`, list: [at, `${at}`] }));
    const text = JSON.stringify(records);
    const read = JSON.parse(text) as typeof records;
    const byName = new Map(read.map((one) => [one.name, one]));
    for (const { name } of records) if (byName.get(name)?.list.length === 2) found++;
    for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === 34) found++;
    found += text.match(/name \d+/g)?.length ?? 0;
  }
  return found;
}

/** The middle of three: one may have met the collector. */
function slownessBy(clock: () => number): number {
  for (; !isWarm; isWarm = true) for (let time = 0; time < WARMED_UP; time++) doFixedWork();
  const took = Array.from({ length: 3 }, () => {
    const since = clock();
    doFixedWork();
    return clock() - since;
  }).toSorted((a, b) => a - b);
  return Math.max(1, took[1]! / CALM_MS);
}

/** How many times more processor time this thread needs now than on the machine where the bounds were set; at least 1. Takes 0.1 s. */
const slowness = (): number => slownessBy(threadMs);

/** The same with turns of the event loop in between: on a slow machine a server's watchdog would take it for a standstill. */
export async function slownessInTurns(): Promise<number> {
  const took: number[] = [];
  const measure = async (): Promise<void> => {
    const since = threadMs();
    doFixedWork();
    took.push(threadMs() - since);
    await nextTurn();
  };
  for (; !isWarm; isWarm = true) for (let time = 0; time < WARMED_UP; time++) await measure();
  for (let time = 0; time < 3; time++) await measure();
  const [, middle] = took.slice(-3).toSorted((a, b) => a - b);
  return Math.max(1, middle! / CALM_MS);
}

/** The same by the clock: what this thread waits for a processor counts, too. */
export const slownessByClock = (): number => slownessBy(() => performance.now());

/**
 * A time of this thread a moment ago, as it would be on the machine where the bounds were set. A time below its bound stays as it is,
 * and costs nothing.
 */
export const calmMs = (ms: number, bound: number): number => (ms < bound ? ms : ms / slowness());

/** The same for what took `ms` by the clock: where other processes keep the processors, it is longer for that. */
export const calmMsByClock = (ms: number, bound: number): number => (ms < bound ? ms : ms / slownessByClock());

/** The least of five tries, or the first one below `enough`. */
function least(enough: number, spent: () => number): number {
  let ms = Infinity;
  for (let tried = 0; tried < TRIES && ms >= enough; tried++) ms = Math.min(ms, spent());
  return ms;
}

function spentMs(work: () => unknown): number {
  const before = threadMs();
  work();
  return threadMs() - before;
}

/**
 * Milliseconds of this thread's processor for a bound: the least of five tries, or the first one below `bound`. The collector and V8's
 * compiler only add to what the work takes itself. `work` is done again, so it must not change what it is given.
 */
export const leastMs = (bound: number, work: () => unknown): number => least(bound, () => calmMs(spentMs(work), bound));

/** The same as it is here and now: for a comparison with another that is measured beside it. */
export const leastHereMs = (enough: number, work: () => unknown): number => least(enough, () => spentMs(work));

/** A timer can be called once in each turn of the loop; what it finds more than this apart is one stretch. */
const TICK_MS = 1;

export type Watch = {
  /** The longest stretch since the last reading. */
  readMs(): number;
} & Disposable;

/** Watches this thread's processor time between two turns of the event loop. Costs about 2 % of a processor. */
export function watchThread(): Watch {
  let [last, longest] = [threadMs(), 0];
  const tick = (): void => {
    const before = last;
    last = threadMs();
    longest = Math.max(longest, last - before);
  };
  const timer = setInterval(tick, TICK_MS).unref();
  return {
    readMs: () => {
      tick();
      const ms = longest;
      longest = 0;
      return ms;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** The longest stretch that `work` holds this thread for, for a bound: the least of three tries, or the first one below `bound`. */
export async function longestStretchMs(bound: number, work: () => Promise<unknown>): Promise<number> {
  let ms = Infinity;
  for (let tried = 0; tried < 3 && ms >= bound; tried++) {
    using watch = watchThread();
    await work();
    ms = Math.min(ms, calmMs(watch.readMs(), bound));
  }
  return ms;
}

export type Stretches = {
  /** Adds `work` to what was measured. */
  time<Result>(work: () => Result): Result;
  /** The longest single one, against its bound. */
  longestMs(bound: number): number;
  /** All together, against their bound. */
  wholeMs(bound: number): number;
};

/** Measures work that gives the thread back in between. */
export function startStretches(): Stretches {
  let [longest, whole] = [0, 0];
  return {
    time: (work) => {
      const before = threadMs();
      try {
        return work();
      } finally {
        const ms = threadMs() - before;
        longest = Math.max(longest, ms);
        whole += ms;
      }
    },
    longestMs: (bound) => calmMs(longest, bound),
    wholeMs: (bound) => calmMs(whole, bound),
  };
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
    const once = leastHereMs(TELLING_MS, () => work(length));
    if (once < TELLING_MS) continue;
    return leastHereMs(GROWTH_MOST * once, () => work(2 * length)) < GROWTH_MOST * once;
  }
  return true;
}
