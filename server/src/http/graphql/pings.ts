/**
 * Keeps long connections alive, and notices clients that are gone: each is pinged every 15 s, a sixtieth of them at a time. All at
 * once 10,000 would hold the thread for more than 100 ms. Proxies close connections that are silent for a minute.
 */
import { every, type Clock } from "../../lib/clock.ts";

const EVERY_MS = 15_000;
const PARTS = 60;

export class Pings<Connection> implements Disposable {
  readonly #parts = Array.from({ length: PARTS }, () => new Set<Connection>());
  readonly #timer: Disposable;
  #added = 0;
  #due = 0;

  constructor(clock: Clock, ping: (connection: Connection) => void) {
    this.#timer = every(clock, EVERY_MS / PARTS, () => {
      this.#due = (this.#due + 1) % PARTS;
      for (const connection of this.#parts[this.#due]!) ping(connection);
    });
  }

  /** From now on, until what it answers is called. */
  add(connection: Connection): () => void {
    const part = this.#parts[this.#added++ % PARTS]!;
    part.add(connection);
    return () => void part.delete(connection);
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }
}
