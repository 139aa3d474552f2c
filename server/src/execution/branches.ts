/**
 * The branches of a run in memory: how many are live, and which wait. When the last live one waits, or ends while others
 * wait, the whole run rests: it is unloaded, either at once or after a while in memory.
 */
import type { Clock } from "../lib/clock.ts";
import type { Id, Kind } from "../lib/ids.ts";
import { TickCount } from "../fairness/tick-count.ts";
import type { Left } from "./scope.ts";

/** The id of what a branch waits for: an approval, a child. */
export type Signal = Id<Kind>;

export type Wait = {
  /** When the wait ends by itself, ms; null: only the signal ends it. */
  until: number | null;
  /** Ends the wait earlier: the approval's decision, the child's end. */
  signal?: Signal;
  person: boolean;
  /** Any event that is told to the run ends the wait earlier: the branch looks whether it is one of its own. */
  forEvent?: boolean;
  /** Waits for memory that others hold: the run gives back its own. */
  forMemory?: boolean;
  /** Returns after this long while others continue. It wakes no run that rests. */
  lookAfterMs?: number;
};
type Waiting = {
  /** The nearest end, timeouts included. */
  until: number | null;
  person: boolean;
  isForSignal: boolean;
  isForMemory: boolean;
  reject: (reason: unknown) => void;
  resolve: () => void;
};

/** All branches wait. */
export type Rest = {
  /** When the first wait ends by itself. */
  wakeAt: number | null;
  /** One of them is for a person. */
  person: boolean;
  /** One of them may end at any time. */
  isForSignal: boolean;
  isForMemory: boolean;
  /** When the last wait ended, ms. */
  since: number;
};

/** Called when the run rests. */
type Resting = {
  /** Whether it stays in memory; called now and then. */
  stays: (rest: Rest) => boolean;
  /** Commits when it stays in memory. */
  commit: (rest: Rest) => Promise<void>;
  /** Commits and releases the claim. Always throws. */
  unload: (rest: Rest) => Promise<never>;
  /** Called when it stayed and now continues. */
  resumed: () => void;
};

/** A wait for a signal looks again after this long, in case the signal came to another process. */
const LOOK_AGAIN_MS = 5_000;
/** How soon a run that stays in memory notices that others need the room. */
const STAYS_MS = 250;
/** For all runs together. Ending 9,800 branches in one tick holds the thread for 140 ms. */
const LEFT_PER_TICK = 500;
const left = new TickCount();
/**
 * Resting looks at all waits. With more waits than this, it does so once a tick, not whenever one
 * ends: 9,900 that ended together held the thread for 700 ms.
 */
const LOOKED_AT_AT_ONCE = 100;

export class Branches {
  readonly #clock: Clock;
  readonly #resting: Resting;
  readonly #waiting = new Set<Waiting>();
  readonly #forSignal = new Map<Signal, Waiting>();
  readonly #forEvents = new Set<Waiting>();
  #live = 1;
  #restsSoon = false;
  /** Branches that no longer wait and end early; they are rejected in the next ticks. */
  #toLeave: (() => void)[] = [];
  /** The claim is being released: the next advance sees what happens now, and nothing continues in memory. */
  #isUnloading = false;
  #stayed: Disposable | undefined;
  #since: number;

  constructor(clock: Clock, resting: Resting) {
    this.#clock = clock;
    this.#resting = resting;
    this.#since = clock.now();
  }

  /** Whether there is only one branch. */
  get isAlone(): boolean {
    return this.#live + this.#waiting.size === 1;
  }

  /** This branch becomes `count` branches. */
  fork(count: number): void {
    this.#live += count - 1;
  }

