/**
 * A fair share of bytes, or of another amount, that is waited for: a part shared by the rule of `FairShare`, and a part for one
 * charge at a time that needs more than it finds there. So some run can always grow to what one run may hold, whatever the
 * others hold, and runs never wait for each other in a circle. Organizations take turns at waiting.
 */
import type { OrganizationId } from "../lib/ids.ts";
import { FairQueue } from "./fair-queue.ts";
import { FairShare } from "./fair-share.ts";

type FairPoolOptions = {
  /** For all together. */
  shared: number;
  /** For one charge at a time, which has it to itself. */
  alone: number;
  /** The amount that each organization may hold in any case; one that needs no more never needs the part for one. */
  own: number;
  /**
   * The amount up to which an organization may hold others while one of its charges has the part for one. Unless given, any amount:
   * charges that grow need it.
   */
  besideAlone?: number;
};

type Waiting = { charge: Charge; amount: number; granted: () => void };

/** When there is room, this many of an organization's charges are considered: a small one need not wait behind a large one. */
const LOOKED_AT = 64;

export class FairPool {
  readonly #options: FairPoolOptions;
  readonly #shared: FairShare;
  #alone: Charge | undefined;
  readonly #queue = new FairQueue<OrganizationId | undefined, Waiting>();

  constructor(options: FairPoolOptions) {
    this.#options = options;
    this.#shared = new FairShare(options.shared);
  }

  /** The most that one charge can ever hold. */
  get most(): number {
    return Math.max(this.#options.alone, this.#options.own);
  }

  /** The amount that all hold together, and the limit. */
  get held(): number {
    return this.#shared.taken + (this.#alone?.amount ?? 0);
  }
  get limit(): number {
    return this.#shared.total + this.#options.alone;
  }

  /** Whether a charge waits for room. */
  get isWanted(): boolean {
    return this.#queue.size > 0;
  }

  /** A charge of nothing yet. */
  open(organizationId: OrganizationId | undefined): Charge {
    return new Charge(this, organizationId);
  }

  /** For `Charge`: whether it may hold this much in all. */
  hold(charge: Charge, amount: number): boolean {
    const { organizationId } = charge;
    const more = amount - charge.amount;
    if (charge === this.#alone) return amount <= this.#options.alone;
    const shared = this.#shared.takenBy(organizationId) + more;
    const { own, besideAlone = Infinity } = this.#options;
    const isBeside = this.#alone !== undefined && this.#alone.organizationId === organizationId;
    if (shared <= own || (this.#shared.has(organizationId, more) && !(isBeside && shared > besideAlone))) {
      this.#shared.take(organizationId, more);
      return true;
    }
    if (this.#alone || amount <= own || amount > this.#options.alone || shared - amount > besideAlone) return false;
    this.#alone = charge;
    this.#shared.give(organizationId, charge.amount);
    if (this.#queue.size > 0) queueMicrotask(() => this.#serve());
    return true;
  }

  /** For `Charge`: resolves when it may; false when `signal` aborts first. */
  wait(charge: Charge, amount: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    const { organizationId } = charge;
    return new Promise((resolve) => {
      const aborted = (): void => {
        this.#queue.delete(organizationId, waiting);
        resolve(false);
      };
      const granted = (): void => {
        signal.removeEventListener("abort", aborted);
        resolve(true);
      };
      const waiting = { charge, amount, granted };
      this.#queue.add(organizationId, waiting);
      signal.addEventListener("abort", aborted, { once: true });
    });
  }

  /** For `Charge`: it holds only this much from now on. */
  lessen(charge: Charge, amount: number): void {
    const { organizationId } = charge;
    if (charge !== this.#alone) this.#shared.give(organizationId, charge.amount - amount);
    else if (this.#shared.has(organizationId, amount)) {
      this.#shared.take(organizationId, amount);
      this.#alone = undefined;
    }
    if (this.#queue.size > 0) queueMicrotask(() => this.#serve());
  }

  /** For `Charge`: it no longer holds anything. */
  free(charge: Charge): void {
    if (charge === this.#alone) this.#alone = undefined;
    else this.#shared.give(charge.organizationId, charge.amount);
    if (this.#queue.size > 0) this.#serve();
  }

  #serve(): void {
    this.#queue.takeAccepted(({ charge, amount, granted }) => {
      const isHeld = charge.tryHold(amount);
      if (isHeld) granted();
      return isHeld;
    }, LOOKED_AT);
  }
}

/** The amount that one run, answer or call holds. */
export class Charge implements Disposable {
  readonly organizationId: OrganizationId | undefined;
  readonly #pool: FairPool;
  #amount = 0;

  constructor(pool: FairPool, organizationId: OrganizationId | undefined) {
    this.#pool = pool;
    this.organizationId = organizationId;
  }

  get amount(): number {
    return this.#amount;
  }

  /** Whether it may hold this much in all; if so, it does. Otherwise it keeps what it has. */
  tryHold(amount: number): boolean {
    if (amount <= this.#amount) return true;
    if (!this.#pool.hold(this, amount)) return false;
    this.#amount = amount;
    return true;
  }

  /** Waits until it may. It must hold nothing, so that nobody waits for a waiting charge. */
  async hold(amount: number, signal: AbortSignal): Promise<boolean> {
    return this.tryHold(amount) || (await this.#pool.wait(this, amount, signal));
  }

  /** Gives back all but this much. */
  lessenTo(amount: number): void {
    if (amount >= this.#amount) return;
    this.#pool.lessen(this, amount);
    this.#amount = amount;
  }

  [Symbol.dispose](): void {
    if (this.#amount === 0) return;
    const { amount } = this;
    this.#pool.free(this);
    this.#amount -= amount;
  }
}
