/**
 * The connections of strangers, by the address that they come from. They are limited per address and in total: beyond
 * the limit one is closed for the new one. It is the one of its own address that has been open longest or, when there are too many in all, that
 * of the address that has most. So no address pushes out the connections of others that have fewer.
 */
import type { Duplex } from "node:stream";
import { Largest, unplaced, type Sized } from "../../fairness/largest.ts";

export type MostStrangers = { all: number; perAddress: number };

/** An address's connections, in the order in which they were opened. */
type Own = Sized & { address: string; sockets: Set<Duplex> };

export class Strangers {
  readonly #most: MostStrangers;
  readonly #byAddress = new Map<string, Own>();
  readonly #bySize = new Largest<Own>();
  #size = 0;

  constructor(most: MostStrangers) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** `isProxy`: one that is trusted, whose clients have addresses of their own; only the bound of all holds for it. */
  add(address: string, socket: Duplex, isProxy: boolean): void {
    const own = this.#byAddress.get(address) ?? this.#begin(address);
    own.sockets.add(socket);
    this.#grow(own, 1);
    if (!isProxy && own.size > this.#most.perAddress) this.#closeOldest(own);
    else if (this.#size > this.#most.all) this.#closeOldest(this.#bySize.first!);
  }

  /** Whether it was one. */
  delete(address: string, socket: Duplex): boolean {
    const own = this.#byAddress.get(address);
    if (!own?.sockets.delete(socket)) return false;
    this.#grow(own, -1);
    if (own.size > 0) return true;
    this.#byAddress.delete(address);
    this.#bySize.delete(own);
    return true;
  }

  has(address: string, socket: Duplex): boolean {
    return this.#byAddress.get(address)?.sockets.has(socket) ?? false;
  }

  #begin(address: string): Own {
    const own = { address, sockets: new Set<Duplex>(), ...unplaced };
    this.#byAddress.set(address, own);
    this.#bySize.add(own);
    return own;
  }

  #grow(own: Own, by: number): void {
    own.size += by;
    this.#size += by;
    this.#bySize.moved(own);
  }

  #closeOldest({ address, sockets }: Own): void {
    const oldest = sockets.values().next().value!;
    // Its own `close` comes later, and it must not be chosen twice.
    this.delete(address, oldest);
    oldest.destroy();
  }
}
