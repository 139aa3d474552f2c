/**
 * Subscriptions, and requests that wait for a run. Each holds about 20 kB until it ends, whatever its text takes, and a
 * connection may have a hundred. So there is a global maximum, shared by the rule of `FairShare`.
 */
import { getHeapStatistics } from "node:v8";
import { FairShare } from "../../fairness/fair-share.ts";
import { Refusal } from "../../lib/errors.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";

/** Measured: 12.6 kB over a WebSocket, 20 kB as Server-Sent Events that wait behind others of their connection. */
const BYTES_EACH = 20_000;
const SHARE_OF_HEAP = 1 / 8;

const mostHere = (): number =>
  Math.min(LIMITS.lastingRequests, Math.floor((getHeapStatistics().heap_size_limit * SHARE_OF_HEAP) / BYTES_EACH));

export class Lasting {
  readonly #budget: FairShare;

  constructor(most = mostHere()) {
    this.#budget = new FairShare(most);
  }

  /** Until it is disposed. Throws UNAVAILABLE when the organization has too many. */
  begin(organizationId: OrganizationId | undefined): Disposable {
    if (!this.#budget.tryTake(organizationId, 1)) throw tooMany(this.#budget.total);
    return new Place(this.#budget, organizationId);
  }
}

class Place implements Disposable {
  readonly #budget: FairShare;
  readonly #organizationId: OrganizationId | undefined;
  #isOver = false;

  constructor(budget: FairShare, organizationId: OrganizationId | undefined) {
    this.#budget = budget;
    this.#organizationId = organizationId;
  }

  [Symbol.dispose](): void {
    if (!this.#isOver) this.#budget.give(this.#organizationId, 1);
    this.#isOver = true;
  }
}

const tooMany = (most: number): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    `too many subscriptions and waits of this organization are open (its share of the server's ${most} is used up): end some`,
    { retryAfter: 1 },
  );