  /** One of them ended and others continue. If all of those wait, nothing is left to do in memory. */
  end(): void {
    this.#live--;
    if (this.#live === 0 && this.#waiting.size > 0) this.#rest();
  }

  /** Wakes the branch that waits for this. Leaves the others alone: there may be 10,000. */
  notify(signal: Signal): void {
    this.#forSignal.get(signal)?.resolve();
  }

  /** How often it was told of an event: a branch that looks for them may be told meanwhile. */
  heard = 0;

  /** Wakes the branches that wait for events. */
  hear(): void {
    this.heard++;
    // Each leaves the set. One that waits again is not among these.
    for (const one of this.#forEvents.values().toArray()) one.resolve();
  }

  /** Returns when the wait may be over; throws when the run is unloaded or the scope is left. */
  wait(wait: Wait, scope: Left): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = wait;
      const again = this.#clock.now() + (wait.lookAfterMs ?? (signal === undefined ? Infinity : LOOK_AGAIN_MS));
      const look = Math.min(wait.until ?? Infinity, again);
      const leave = (then: () => void): void => {
        if (this.#isUnloading || !this.#waiting.delete(waiting)) return;
        if (signal !== undefined) this.#forSignal.delete(signal);
        this.#forEvents.delete(waiting);
        this.#stayed?.[Symbol.dispose]();
        if (this.#live === 0) this.#resting.resumed();
        timer[Symbol.dispose]();
        scope.signal.removeEventListener("abort", abort);
        this.#live++;
        then();
      };
      const waiting: Waiting = {
        person: wait.person,
        isForSignal: signal !== undefined,
        isForMemory: wait.forMemory ?? false,
        until: scope.deadline === undefined ? wait.until : Math.min(wait.until ?? Infinity, scope.deadline),
        resolve: () => {
          this.#since = this.#clock.now();
          leave(resolve);
        },
        reject: (reason) => leave(() => this.#leaveByTicks(() => reject(reason))),
      };
      const abort = (): void => waiting.reject(scope.signal.reason);
      const timer = this.#clock.at(look, () => (look === again ? leave(resolve) : waiting.resolve()));
      scope.signal.addEventListener("abort", abort, { once: true });
      this.#waiting.add(waiting);
      if (signal !== undefined) this.#forSignal.set(signal, waiting);
      if (wait.forEvent) this.#forEvents.add(waiting);
      this.#live--;
      if (scope.signal.aborted) abort();
      else if (this.#live === 0) this.#rest();
    });
  }

  /** A timeout may end thousands of waits, and so may the end of the run's stay in memory. */
  #leaveByTicks(reject: () => void): void {
    if (left.add() <= LEFT_PER_TICK) reject();
    else if (this.#toLeave.push(reject) === 1) setImmediate(this.#leaveMore);
  }

  readonly #leaveMore = (): void => {
    const now = this.#toLeave;
    this.#toLeave = [];
    for (const reject of now) this.#leaveByTicks(reject);
  };

  #rest(): void {
    if (this.#waiting.size <= LOOKED_AT_AT_ONCE) return this.#restNow();
    if (this.#restsSoon) return;
    this.#restsSoon = true;
    setImmediate(() => {
      this.#restsSoon = false;
      if (this.#live === 0 && this.#waiting.size > 0) this.#restNow();
    });
  }

  #restNow(): void {
    const rest = this.#asRest();
    void (this.#resting.stays(rest) ? this.#stay(rest) : this.#unloadAll(rest));
  }

  #asRest(): Rest {
    const rest: Rest = { wakeAt: null, person: false, isForSignal: false, isForMemory: false, since: this.#since };
    for (const { until, person, isForSignal, isForMemory } of this.#waiting) {
      if (until !== null) rest.wakeAt = Math.min(until, rest.wakeAt ?? Infinity);
      rest.person ||= person;
      rest.isForSignal ||= isForSignal;
      rest.isForMemory ||= isForMemory;
    }
    return rest;
  }

  async #stay(rest: Rest): Promise<void> {
    try {
      await this.#resting.commit(rest);
      // Since then it may have continued, rested again and begun to unload.
      if (this.#live === 0 && !this.#isUnloading) this.#lookLater();
    } catch (reason) {
      this.#rejectAll(reason);
    }
  }

  #lookLater(): void {
    this.#stayed?.[Symbol.dispose]();
    this.#stayed = this.#clock.at(this.#clock.now() + STAYS_MS, () => {
      const rest = this.#asRest();
      if (this.#resting.stays(rest)) this.#lookLater();
      else void this.#unloadAll(rest);
    });
  }

  async #unloadAll(rest: Rest): Promise<void> {
    this.#isUnloading = true;
    try {
      await this.#resting.unload(rest);
    } catch (reason) {
      this.#isUnloading = false;
      this.#rejectAll(reason);
    }
  }

  #rejectAll(reason: unknown): void {
    for (const one of this.#waiting) one.reject(reason);
  }
}
