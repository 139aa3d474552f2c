/**
 * A loop of the service: one look after the other, each at the earliest time for which there is a reason. All it remembers is that
 * time; the timer is armed from it. A look takes the reasons so far, and a reason that comes during it stays for the next look, so no
 * wake can be lost. `loop-watch.ts` notices a loop that doesn't come round, and starts it over.
 */
import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log/log.ts";

/** Each loop of the service, as the log, `/metrics` and `/readyz` name it. docs/operations.md says what each does. */
export const LOOP_NAMES = [
  "credentials",
  "disk-space",
  "due-runs",
  "events",
  "executor",
  "failure-mails",
  "key-uses",
  "listeners",
  "mails",
  "notices",
  "old-api-keys",
  "old-drafts",
  "old-firings",
  "old-idempotency-keys",
  "own-events",
  "partitions",
  "processes",
  "queued-runs",
  "recovery",
  "schedules",
  "trigger-queues",
  "usage",
] as const;
export type LoopName = (typeof LOOP_NAMES)[number];

type LoopOptions = {
  name: LoopName;
  clock: Clock;
  log: Log;
  /** From the beginning of a look to the next one, if nothing asks for an earlier one. */
  everyMs: number;
  /** Returns when to look again, ms since 1970. What it throws is logged. */
  look: (round: Round) => Promise<number | void>;
  /** The warning for a look that failed. */
  failed: string;
  /** From the end of such a look to the next one; `everyMs` if left out. */
  retryMs?: number;
};

/** A clock that is set forward is noticed after this, however long the sleep. */
const LONGEST_TIMER_MS = 10_000;

/** One look. */
export class Round {
  readonly #ended = new AbortController();
  readonly #cameRound: () => void;

  constructor(cameRound: () => void) {
    this.#cameRound = cameRound;
  }

  /** Aborts when the loop is closed, or when another look has taken its place because this one was late. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Ask after each part of a look; asking shows progress, so the loop is not late. False: stop, and do nothing more. */
  goesOn(): boolean {
    if (this.#ended.signal.aborted) return false;
    this.#cameRound();
    return true;
  }

  end(why: string): void {
    this.#ended.abort(new Error(why));
  }
}

export class Loop implements AsyncDisposable {
  readonly name: LoopName;
  readonly #options: LoopOptions;
  #isOpen = false;
  /** The earliest reason since the last look began. */
  #at = Infinity;
  /** While it sleeps. */
  #timer: Disposable | undefined;
  /** While it looks. */
  #round: Round | undefined;
  readonly #looks = new Set<Promise<void>>();
  #timesRound = 0;
  #cameRoundAt: number;
  #mustComeBy = Infinity;

  constructor(options: LoopOptions) {
    this.name = options.name;
    this.#options = options;
    this.#cameRoundAt = options.clock.now();
  }

  /** How often it came round: a look ended, or asked whether it goes on. */
  get timesRound(): number {
    return this.#timesRound;
  }

  /** When it last came round, ms since 1970. */
  get cameRoundAt(): number {
    return this.#cameRoundAt;
  }

  /** When it must come round next, ms since 1970: when it wakes, or at once while it looks. */
  get mustComeBy(): number {
    return this.#mustComeBy;
  }

  get isLooking(): boolean {
    return this.#round !== undefined;
  }

  /** Starts with a look at once, or at a later time. */
  start(at = this.#options.clock.now()): this {
    this.#isOpen = true;
    this.#at = Math.min(this.#at, at);
    if (this.#at <= this.#options.clock.now()) this.#look();
    else this.#sleep();
    return this;
  }

  /** Asks for a look, now or at a time. */
  wake(at = this.#options.clock.now()): void {
    if (at >= this.#at) return;
    this.#at = at;
    if (!this.#round) this.#sleep();
  }

  /** Starts a new look, whatever became of the present one. */
  restart(): void {
    if (this.#isOpen) this.#look();
  }

  #sleep(): void {
    if (!this.#isOpen) return;
    const { clock, everyMs } = this.#options;
    const now = clock.now();
    this.#timer?.[Symbol.dispose]();
    // The clock may have been set back since the time was said.
    this.#at = Math.min(this.#at, now + everyMs);
    this.#mustComeBy = this.#at;
    const isLast = this.#at - now <= LONGEST_TIMER_MS;
    this.#timer = isLast
      ? clock.at(this.#at, () => this.#look())
      : clock.at(now + LONGEST_TIMER_MS, () => this.#goOnSleeping(now + LONGEST_TIMER_MS));
  }

  /** If the clock was set back, only the time that was left counts. */
  #goOnSleeping(expected: number): void {
    this.#at -= Math.max(0, expected - this.#options.clock.now());
    this.#sleep();
  }

  #look(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#round?.end("another look has taken the place of this one");
    const round = new Round(() => this.#comeRound());
    this.#round = round;
    const now = this.#options.clock.now();
    this.#at = now + this.#options.everyMs;
    // A late loop stays late until it comes round.
    this.#mustComeBy = Math.min(this.#mustComeBy, now);
    const look = this.#lookOnce(round).finally(() => this.#looks.delete(look));
    this.#looks.add(look);
  }

  async #lookOnce(round: Round): Promise<void> {
    const { clock, log, look, failed, retryMs = Infinity } = this.#options;
    let next: number;
    try {
      next = (await look(round)) ?? Infinity;
    } catch (error) {
      log.warn({ reason: messageOf(error) }, failed);
      next = clock.now() + retryMs;
    }
    if (!round.goesOn()) return;
    this.#round = undefined;
    this.#at = Math.min(this.#at, next);
    this.#sleep();
  }

  #comeRound(): void {
    this.#timesRound++;
    this.#cameRoundAt = this.#options.clock.now();
    this.#mustComeBy = this.#cameRoundAt;
  }

  /** Stops looking; resolves when the looks under way have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOpen = false;
    this.#mustComeBy = Infinity;
    this.#timer?.[Symbol.dispose]();
    this.#round?.end("the loop is closed");
    this.#round = undefined;
    await Promise.all(this.#looks);
  }
}
