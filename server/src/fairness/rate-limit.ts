/**
 * A rate limit: so many at once, then one each `everyMs` (a token bucket, as GCRA: all that is kept of a key is when its whole
 * burst is free again). Each process counts for itself. A clock that is set back holds nobody up for longer than a whole burst takes.
 * Requests per minute are counted by rate-window.ts instead, exactly, and over all processes by `rates/database-windows.ts`.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";

export type Rate = { burst: number; everyMs: number };

/** When the whole burst of each key is free again, ms since 1970; undefined: it is. */
export type FreeAt<Key> = { get(key: Key): number | undefined; set(key: Key, freeAt: number): unknown };

/** Keys, about 200 bytes each. */
const REMEMBERED = 10_000;

export class RateLimit<Key extends string | object> {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #freeAt: FreeAt<Key>;

  /** `freeAt`: 10,000 keys, those used last, if left out. */
  constructor(clock: Clock, rate: Rate, freeAt: FreeAt<Key> = new LRUCache<Key, number>({ max: REMEMBERED })) {
    this.#clock = clock;
    this.#rate = rate;
    this.#freeAt = freeAt;
  }

  /** Returns in how many ms there is room for one more; at most 0 if there is now. Counts nothing. */
  waitMs(key: Key): number {
    const { burst, everyMs } = this.#rate;
    const now = this.#clock.now();
    return this.#read(key, now) + everyMs - now - burst * everyMs;
  }

  /** Counts one if there is room. Returns the same as `waitMs` before it. */
  take(key: Key): number {
    const waitMs = this.waitMs(key);
    if (waitMs <= 0) this.#freeAt.set(key, this.#read(key, this.#clock.now()) + this.#rate.everyMs);
    return waitMs;
  }

  #read(key: Key, now: number): number {
    const freeAt = Math.max(this.#freeAt.get(key) ?? 0, now);
    const latest = now + this.#rate.burst * this.#rate.everyMs;
    if (freeAt <= latest) return freeAt;
    this.#freeAt.set(key, latest);
    return latest;
  }
}
