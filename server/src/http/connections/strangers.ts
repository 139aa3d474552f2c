/**
 * The connections of strangers, by the address that they come from. They are limited per address and in total: beyond
 * the limit one is closed for the new one. It is the one of its own address that has been open longest or, when there are too many in all, that
 * of the address that has most. So no address pushes out the connections of others that have fewer.
 */
import type { Duplex } from "node:stream";

export type MostStrangers = { all: number; perAddress: number };

export class Strangers {
  readonly #most: MostStrangers;
  /** In the order in which they were opened. */
  readonly #byAddress = new Map<string, Set<Duplex>>();
  /** At each number the addresses with so many connections: what to close is found in one step, also among 10,000. */
  readonly #bySize: Set<string>[] = [];
  #size = 0;

  constructor(most: MostStrangers) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** `isProxy`: one that is trusted, whose clients have addresses of their own; only the bound of all holds for it. */
  add(address: string, socket: Duplex, isProxy: boolean): void {
    const own = this.#byAddress.get(address) ?? new Set();
    if (own.size === 0) this.#byAddress.set(address, own);
    own.add(socket);
    this.#size++;
    this.#moved(address, own.size - 1, own.size);
    if (!isProxy && own.size > this.#most.perAddress) this.#close(address);
    else if (this.#size > this.#most.all) this.#close(this.#bySize.at(-1)!.values().next().value!);
  }

  /** Whether it was one. */
  delete(address: string, socket: Duplex): boolean {
    const own = this.#byAddress.get(address);
    if (!own?.delete(socket)) return false;
    if (own.size === 0) this.#byAddress.delete(address);
    this.#size--;
    this.#moved(address, own.size + 1, own.size);
    return true;
  }

  has(address: string, socket: Duplex): boolean {
    return this.#byAddress.get(address)?.has(socket) ?? false;
  }

  #close(address: string): void {
    const oldest = this.#byAddress.get(address)!.values().next().value!;
    // Its own `close` comes later, and it must not be chosen twice.
    this.delete(address, oldest);
    oldest.destroy();
  }

  #moved(address: string, from: number, to: number): void {
    this.#bySize[from]?.delete(address);
    if (to > 0) (this.#bySize[to] ??= new Set()).add(address);
    while (this.#bySize.at(-1)?.size === 0) this.#bySize.pop();
  }
}
