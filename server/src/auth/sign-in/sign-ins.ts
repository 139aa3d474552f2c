/**
 * How often a user may sign in, move a session to another organization, and change the password: so many at once and then one a
 * second. Each is an event in the audit of an organization, counts against no plan, and anyone who does it has proven who they are:
 * without a bound a member could fill the disk, and bury in an organization's audit what others did there. Each process counts
 * for itself.
 */
import { RateLimit } from "../../fairness/rate-limit.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";

export type SignIns = {
  /** Counts one. Throws RATE_LIMITED. */
  count(userId: UserId): void;
};

const RATE = { burst: LIMITS.signInsPerUser, everyMs: 1_000 };

export function createSignIns(clock: Clock): SignIns {
  const limit = new RateLimit<UserId>(clock, RATE);
  return {
    count(userId) {
      const waitMs = limit.take(userId);
      if (waitMs <= 0) return;
      const retryAfter = Math.ceil(waitMs / 1_000);
      throw new Refusal(
        "RATE_LIMITED",
        `a user may sign in, move to another organization and change the password ${RATE.burst} times at once, then once a second: try again in ${retryAfter} s`,
        { retryAfter },
      );
    },
  };
}
