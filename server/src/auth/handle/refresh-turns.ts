/** A refresh token that is void costs statements too, and anyone who once had one may send it without end. */
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { createTurns, type Turns } from "../../fairness/turns.ts";

const AT_ONCE = 2;

/** An account's turns are a group, however many sessions it has: one with a hundred leaves others their places. Throws UNAVAILABLE when too many wait. */
export const createRefreshTurns = (): Turns =>
  createTurns({
    atOnce: AT_ONCE,
    waiting: LIMITS.refreshesWaiting,
    waitingPerGroup: LIMITS.refreshesWaitingPerAccount,
    refusal: () =>
      new Refusal(
        "UNAVAILABLE",
        `too many refresh tokens are waiting to be exchanged (at most ${LIMITS.refreshesWaiting}, ${LIMITS.refreshesWaitingPerAccount} per account): try again in a moment`,
        { retryAfter: 1 },
      ),
  });
