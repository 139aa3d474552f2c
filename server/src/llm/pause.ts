import type { Clock } from "../lib/clock.ts";
import { LIMITS } from "../lib/limits.ts";
import { retryAfterMs } from "../outbound/retry-after.ts";

type Answered = Parameters<typeof retryAfterMs>[0];

/** After the first 429 that says no time. */
const FIRST_MS = 1_000;
/** Calls that were held go on this far apart, spread over a minute at most. */
const APART_MS = 50;
const SPREAD_MS = 60_000;

/** How long an endpoint wants to be left alone: as it said with `Retry-After`, or as we guess from its refusals. */
export class Pause {
  readonly #clock: Clock;
  /** As the endpoint said. */
  #asked = { since: 0, until: 0 };
  /** As we guess. */
  #guessed = { ms: 0, until: 0 };
  /** Calls that were held since the pause began. */
  #held = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For people who wait for an answer: a pause of more than `LIMITS.llmPauseSeconds` counts as one of these. */
  isOn(): boolean {
    const most = this.#asked.since + LIMITS.llmPauseSeconds * 1_000;
    const isAsked = this.#isAhead(Math.min(this.#asked.until, most), LIMITS.llmPauseSeconds);
    return isAsked || this.#isAhead(this.#guessed.until, LIMITS.modelHoldSeconds);
  }

  /** When a call that is held may come again, each a little later than the one before. Undefined: it may ask now. */
  heldUntil(): number | undefined {
    const ends = [
      this.#isAhead(this.#asked.until, LIMITS.retryAfterSeconds) ? this.#asked.until : 0,
      this.#isAhead(this.#guessed.until, LIMITS.modelHoldSeconds) ? this.#guessed.until : 0,
    ];
    const until = Math.max(...ends);
    if (until === 0) return undefined;
    return until + ((APART_MS * this.#held++) % SPREAD_MS);
  }

  read(response: Answered): void {
    const now = this.#clock.now();
    const ms = retryAfterMs(response, now);
    if (ms > 0) {
      if (!this.#isAhead(this.#asked.until, LIMITS.retryAfterSeconds)) this.#held = 0;
      this.#asked = { since: now, until: Math.max(now + ms, this.isOn() ? this.#asked.until : 0) };
    } else if (response.status === 429) this.#guess(now);
    else if (response.status < 300) this.#guessed.ms = this.#guessed.ms <= FIRST_MS ? 0 : this.#guessed.ms / 2;
  }

  #guess(now: number): void {
    // Refusals of calls that were under way together are one.
    if (this.#isAhead(this.#guessed.until, LIMITS.modelHoldSeconds)) return;
    const ms = Math.min(Math.max(FIRST_MS, 2 * this.#guessed.ms), LIMITS.modelHoldSeconds * 1_000);
    this.#guessed = { ms, until: now + ms };
    this.#held = 0;
  }

  /** A time further ahead than any pause dates from before the clock was set back. */
  #isAhead(time: number, mostSeconds: number): boolean {
    const leftMs = time - this.#clock.now();
    return leftMs > 0 && leftMs <= mostSeconds * 1_000;
  }
}
