/**
 * How often somebody may send a wrong credential from one address: 60 at once and then one a second. Beyond it the answer
 * is RATE_LIMITED instead of UNAUTHENTICATED. Asked only once a credential is known to be wrong, so that a good one from
 * the same address always passes. Each process counts for itself: no number of guesses finds a key, and a shared count would
 * cost a statement where most wrong credentials cost none.
 */
import { RateLimit } from "../../fairness/rate-limit.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { network } from "./login-throttle.ts";

/**
 * The credential is none of ours, or a key that is revoked. An access token of ours that has expired is refused as
 * well, but is no sign of guessing: every client sends one every 10 minutes.
 */
export class WrongCredential extends Refusal {
  constructor(message: string) {
    super("UNAUTHENTICATED", message);
  }
}

export type WrongCredentials = {
  /** Counts `error` if it is a WrongCredential. Answers what to refuse the request with. */
  count(error: unknown, address: string): unknown;
};

const RATE = { burst: LIMITS.wrongCredentialsPerAddress, everyMs: 1_000 };

export function createWrongCredentials(clock: Clock): WrongCredentials {
  const limit = new RateLimit<string>(clock, RATE);
  return {
    count: (error, address) => {
      if (!(error instanceof WrongCredential)) return error;
      const waitMs = limit.take(network(address));
      if (waitMs <= 0) return error;
      const retryAfter = Math.ceil(waitMs / 1_000);
      const message = `too many wrong credentials from this address (${RATE.burst} at once, then one a second): try again in ${retryAfter} s; ${error.message}`;
      return new Refusal("RATE_LIMITED", message, { retryAfter });
    },
  };
}
