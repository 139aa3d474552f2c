/**
 * When requests are begun: for 5 ms of a turn of the event loop, the others in the next turns, by turns of organizations and,
 * of strangers, of addresses. libuv reads on within a turn, up to 48 times 1,024 connections, as long as clients that were
 * answered there ask again: 2,000 strangers held the thread for 3.8 s.
 */
import type { Exchange } from "./answer.ts";

const BEGIN_MS = 5;

type Waiting = { exchange: Exchange; next?: Waiting };
type Line = { first: Waiting; last: Waiting };

export class Beginnings {
  readonly #begin: (exchange: Exchange) => void;
  readonly #lines = new Map<string, Line>();
  /** When the first of this turn began, ms. */
  #since: number | undefined;

  constructor(begin: (exchange: Exchange) => void) {
    this.#begin = begin;
  }

  /** Whether this one may begin at once: there is time, and nobody waits. */
  isOpen(): boolean {
    if (this.#since === undefined) {
      this.#nextTurn();
      return true;
    }
    return this.#lines.size === 0 && this.#hasTime();
  }

  /** It begins when the turn of `whose` has come, unless its client is gone by then. */
  wait(whose: string, exchange: Exchange): void {
    const line = this.#lines.get(whose);
    if (line) line.last = line.last.next = { exchange };
    else {
      const first = { exchange };
      this.#lines.set(whose, { first, last: first });
    }
  }

  #nextTurn(): void {
    this.#since = performance.now();
    setImmediate(this.#round);
  }

  #hasTime(): boolean {
    return performance.now() - this.#since! < BEGIN_MS;
  }

  readonly #round = (): void => {
    this.#since = undefined;
    if (this.#lines.size === 0) return;
    this.#nextTurn();
    this.#serve();
  };

  #serve(): void {
    for (const [whose, line] of this.#lines) {
      const { exchange, next } = line.first;
      // To the end, behind all others.
      this.#lines.delete(whose);
      if (next) {
        line.first = next;
        this.#lines.set(whose, line);
      }
      if (!exchange.request.socket.destroyed) this.#begin(exchange);
      // A tick comes when all that follows from it at once is done.
      queueMicrotask(() => process.nextTick(this.#serveMore));
      return;
    }
  }

  readonly #serveMore = (): void => {
    if (this.#since !== undefined && this.#hasTime()) this.#serve();
  };
}
