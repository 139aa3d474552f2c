/**
 * The memory that runs may hold: a part of the process's heap, shared by the rule of `FairShare`, and a part for one run
 * at a time that needs more than it finds there. So some run can always grow to what one run may hold, whatever the
 * others hold, and runs never wait for each other in a circle. Organizations take turns at waiting.
 */
import { FairShare } from "./fair-share.ts";
import type { OrganizationId } from "../lib/ids.ts";

type FairPoolOptions = {
  /** For all runs together. */
  sharedBytes: number;
  /** For the one run that has it to itself. */
  aloneBytes: number;
  /** What each organization may hold in any case; one that needs no more never needs the part for one. */
  ownBytes: number;
};

type Waiting = { charge: Charge; bytes: number; granted: () => void };

/** When there is room, this many of an organization's runs are considered: a small one need not wait behind a large one. */
const LOOKED_AT = 64;

export class FairPool {
  readonly #options: FairPoolOptions;
  readonly #shared: FairShare;
  #alone: Charge | undefined;
  /** In the order of the organizations' turns. */
  readonly #queues = new Map<OrganizationId | undefined, Waiting[]>();

  constructor(options: FairPoolOptions) {
    this.#options = options;
    this.#shared = new FairShare(options.sharedBytes);
  }

  /** What one run can ever hold. */
  get mostBytes(): number {
    return Math.max(this.#options.aloneBytes, this.#options.ownBytes);
  }

  /** What all runs hold together, and what they may. */
  get heldBytes(): number {
    return this.#shared.taken + (this.#alone?.bytes ?? 0);
  }
  get limitBytes(): number {
    return this.#shared.bytes + this.#options.aloneBytes;
  }

  /** Whether some run waits for memory. */
  get isWanted(): boolean {
    return this.#queues.size > 0;
  }

  /** A charge of nothing yet. */
  open(organizationId: OrganizationId | undefined): Charge {
    return new Charge(this, organizationId);
  }

  /** For `Charge`: whether it may hold this many bytes in all. */
  hold(charge: Charge, bytes: number): boolean {
    const { organizationId } = charge;
    const more = bytes - charge.bytes;
    if (charge === this.#alone) return bytes <= this.#options.aloneBytes;
    const isOwn = this.#shared.takenBy(organizationId) + more <= this.#options.ownBytes;
    if (isOwn || this.#shared.has(organizationId, more)) {
      this.#shared.take(organizationId, more);
      return true;
    }
    if (this.#alone || bytes <= this.#options.ownBytes || bytes > this.#options.aloneBytes) return false;
    this.#alone = charge;
    this.#shared.give(organizationId, charge.bytes);
    if (this.#queues.size > 0) queueMicrotask(() => this.#serve());
    return true;
  }

  /** For `Charge`: resolves when it may; false when `signal` aborts first. */
  wait(charge: Charge, bytes: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    const { organizationId } = charge;
    const queue = this.#queues.get(organizationId) ?? [];
    if (queue.length === 0) this.#queues.set(organizationId, queue);
    return new Promise((resolve) => {
      const aborted = (): void => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.#queues.delete(organizationId);
        resolve(false);
      };
      const granted = (): void => {
        signal.removeEventListener("abort", aborted);
        resolve(true);
      };
      const waiting = { charge, bytes, granted };
      queue.push(waiting);
      signal.addEventListener("abort", aborted, { once: true });
    });
  }

  /** For `Charge`: it no longer holds anything. */
  free(charge: Charge): void {
    if (charge === this.#alone) this.#alone = undefined;
    else this.#shared.give(charge.organizationId, charge.bytes);
    if (this.#queues.size > 0) this.#serve();
  }

  #serve(): void {
    for (let served = true; served;) {
      served = false;
      // A copy: whoever was served moves to the end.
      for (const [organizationId, queue] of Array.from(this.#queues)) {
        const index = queue.slice(0, LOOKED_AT).findIndex(({ charge, bytes }) => charge.tryHold(bytes));
        if (index < 0) continue;
        const [waiting] = queue.splice(index, 1);
        // To the end of the round; gone when nothing of it is left.
        this.#queues.delete(organizationId);
        if (queue.length > 0) this.#queues.set(organizationId, queue);
        waiting!.granted();
        served = true;
      }
    }
  }
}

/** What one run holds. */
export class Charge implements Disposable {
  readonly organizationId: OrganizationId | undefined;
  readonly #memory: FairPool;
  #bytes = 0;

  constructor(memory: FairPool, organizationId: OrganizationId | undefined) {
    this.#memory = memory;
    this.organizationId = organizationId;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether it may hold this much in all; if so, it does. Otherwise it keeps what it has. */
  tryHold(bytes: number): boolean {
    if (bytes <= this.#bytes) return true;
    if (!this.#memory.hold(this, bytes)) return false;
    this.#bytes = bytes;
    return true;
  }

  /** Waits until it may. It must hold nothing, so that nobody waits for a waiting run. */
  async hold(bytes: number, signal: AbortSignal): Promise<boolean> {
    return this.tryHold(bytes) || (await this.#memory.wait(this, bytes, signal));
  }

  [Symbol.dispose](): void {
    if (this.#bytes === 0) return;
    const { bytes } = this;
    this.#memory.free(this);
    this.#bytes -= bytes;
  }
}
