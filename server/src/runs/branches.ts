/**
 * The branches of a run in memory: how many are live, and which wait. When the last live one waits or ends while others
 * wait, the whole run rests: it is unloaded, at once or when it has stayed in memory for a while.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import type { ApprovalId, RunId } from "../lib/ids.ts";
import { TurnCount } from "../lib/turn-count.ts";
import type { Left } from "./scope.ts";

export type Wait = {
  /** When it is over by itself, ms; null: only a signal ends it. */
  until: number | null;
  /** What else ends it: the approval's decision, the child's end. */
  signal?: ApprovalId | RunId;
  person: boolean;
  /** For memory that others have: the run gives back what it has itself. */
  forMemory?: boolean;
};
type Waiting = {
  /** The nearest end, a timeout's too. */
  until: number | null;
  person: boolean;
  isForSignal: boolean;
  isForMemory: boolean;
  /** Ends it with the run as a whole. */
  reject: (reason: unknown) => void;
  resolve: () => void;
};

/** All branches wait. */
export type Rest = {
  /** When the first of the waits is over by itself. */
  wakeAt: number | null;
  /** One of them is for a person. */
  person: boolean;
  /** One of them may end at any time. */
  isForSignal: boolean;
  isForMemory: boolean;
  /** When the last wait was over, ms. */
  since: number;
};

/** What the run does when it rests. */
type Resting = {
  /** Whether it stays in memory; asked now and then. */
  stays: (rest: Rest) => boolean;
  /** Commits it as it stays. */
  commit: (rest: Rest) => Promise<void>;
  /** Commits it and gives its claim back. Always throws. */
  unload: (rest: Rest) => Promise<never>;
  /** It stayed, and goes on. */
  goesOn: () => void;
};

/** A wait for a signal looks again after this long, in case the signal came to another process. */
const LOOK_AGAIN_MS = 5_000;
/** So soon does a run that stays in memory see that others need the room. */
const STAYS_MS = 250;
/** Of 9,800 that were left in one turn of the event loop the thread had 140 ms. */
const LEFT_IN_A_TURN = 500;
/** Of all runs. */
const left = new TurnCount();
/**
 * To rest, all waits are looked at: with more of them once in a turn of the event loop, and not at the end of each. Of 9,900
 * that ended together the thread had 700 ms.
 */
const LOOKED_AT_AT_ONCE = 100;

export class Branches {
  readonly #clock: Clock;
  readonly #resting: Resting;
  readonly #waiting = new Set<Waiting>();
  readonly #forSignal = new Map<ApprovalId | RunId, Waiting>();
  #live = 1;
  #restsSoon = false;
  /** Whose scope was left, and who will be told so in the next turns of the event loop. They do not wait any more. */
  #toLeave: (() => void)[] = [];
  /** The run leaves the memory: what happens now is seen at the next advance, nothing goes on here. */
  #isLeaving = false;
  #stayed: Disposable | undefined;
  #since: number;

  constructor(clock: Clock, resting: Resting) {
    this.#clock = clock;
    this.#resting = resting;
    this.#since = clock.now();
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
    if (this.#live === 0 && this.#waiting.size > 0) this.#rest();
  }

  /** What the branch that waits for this looks at has changed. The others are left alone: there may be 10,000. */
  knock(signal: ApprovalId | RunId): void {
    this.#forSignal.get(signal)?.resolve();
  }

  /** Returns when it may be over; throws when the run is unloaded or the scope is left. */
  wait(wait: Wait, scope: Left): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = wait;
      const again = signal === undefined ? Infinity : this.#clock.now() + LOOK_AGAIN_MS;
      const look = Math.min(wait.until ?? Infinity, again);
      const leave = (then: () => void): void => {
        if (!this.#waiting.delete(waiting)) return;
        if (signal !== undefined) this.#forSignal.delete(signal);
        this.#stayed?.[Symbol.dispose]();
        if (this.#live === 0) this.#resting.goesOn();
        timer[Symbol.dispose]();
        scope.signal.removeEventListener("abort", abort);
        this.#live++;
        then();
      };
      const goOn = (then: () => void): void => {
        if (!this.#isLeaving) leave(then);
      };
      const waiting: Waiting = {
        person: wait.person,
        isForSignal: signal !== undefined,
        isForMemory: wait.forMemory ?? false,
        until: scope.deadline === undefined ? wait.until : Math.min(wait.until ?? Infinity, scope.deadline),
        resolve: () => {
          this.#since = this.#clock.now();
          goOn(resolve);
        },
        reject: (reason) => leave(() => reject(reason)),
      };
      const abort = (): void => goOn(() => this.#leaveInTurns(() => reject(scope.signal.reason)));
      const timer = this.#clock.at(look, () => (look === again ? goOn(resolve) : waiting.resolve()));
      scope.signal.addEventListener("abort", abort, { once: true });
      this.#waiting.add(waiting);
      if (signal !== undefined) this.#forSignal.set(signal, waiting);
      this.#live--;
      if (scope.signal.aborted) abort();
      else if (this.#live === 0) this.#rest();
    });
  }

  /** One timeout may end thousands. */
  #leaveInTurns(reject: () => void): void {
    if (left.add() <= LEFT_IN_A_TURN) reject();
    else if (this.#toLeave.push(reject) === 1) setImmediate(this.#leaveMore);
  }

  readonly #leaveMore = (): void => {
    const now = this.#toLeave;
    this.#toLeave = [];
    for (const reject of now) this.#leaveInTurns(reject);
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
    if (this.#isLeaving) return;
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
      // It may have gone on, rested once more and be on its way out since.
      if (this.#live === 0 && !this.#isLeaving) this.#lookLater();
    } catch (reason) {
      await this.#leaveAll(reason);
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
    this.#isLeaving = true;
    await this.#resting.unload(rest).catch((reason: unknown) => this.#leaveAll(reason));
  }

  /** Always with the same reason, whatever the first that leave do to the others' scopes. */
  async #leaveAll(reason: unknown): Promise<void> {
    this.#isLeaving = true;
    let count = 0;
    for (const one of this.#waiting) {
      one.reject(reason);
      if (++count % LEFT_IN_A_TURN === 0) await nextTurn();
    }
    this.#isLeaving = false;
  }
}
