/**
 * How often a user may sign in, move a session to another organization, and change the password: so many at once and then one a
 * second. Each is an event in the audit of an organization, counts against no plan, and whoever does it has proven who they are:
 * without a bound a member could fill the disk, and bury in an organization's audit what others did there. Each process counts
 * for itself.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";

export type SignIns = {
  /** Counts one. Throws RATE_LIMITED. */
  count(userId: UserId): void;
};

const BURST = LIMITS.signInsPerUser;
const EVERY_MS = 1_000;
/** About 200 bytes each. */
const REMEMBERED = 10_000;

export function createSignIns(clock: Clock): SignIns {
  /** GCRA: for each user when all are free again. */
  const freeAt = new LRUCache<UserId, number>({ max: REMEMBERED });
  return {
    count(userId) {
      const now = clock.now();
      // A clock that was set back holds nobody up for longer than all of them take.
      const free = Math.min(Math.max(freeAt.get(userId) ?? 0, now), now + BURST * EVERY_MS);
      const waitMs = free + EVERY_MS - now - BURST * EVERY_MS;
      freeAt.set(userId, waitMs <= 0 ? free + EVERY_MS : free);
      if (waitMs <= 0) return;
      const retryAfter = Math.ceil(waitMs / 1_000);
      throw new Refusal(
        "RATE_LIMITED",
        `a user may sign in, move to another organization and change the password ${BURST} times at once, then once a second: try again in ${retryAfter} s`,
        { retryAfter },
      );
    },
  };
}
