/**
 * Who is refused when too much waits: the rule of controlled delay (CoDel), for each line by itself. A request that
 * waits for a moment is a burst, which a queue is for. When every request of a line has waited too long for half a second, more
 * come than can be answered, and waiting longer helps nobody: those that have waited longest are refused, so that the others are
 * answered in time and the thread is never idle. Nothing has to be set to what a machine can do.
 */
import { LRUCache } from "lru-cache";
import { LIMITS } from "../../lib/limits.ts";

/** A line is too slow when all of it waits half as long as one may at most. */
const TOO_LONG_MS = LIMITS.waitToBeginMs / 2;
const FOR_MS = 500;
/** After this long without a late request it starts over. */
const FORGOTTEN_MS = 4 * FOR_MS;
/** Lines that are too slow, about 200 bytes each. A forgotten one starts over. */
const REMEMBERED = 10_000;

export class Overload {
  readonly #late = new LRUCache<string, { since: number; last: number }>({ max: REMEMBERED });

  /** How long one of a line waited that begins, or is refused, now. */
  note(line: string, waitedMs: number, now: number): void {
    if (waitedMs <= TOO_LONG_MS) return void this.#late.delete(line);
    const late = this.#late.get(line);
    if (!late || now - late.last > FORGOTTEN_MS) this.#late.set(line, { since: now, last: now });
    else late.last = now;
  }

  /** Whether all of this line have waited too long for so long. */
  isOver(line: string, now: number): boolean {
    const late = this.#late.get(line);
    return late !== undefined && late.last - late.since >= FOR_MS && now - late.last <= FORGOTTEN_MS;
  }
}
