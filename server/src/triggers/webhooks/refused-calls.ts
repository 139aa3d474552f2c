/**
 * Calls of a webhook that do not prove where they come from: from an address that may not call, or not signed. Anyone with no more
 * than the URL can send any number of them, so each trigger keeps firings of the first ones only; those after are RATE_LIMITED.
 * Checked only after a refusal, so that a good call always passes.
 */
import { network } from "../../auth/sign-in/login-throttle.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { FairCache } from "../../fairness/fair-cache.ts";
import { RateLimit, type FreeAt } from "../../fairness/rate-limit.ts";
import type { Trigger } from "../store/trigger.ts";

export type RefusedCalls = {
  /** Counts it. Throws RATE_LIMITED when there were too many. */
  count(trigger: Pick<Trigger, "id" | "organizationId">, address: string): void;
};

/** About 200 bytes each. */
const REMEMBERED = 10_000;

type Kept = { organizationId: OrganizationId; key: string };

export function createRefusedCalls(clock: Clock): RefusedCalls {
  const kept = new FairCache<number>(REMEMBERED);
  const freeAt: FreeAt<Kept> = {
    get: ({ organizationId, key }) => kept.get(organizationId, key),
    set: ({ organizationId, key }, at) => kept.set(organizationId, key, at),
  };
  const ofAddress = new RateLimit(clock, { burst: LIMITS.refusedCallsPerAddress, everyMs: 60_000 }, freeAt);
  const ofTrigger = new RateLimit(clock, { burst: LIMITS.refusedCallsPerTrigger, everyMs: 6_000 }, freeAt);
  return {
    count({ id, organizationId }, address) {
      const called = { organizationId, key: `${id} ${network(address)}` };
      const trigger = { organizationId, key: id };
      const waitMs = Math.max(ofAddress.waitMs(called), ofTrigger.waitMs(trigger));
      if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1_000));
      ofAddress.take(called);
      ofTrigger.take(trigger);
    },
  };
}

const tooMany = (retryAfter: number): Refusal =>
  new Refusal(
    "RATE_LIMITED",
    `too many calls of this webhook were refused (at most ${LIMITS.refusedCallsPerAddress} per address at once, then one a minute): try again in ${retryAfter} s`,
    { retryAfter },
  );
