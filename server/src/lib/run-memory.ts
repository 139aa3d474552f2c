/**
 * The memory that runs may hold: a part of the process's heap, shared by the rule of `ByteBudget`, and a part for one run
 * at a time that needs more than it finds there. So some run can always go on up to what one run may hold, whatever the
 * others hold, and none waits for one that waits for it. Who waits is served by turns of organizations.
 */
import { ByteBudget } from "./byte-budget.ts";
import type { OrganizationId } from "./ids.ts";

export type RunMemoryOptions = {
  /** For all runs together. */
  sharedBytes: number;
  /** For the one that has it for itself. */
  aloneBytes: number;
  /** What each organization may hold in any case; who needs no more never needs the part for one. */
  ownBytes: number;
};

type Waiting = { charge: Charge; bytes: number; granted: () => void };

/** So many of an organization's are looked at when there is room again: a small one need not wait behind a large one. */
const LOOKED_AT = 64;

export class RunMemory {
  readonly #options: RunMemoryOptions;
  readonly #shared: ByteBudget;
  #alone: Charge | undefined;
  /** In the order in which organizations have their turn. */
  readonly #queues = new Map<OrganizationId | undefined, Waiting[]>();

  constructor(options: RunMemoryOptions) {
    this.#options = options;
    this.#shared = new ByteBudget(options.sharedBytes);
  }

  /** What one run can ever hold. */
  get mostBytes(): number {
    return Math.max(this.#options.aloneBytes, this.#options.ownBytes);
  }

  /** Whether some run waits for memory. */
  get isWanted(): boolean {
    return this.#queues.size > 0;
  }

  /** A charge of nothing yet. */
  open(organizationId: OrganizationId | undefined): Charge {
    return new Charge(this, organizationId);
  }

  /** For `Charge`: whether it may hold so many bytes in all. */
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

  /** For `Charge`: it holds nothing any more. */
  free(charge: Charge): void {
    if (charge === this.#alone) this.#alone = undefined;
    else this.#shared.give(charge.organizationId, charge.bytes);
    if (this.#queues.size > 0) this.#serve();
  }

  #serve(): void {
    for (let served = true; served;) {
      served = false;
      // A copy: who was served stands at the end of it.
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
  readonly #memory: RunMemory;
  #bytes = 0;

  constructor(memory: RunMemory, organizationId: OrganizationId | undefined) {
    this.#memory = memory;
    this.organizationId = organizationId;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether it may hold so much in all; it then does. What it has it keeps. */
  tryHold(bytes: number): boolean {
    if (bytes <= this.#bytes) return true;
    if (!this.#memory.hold(this, bytes)) return false;
    this.#bytes = bytes;
    return true;
  }

  /** Waits until it may. It must hold nothing, so that who waits keeps nobody waiting. */
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
