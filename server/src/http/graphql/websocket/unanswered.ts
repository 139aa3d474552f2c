/**
 * The memory of a WebSocket's messages until they are answered and the reader has the answers. graphql-ws keeps each with its
 * text until then, and what it sends waits for a client that does not read.
 */
import type { Caller } from "../../../auth/caller.ts";
import { heldBytes } from "../../../lib/json/held-bytes.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { SMALL_BYTES, type Arrival, type Arrivals } from "../../connections/arrivals.ts";

/** The memory that graphql-ws takes for any message: promises, closures, its parts. */
const BYTES_PER_MESSAGE = 1_024;

/** The memory of one message, held until graphql-ws and the operation have both released it. */
export class Held {
  readonly #unanswered: Unanswered;
  readonly #bytes: number;
  #holders = 1;

  constructor(unanswered: Unanswered, bytes: number) {
    this.#unanswered = unanswered;
    this.#bytes = bytes;
  }

  share(): void {
    this.#holders++;
  }

  release(): void {
    if (--this.#holders === 0) this.#unanswered.give(this.#bytes);
  }
}

export class Unanswered {
  readonly #arrivals: Arrivals;
  readonly #caller: () => Caller | undefined;
  #bytes = 0;
  /** Set while it is worth counting. */
  #arrival: Arrival | undefined;

  constructor(arrivals: Arrivals, caller: () => Caller | undefined) {
    this.#arrivals = arrivals;
    this.#caller = caller;
  }

  /** False when there is no room for that many more bytes. */
  take(bytes: number): boolean {
    const all = this.#bytes + bytes;
    if (all > SMALL_BYTES) {
      if (all > LIMITS.unansweredBytes && !this.#caller()) return false;
      if (!(this.#arrival ??= this.#begin()).hold(all)) return false;
    }
    this.#bytes = all;
    return true;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes > SMALL_BYTES) return void this.#arrival?.hold(this.#bytes);
    this.#arrival?.end();
    this.#arrival = undefined;
  }

  /** Undefined when there is no room for the message. */
  hold(text: string): Held | undefined {
    const bytes = BYTES_PER_MESSAGE + heldBytes(text);
    return this.take(bytes) ? new Held(this, bytes) : undefined;
  }

  #begin(): Arrival {
    const begun = this.#arrivals.begin(() => {});
    begun.whole();
    const owner = this.#caller()?.organizationId;
    if (owner !== undefined) begun.belongsTo(owner);
    return begun;
  }
}
