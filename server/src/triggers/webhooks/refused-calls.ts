/**
 * Calls of a webhook that do not prove where they come from: from an address that may not call, or not signed. Whoever has no more
 * than the URL can send any number of them, so each trigger keeps firings of the first ones only; those after are RATE_LIMITED.
 * Asked only once a call is refused, so that a good one always passes.
 */
import { network } from "../../auth/sign-in/login-throttle.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { FairCache } from "../../fairness/fair-cache.ts";
import type { Trigger } from "../store/trigger.ts";

export type RefusedCalls = {
  /** Counts it. Throws RATE_LIMITED when there were too many. */
  count(trigger: Pick<Trigger, "id" | "organizationId">, address: string): void;
};

/** About 200 bytes each. */
const REMEMBERED = 10_000;

export function createRefusedCalls(clock: Clock): RefusedCalls {
  /** GCRA: for each trigger, and each network that calls it, when its bucket is full again. */
  const fullAt = new FairCache<number>(REMEMBERED);
  return {
    count({ id, organizationId }, address) {
      const now = clock.now();
      const buckets = [
        { key: `${id} ${network(address)}`, most: LIMITS.refusedCallsPerAddress, everyMs: 60_000 },
        { key: id, most: LIMITS.refusedCallsPerTrigger, everyMs: 6_000 },
      ].map((bucket) => ({ ...bucket, full: Math.max(fullAt.get(organizationId, bucket.key) ?? 0, now) }));
      const waitMs = Math.max(...buckets.map(({ full, most, everyMs }) => full + everyMs - now - most * everyMs));
      if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1_000));
      for (const { key, full, everyMs } of buckets) fullAt.set(organizationId, key, full + everyMs);
    },
  };
}

const tooMany = (retryAfter: number): Refusal =>
  new Refusal(
    "RATE_LIMITED",
    `too many calls of this webhook were refused (${LIMITS.refusedCallsPerAddress} of one address at once, then one a minute): try again in ${retryAfter} s`,
    { retryAfter },
  );
