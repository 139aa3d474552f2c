/**
 * The branches of a run in memory: how many are live, and which wait. When the last live one waits or ends while others
 * wait, the whole run is unloaded.
 */
import type { Clock } from "../lib/clock.ts";
import type { Scope } from "./scope.ts";

type Wait = {
  /** When it is over by itself, ms; null: only a signal (a decision, a child's end) ends it. */
  until: number | null;
  person: boolean;
};
type Waiting = {
  /** The nearest end, a timeout's too. */
  until: number | null;
  person: boolean;
  isForSignal: boolean;
  resolve: () => void;
  reject: (reason: unknown) => void;
};

/** Unloads the run until `wakeAt`; `person`: one of the waits is for a person. Always throws. */
type Unload = (wakeAt: number | null, person: boolean) => Promise<never>;

/** A wait for a signal looks again after this long, in case the signal came to another process. */
const LOOK_AGAIN_MS = 5_000;

export class Branches {
  readonly #clock: Clock;
  readonly #unload: Unload;
  readonly #waiting = new Set<Waiting>();
  #live = 1;
  /** The claim is being given back: what happens now is seen at the next advance, nothing goes on in memory. */
  #isUnloading = false;

  constructor(clock: Clock, unload: Unload) {
    this.#clock = clock;
    this.#unload = unload;
  }

  /** Whether there is but one branch. */
  get isAlone(): boolean {
    return this.#live + this.#waiting.size === 1;
  }

  /** This branch becomes `count` branches. */
  fork(count: number): void {
    this.#live += count - 1;
  }

  /** One of them ended and others go on. If all those wait, nothing is left to do in memory. */
  end(): void {
    this.#live--;
    if (this.#live === 0 && this.#waiting.size > 0) this.#unloadAll().catch(() => {});
  }

  /** The waits for a signal are over: each looks whether its own has come. */
  knock(): void {
    for (const waiting of this.#waiting) if (waiting.isForSignal) waiting.resolve();
  }

  /** Returns when it may be over; throws when the run is unloaded or the scope is left. */
  wait(wait: Wait, scope: Scope): Promise<void> {
    return new Promise((resolve, reject) => {
      const isForSignal = wait.until === null || wait.person;
      const again = isForSignal ? this.#clock.now() + LOOK_AGAIN_MS : Infinity;
      const look = Math.min(wait.until ?? Infinity, again);
      const leave = (then: () => void): void => {
        if (this.#isUnloading || !this.#waiting.delete(waiting)) return;
        timer[Symbol.dispose]();
        scope.signal.removeEventListener("abort", abort);
        this.#live++;
        then();
      };
      const waiting: Waiting = {
        person: wait.person,
        isForSignal,
        until: scope.deadline === undefined ? wait.until : Math.min(wait.until ?? Infinity, scope.deadline),
        resolve: () => leave(resolve),
        reject: (reason) => leave(() => reject(reason)),
      };
      const abort = (): void => waiting.reject(scope.signal.reason);
      const timer = this.#clock.at(look, waiting.resolve);
      scope.signal.addEventListener("abort", abort, { once: true });
      this.#waiting.add(waiting);
      this.#live--;
      if (scope.signal.aborted) abort();
      else if (this.#live === 0) this.#unloadAll().catch(() => {});
    });
  }

  async #unloadAll(): Promise<void> {
    const waiting = [...this.#waiting];
    const ends = waiting.flatMap(({ until }) => (until === null ? [] : [until]));
    const wakeAt = ends.length > 0 ? Math.min(...ends) : null;
    this.#isUnloading = true;
    try {
      await this.#unload(
        wakeAt,
        waiting.some(({ person }) => person),
      );
    } catch (reason) {
      this.#isUnloading = false;
      for (const one of this.#waiting) one.reject(reason);
    }
  }
}
