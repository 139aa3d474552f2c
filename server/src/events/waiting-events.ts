import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import { countToFire } from "./events-to-fire.ts";

/** A count of 10,000 takes 2 ms, so it is read so often; meanwhile what this process adds is counted. */
const COUNTED_EVERY_MS = 1_000;
const ORGANIZATIONS_REMEMBERED = 1_000;
const AGAIN_SECONDS = 5;

/** How many events of each organization are still to be fired, so that who publishes more than can be fired is told in time. */
export class WaitingEvents {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #counts = new LRUCache<OrganizationId, { at: number; counted: Promise<number>; added: number }>({
    max: ORGANIZATIONS_REMEMBERED,
  });

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** One more. Throws UNAVAILABLE. */
  async add(organizationId: OrganizationId): Promise<void> {
    const now = this.#clock.now();
    let kept = this.#counts.get(organizationId);
    if (!kept || now - kept.at >= COUNTED_EVERY_MS) {
      kept = { at: now, counted: countToFire(this.#database, organizationId, LIMITS.eventsWaiting), added: 0 };
      this.#counts.set(organizationId, kept);
    }
    try {
      if ((await kept.counted) + kept.added >= LIMITS.eventsWaiting) throw tooMany();
    } catch (error) {
      if (!(error instanceof Refusal)) this.#counts.delete(organizationId);
      throw error;
    }
    kept.added++;
  }
}

const tooMany = (): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    `${LIMITS.eventsWaiting} events of the organization are waiting to be fired, which is the limit: this one was not accepted; try again in a moment`,
    { retryAfter: AGAIN_SECONDS },
  );
