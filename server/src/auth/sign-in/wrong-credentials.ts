/**
 * How often somebody may send a wrong credential from one address: 60 at once and then one a second. Beyond it the answer
 * is RATE_LIMITED instead of UNAUTHENTICATED. Asked only once a credential is known to be wrong, so that a good one from
 * the same address always passes. Each process counts for itself: no number of guesses finds a key, and a shared count would
 * cost a statement where most wrong credentials cost none.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { network } from "./login-throttle.ts";

/**
 * What was sent as a credential is none, or a key that is revoked. An access token of ours that has expired is refused as
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

const BURST = LIMITS.wrongCredentialsPerAddress;
const EVERY_MS = 1_000;
/** About 200 bytes each. */
const REMEMBERED = 10_000;

export function createWrongCredentials(clock: Clock): WrongCredentials {
  /** GCRA: for each network when its bucket is full again. */
  const fullAt = new LRUCache<string, number>({ max: REMEMBERED });
  return {
    count: (error, address) => {
      if (!(error instanceof WrongCredential)) return error;
      const from = network(address);
      const full = Math.max(fullAt.get(from) ?? 0, clock.now());
      const waitMs = full + EVERY_MS - clock.now() - BURST * EVERY_MS;
      if (waitMs <= 0) {
        fullAt.set(from, full + EVERY_MS);
        return error;
      }
      const retryAfter = Math.ceil(waitMs / 1_000);
      const message = `too many wrong credentials from this address (${BURST} at once, then one a second): try again in ${retryAfter} s; ${error.message}`;
      return new Refusal("RATE_LIMITED", message, { retryAfter });
    },
  };
}
