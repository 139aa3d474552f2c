/**
 * Connections that were refused because of an overload are not read for a while. A refusal costs the thread up to half of what a run of
 * three steps does, at the expense of those who are answered. So however many ask again at once, only a fixed number of refused
 * connections is read again each second; what the others send waits in the kernel, costs nothing, and slows its sender down (TCP's
 * back-pressure). A connection waits for one turn for each of its refusals: several requests of one read may be refused. Lines take turns
 * as at the entrance, so a caller with few refused connections is read again soon.
 */
import { every, type Clock } from "../../lib/clock.ts";
import { FairQueue } from "../../fairness/fair-queue.ts";
import type { Line } from "./entrance.ts";

/** About a twentieth of the thread's time (`npm run bench -- --only overload`). */
const READ_AGAIN_PER_SECOND = 400;
const EVERY_MS = 25;
const EACH_TIME = (READ_AGAIN_PER_SECOND * EVERY_MS) / 1_000;
const STRANGERS = "strangers";
/** A closed connection counts as this part of one: removing thousands at once would hold the thread. */
const OF_A_CLOSED_ONE = 1 / 200;

/** A socket, or a WebSocket. */
export type Readable = { pause(): unknown; resume(): unknown; readonly destroyed: boolean };

/** `turns`: how many it still waits for. */
type Held = { line: Line; turns: number };

export class HeldBack implements Disposable {
  readonly #clock: Clock;
  /** `undefined`: the next of the strangers. */
  readonly #lines = new FairQueue<string, Readable | undefined>();
  readonly #strangers = new FairQueue<string, Readable>();
  readonly #held = new Map<Readable, Held>();
  /** The turns of all of them together. */
  #turns = 0;
  /** Held in this tick of the event loop. */
  #fresh: Readable[] = [];
  #timer: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many connections are held back. */
  get size(): number {
    return this.#held.size;
  }

  /** Stops reading the connection until its turn comes. Returns in how many seconds that will be, at least 1, for `Retry-After`. */
  hold(line: Line, connection: Readable): number {
    let held = this.#held.get(connection);
    if (!held) {
      this.#held.set(connection, (held = { line, turns: 0 }));
      this.#add(line, connection);
      // Once it is answered: node:http reads on when it has dropped what is left of a request.
      if (this.#fresh.push(connection) === 1) setImmediate(this.#pause);
      this.#timer ??= every(this.#clock, EVERY_MS, this.#release);
    }
    held.turns++;
    this.#turns++;
    return Math.max(1, Math.ceil(this.#ahead(held) / READ_AGAIN_PER_SECOND));
  }

  #add({ name, isStranger }: Line, connection: Readable): void {
    if (isStranger) this.#strangers.add(name, connection);
    this.#lines.add(isStranger ? STRANGERS : name, isStranger ? undefined : connection);
  }

  /** How many turns come before its last one is over, with as many of its line and of the others. */
  #ahead({ line: { name, isStranger }, turns }: Held): number {
    const own = isStranger ? this.#strangers.sizeOf(name) * this.#strangers.groups : this.#lines.sizeOf(name);
    return Math.min(this.#turns, own * this.#lines.groups * turns);
  }

  readonly #pause = (): void => {
    for (const connection of this.#fresh) if (this.#held.has(connection)) connection.pause();
    this.#fresh = [];
  };

  readonly #release = (): undefined => {
    for (let left = EACH_TIME; left > 0 && this.#lines.size > 0;) {
      const connection = this.#lines.take() ?? this.#strangers.take()!;
      left -= this.#turn(connection) ? 1 : OF_A_CLOSED_ONE;
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
    this.#add(held.line, connection);
    return true;
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }
}
