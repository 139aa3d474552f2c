import type { Clock } from "../lib/clock.ts";
import { LIMITS } from "../lib/limits.ts";
import { retryAfterMs } from "../outbound/retry-after.ts";

/** The pause that an endpoint last asked for with `Retry-After`, at most `LIMITS.llmPauseSeconds`. */
export class Pause {
  readonly #clock: Clock;
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A time further ahead than any pause dates from before the clock was set back. */
  isOn(): boolean {
    const leftMs = this.#until - this.#clock.now();
    return leftMs > 0 && leftMs <= LIMITS.llmPauseSeconds * 1000;
  }

  read(response: Parameters<typeof retryAfterMs>[0]): void {
    const ms = retryAfterMs(response, this.#clock.now());
    if (ms === 0) return;
    const until = this.#clock.now() + Math.min(ms, LIMITS.llmPauseSeconds * 1000);
    this.#until = this.isOn() ? Math.max(this.#until, until) : until;
  }
}
