/**
 * A rate limit per minute, as pure rules over a time that is given, and in the memory of one process. Up to 1,000 a minute each
 * request is remembered for 60 s, so no 60 seconds have more than the plan allows: exact, at 8 bytes a request. Above
 * that, a bucket of one second's worth that drains at the plan's rate (GCRA): 16 bytes, and any 60 seconds have at most a
 * sixtieth more.
 *
 * A clock that is set back by up to a minute stands still until it is there again; by more, the window restarts, so that
 * nobody waits for an hour.
 */
import type { Clock } from "../lib/clock.ts";

export const WINDOW_MS = 60_000;
/** The highest limit that is counted exactly. */
export const LOGGED_MOST = 1_000;

export type Window = {
  /** Counts a request if it has room. */
  take(limit: number, now: number): boolean;
  /** How many more requests it has room for now, and in how many ms it has room for one more than that; 0: all are free. */
  look(limit: number, now: number): Room;
  /** It remembers nothing any longer. */
  isEmpty(now: number): boolean;
};
export type Room = { remaining: number; resetMs: number };

export const createWindow = (limit: number): Window => (limit > LOGGED_MOST ? new Bucket() : new TimeLog());

/** Whether this window counts as one for this limit does. */
export const fits = (window: Window, limit: number): boolean => window instanceof Bucket === limit > LOGGED_MOST;

/** The most requests that a bucket takes at once: one second's worth. */
export const burstOf = (limit: number): number => Math.ceil(limit / 60);

const LEAST_ROOM = 16;

/** The times of the last minute's requests, in a ring that is as large as they need. */
class TimeLog implements Window {
  #times = new Float64Array(LEAST_ROOM);
  #first = 0;
  #count = 0;

  take(limit: number, now: number): boolean {
    const time = this.#forget(now);
    if (this.#count >= limit) return false;
    if (this.#count === this.#times.length) this.#grow();
    this.#times[(this.#first + this.#count++) % this.#times.length] = time;
    return true;
  }

  look(limit: number, now: number): Room {
    const time = this.#forget(now);
    if (this.#count === 0) return { remaining: limit, resetMs: 0 };
    // When a limit was lowered, more than the first may have to leave.
    const leaving = this.#at(Math.max(0, this.#count - limit));
    return { remaining: Math.max(0, limit - this.#count), resetMs: leaving + WINDOW_MS - time };
  }

  isEmpty(now: number): boolean {
    this.#forget(now);
    return this.#count === 0;
  }

  /** Returns the time to count with. */
  #forget(now: number): number {
    const newest = this.#count === 0 ? now : this.#at(this.#count - 1);
    if (newest > now + WINDOW_MS) this.#count = 0;
    const time = this.#count === 0 ? now : Math.max(now, newest);
    while (this.#count > 0 && this.#at(0) <= time - WINDOW_MS) {
      this.#first = (this.#first + 1) % this.#times.length;
      this.#count--;
    }
    return time;
  }

  #at(index: number): number {
    return this.#times[(this.#first + index) % this.#times.length]!;
  }

  #grow(): void {
    const larger = new Float64Array(this.#times.length * 2);
    for (let index = 0; index < this.#count; index++) larger[index] = this.#at(index);
    this.#times = larger;
    this.#first = 0;
  }
}

class Bucket implements Window {
  #level = 0;
  #at = 0;

  take(limit: number, now: number): boolean {
    this.#drain(limit, now);
    if (this.#level + 1 > burstOf(limit) + ROUNDING) return false;
    this.#level++;
    return true;
  }

  look(limit: number, now: number): Room {
    this.#drain(limit, now);
    return bucketRoom(limit, this.#level);
  }

  isEmpty(now: number): boolean {
    return now - this.#at >= WINDOW_MS || this.#at > now + WINDOW_MS;
  }

  #drain(limit: number, now: number): void {
    if (this.#at > now + WINDOW_MS) this.#level = this.#at = 0;
    const time = Math.max(now, this.#at);
    this.#level = Math.max(0, this.#level - ((time - this.#at) * limit) / WINDOW_MS);
    this.#at = time;
  }
}

/** Fractions of a request that sums of small numbers gather. */
const ROUNDING = 1e-6;

export function bucketRoom(limit: number, level: number): Room {
  if (level <= ROUNDING) return { remaining: burstOf(limit), resetMs: 0 };
  const remaining = Math.max(0, Math.floor(burstOf(limit) - level + ROUNDING));
  return { remaining, resetMs: ((level - (burstOf(limit) - remaining - 1)) * WINDOW_MS) / limit };
}

/** After the request was counted, or refused. */
export type Taken = Room & { isTaken: boolean };

/** A window for each owner, in the memory of this process. An owner that asked nothing for a minute is forgotten with the first
 * request that is counted a minute later. */
export class RateWindows<Owner> {
  readonly #clock: Clock;
  readonly #windows = new Map<Owner, Window>();
  #forgotAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#forgotAt = clock.now();
  }

  /** How many have a window. */
  get size(): number {
    return this.#windows.size;
  }

  /** Counts a request, if there is room for it. */
  take(owner: Owner, limit: number): Taken {
    const now = this.#clock.now();
    if (Math.abs(now - this.#forgotAt) >= WINDOW_MS) this.#forget(now);
    let window = this.#windowOf(owner, limit);
    if (!window) this.#windows.set(owner, (window = createWindow(limit)));
    const isTaken = window.take(limit, now);
    return { isTaken, ...window.look(limit, now) };
  }

  /** The present state, without counting. */
  look(owner: Owner, limit: number): Room {
    return (this.#windowOf(owner, limit) ?? createWindow(limit)).look(limit, this.#clock.now());
  }

  /** Counts made in another way are worth nothing. */
  #windowOf(owner: Owner, limit: number): Window | undefined {
    const window = this.#windows.get(owner);
    return window && fits(window, limit) ? window : undefined;
  }

  #forget(now: number): void {
    this.#forgotAt = now;
    for (const [owner, window] of this.#windows) if (window.isEmpty(now)) this.#windows.delete(owner);
  }
}
