/**
 * Connections that were refused because of an overload, and are not read for a while. A refusal costs the thread up to half of what a
 * run of three steps does, and those who are answered pay for it. So however many ask again at once, only so many refused connections
 * a second are read again; what the others send waits in the kernel, costs nothing, and slows its sender down (TCP's back-pressure).
 * Lines take turns as at the entrance, so whoever has few refused connections is read again soon.
 */
import { every, type Clock } from "../lib/clock.ts";
import { TurnQueue } from "../lib/turn-queue.ts";
import type { Whose } from "./entrance.ts";

/** About a twentieth of the thread's time (`npm run bench -- --only overload`). */
const READ_AGAIN_PER_SECOND = 400;
const EVERY_MS = 25;
const EACH_TIME = (READ_AGAIN_PER_SECOND * EVERY_MS) / 1_000;
const STRANGERS = "strangers";

/** A socket. */
export type Readable = { pause(): unknown; resume(): unknown; readonly destroyed: boolean };

export class HeldBack implements Disposable {
  readonly #clock: Clock;
  /** `undefined`: the next of the strangers. */
  readonly #lines = new TurnQueue<string, Readable | undefined>();
  readonly #strangers = new TurnQueue<string, Readable>();
  readonly #held = new Set<Readable>();
  /** Held in this turn of the event loop. */
  #fresh: Readable[] = [];
  #timer: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many are. */
  get size(): number {
    return this.#held.size;
  }

  /** Until its turn comes. Answers in how many seconds that will be, one at least, for `Retry-After`. */
  hold(whose: Whose, connection: Readable): number {
    const { line, isStranger } = whose;
    if (!this.#held.has(connection)) {
      this.#held.add(connection);
      if (isStranger) this.#strangers.add(line, connection);
      this.#lines.add(isStranger ? STRANGERS : line, isStranger ? undefined : connection);
      // Once it is answered: node:http reads on when it has dropped what is left of a request.
      if (this.#fresh.push(connection) === 1) setImmediate(this.#pause);
      this.#timer ??= every(this.#clock, EVERY_MS, this.#release);
    }
    return Math.max(1, Math.ceil(this.#ahead(whose) / READ_AGAIN_PER_SECOND));
  }

  /** How many turns come before those of a line are over, with as many of the others. */
  #ahead({ line, isStranger }: Whose): number {
    const own = isStranger ? this.#strangers.sizeOf(line) * this.#strangers.groups : this.#lines.sizeOf(line);
    return Math.min(this.size, own * this.#lines.groups);
  }

  readonly #pause = (): void => {
    for (const connection of this.#fresh) if (this.#held.has(connection)) connection.pause();
    this.#fresh = [];
  };

  readonly #release = async (): Promise<void> => {
    for (let left = EACH_TIME; left > 0 && this.#lines.size > 0;) {
      const connection = this.#lines.take() ?? this.#strangers.take()!;
      this.#held.delete(connection);
      if (connection.destroyed) continue;
      connection.resume();
      left--;
    }
    if (this.#lines.size > 0) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  };

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }
}
