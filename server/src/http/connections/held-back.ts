/**
 * Connections that were refused because of an overload, and are not read for a while. A refusal costs the thread up to half of what a
 * run of three steps does, and those who are answered pay for it. So however many ask again at once, only so many refused connections
 * a second are read again; what the others send waits in the kernel, costs nothing, and slows its sender down (TCP's back-pressure).
 * A connection takes as many turns as it had refusals: of what was read with its first request or operation more may be refused.
 * Lines take turns as at the entrance, so a caller with few refused connections is read again soon.
 */
import { every, type Clock } from "../../lib/clock.ts";
import { FairQueue } from "../../fairness/fair-queue.ts";
import type { Whose } from "./entrance.ts";

/** About a twentieth of the thread's time (`npm run bench -- --only overload`). */
const READ_AGAIN_PER_SECOND = 400;
const EVERY_MS = 25;
const EACH_TIME = (READ_AGAIN_PER_SECOND * EVERY_MS) / 1_000;
const STRANGERS = "strangers";
/** The number that goes in one turn: thousands at once would hold the thread. */
const OF_ONE_THAT_HAS_GONE = 1 / 200;

/** A socket, or a WebSocket. */
export type Readable = { pause(): unknown; resume(): unknown; readonly destroyed: boolean };

/** `turns`: that it still takes. */
type Held = { whose: Whose; turns: number };

export class HeldBack implements Disposable {
  readonly #clock: Clock;
  /** `undefined`: the next of the strangers. */
  readonly #lines = new FairQueue<string, Readable | undefined>();
  readonly #strangers = new FairQueue<string, Readable>();
  readonly #held = new Map<Readable, Held>();
  /** All of them together. */
  #turns = 0;
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
    let held = this.#held.get(connection);
    if (!held) {
      this.#held.set(connection, (held = { whose, turns: 0 }));
      this.#add(whose, connection);
      // Once it is answered: node:http reads on when it has dropped what is left of a request.
      if (this.#fresh.push(connection) === 1) setImmediate(this.#pause);
      this.#timer ??= every(this.#clock, EVERY_MS, this.#release);
    }
    held.turns++;
    this.#turns++;
    return Math.max(1, Math.ceil(this.#ahead(held) / READ_AGAIN_PER_SECOND));
  }

  #add({ line, isStranger }: Whose, connection: Readable): void {
    if (isStranger) this.#strangers.add(line, connection);
    this.#lines.add(isStranger ? STRANGERS : line, isStranger ? undefined : connection);
  }

  /** How many turns come before its last one is over, with as many of its line and of the others. */
  #ahead({ whose: { line, isStranger }, turns }: Held): number {
    const own = isStranger ? this.#strangers.sizeOf(line) * this.#strangers.groups : this.#lines.sizeOf(line);
    return Math.min(this.#turns, own * this.#lines.groups * turns);
  }

  readonly #pause = (): void => {
    for (const connection of this.#fresh) if (this.#held.has(connection)) connection.pause();
    this.#fresh = [];
  };

  readonly #release = (): undefined => {
    for (let left = EACH_TIME; left > 0 && this.#lines.size > 0;) {
      const connection = this.#lines.take() ?? this.#strangers.take()!;
      left -= this.#turn(connection) ? 1 : OF_ONE_THAT_HAS_GONE;
    }
    if (this.#lines.size > 0) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  };

  /** False when it has gone. */
  #turn(connection: Readable): boolean {
    const held = this.#held.get(connection)!;
    if (connection.destroyed || held.turns === 1) {
      this.#held.delete(connection);
      this.#turns -= held.turns;
      if (connection.destroyed) return false;
      connection.resume();
      return true;
    }
    held.turns--;
    this.#turns--;
    this.#add(held.whose, connection);
    return true;
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }
}
