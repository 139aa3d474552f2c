/** A refresh token that is void costs statements too, and whoever once had one may send it without end. */
import { Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { createTurns, type Turns } from "../lib/turns.ts";

const AT_ONCE = 2;
const PER_SESSION = LIMITS.refreshesWaiting / 8;

/** A session's turns are a group. Throws UNAVAILABLE when too many wait. */
export const createRefreshTurns = (): Turns =>
  createTurns({
    atOnce: AT_ONCE,
    waiting: LIMITS.refreshesWaiting,
    waitingPerGroup: PER_SESSION,
    refusal: () =>
      new Refusal(
        "UNAVAILABLE",
        `too many refresh tokens are being used (${LIMITS.refreshesWaiting} may wait, ${PER_SESSION} of one session): try again in a moment`,
        { retryAfter: 1 },
      ),
  });
