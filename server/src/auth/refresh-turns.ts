/** A refresh token that is void costs statements too, and whoever once had one may send it without end. */
import { Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { createTurns, type Turns } from "../lib/turns.ts";

const AT_ONCE = 2;

/** A session's turns are a group. Throws UNAVAILABLE when too many wait. */
export const createRefreshTurns = (): Turns =>
  createTurns({
    atOnce: AT_ONCE,
    waiting: LIMITS.refreshesWaiting,
    waitingPerGroup: LIMITS.refreshesWaiting / 8,
    refusal: () =>
      new Refusal("UNAVAILABLE", "too many refresh tokens are being used: try again in a moment", { retryAfter: 1 }),
  });
