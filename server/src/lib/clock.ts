/**
 * Time is passed in from outside: rules read it here, SQL takes it as a parameter, tests move it (`test/server.ts`).
 * Times are ms since 1970, spans are ms.
 */
export interface Clock {
  now(): number;
  /**
   * Calls `fire` once when `now()` reaches `at`, never earlier; at once if that has passed. If the clock is set back
   * meanwhile, calls it after the time that was left before, so that nothing periodic stops for an hour.
   * Does not keep the process alive.
   */
  at(at: number, fire: () => void): Disposable;
}

/** setTimeout overflows beyond 2^31 ms; longer timers are rearmed after an hour. */
const LONGEST_TIMER_MS = 3_600_000;
/** Node's timers may fire a millisecond before the wall clock gets there; a clock further behind was set back. */
const ROUNDING_MS = 5;

export const realClock: Clock = {
  now: () => Date.now(),
  at: (at, fire) => new RealTimer(at, fire),
};

/** One object a timer: a run that is waited for has one, and each call two. */
class RealTimer implements Disposable {
  readonly #at: number;
  readonly #fire: () => void;
  #timer: NodeJS.Timeout;

  constructor(at: number, fire: () => void) {
    this.#at = at;
    this.#fire = fire;
    this.#timer = this.#armed();
  }

  #armed(): NodeJS.Timeout {
    const left = this.#at - Date.now();
    if (left > LONGEST_TIMER_MS) return setTimeout(RealTimer.#again, LONGEST_TIMER_MS, this).unref();
    return setTimeout(left > 0 ? RealTimer.#check : RealTimer.#end, Math.max(0, left), this).unref();
  }

  static #again(this: void, timer: RealTimer): void {
    timer.#timer = timer.#armed();
  }

  static #check(this: void, timer: RealTimer): void {
    const early = timer.#at - Date.now();
    if (early > 0 && early <= ROUNDING_MS) RealTimer.#again(timer);
    else timer.#fire();
  }

  static #end(this: void, timer: RealTimer): void {
    timer.#fire();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Calls `work` every `ms` of the clock. Work that awaits something is a `Loop`, which is watched. */
export function every(clock: Clock, ms: number, work: () => undefined): Disposable {
  let timer: Disposable;
  const arm = (): void => {
    timer = clock.at(clock.now() + ms, () => {
      arm();
      work();
    });
  };
  arm();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

/** Resolves at a time of the clock, or rejects with the signal's reason. */
export function until(clock: Clock, at: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = (): void => {
      timer[Symbol.dispose]();
      reject(signal!.reason);
    };
    const timer = clock.at(at, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
