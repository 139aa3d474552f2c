/**
 * How often a sign-in may fail: for an e-mail from one address 10 at once and then one every 30 s. From where the e-mail has not
 * signed in before, also 50 in all for the e-mail, then one every 30 s, and 50 for the address, then one every 5 s. So
 * guesses from many addresses keep out strangers, and never the owner at a known address. An attempt is counted when its turn
 * comes (two have it at a time, see passwords.ts), so that a thousand at once do not slip through. It is given back when it
 * succeeds, so that programs that sign in often are not slowed.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { accountName } from "./names.ts";

const PER_PAIR = { burst: LIMITS.failedLoginsPerAccountAndAddress, everyMs: 30_000 };
const PER_EMAIL = { burst: LIMITS.failedLoginsPerAccount, everyMs: 30_000 };
const PER_ADDRESS = { burst: LIMITS.failedLoginsPerAddress, everyMs: 5_000 };
/** Entries of each kind, about 200 bytes each. A turn at a password makes one, about 60 times a second. */
const REMEMBERED = 10_000;

export type Attempt = {
  email: string;
  address: string;
  /** The e-mail has signed in from this address before. */
  isKnown: boolean;
};

export type LoginThrottle = {
  /** Throws RATE_LIMITED with `retryAfter` in seconds when an attempt would be refused. */
  check(attempt: Attempt): void;
  /** The same, and counts the attempt. Call what it answers when the attempt succeeds. */
  attempt(attempt: Attempt): () => void;
};

export function createLoginThrottle(clock: Clock): LoginThrottle {
  const pairs = createBuckets(clock, PER_PAIR);
  const emails = createBuckets(clock, PER_EMAIL);
  const addresses = createBuckets(clock, PER_ADDRESS);

  const countedFor = ({ email, address, isKnown }: Attempt): [Buckets, string][] => {
    const [account, from] = [accountName(email), network(address)];
    const pair: [Buckets, string] = [pairs, `${account} ${from}`];
    return isKnown ? [pair] : [pair, [emails, account], [addresses, from]];
  };

  const check = (attempt: Attempt): [Buckets, string][] => {
    const counted = countedFor(attempt);
    const waitMs = Math.max(...counted.map(([buckets, key]) => buckets.waitMs(key)));
    if (waitMs <= 0) return counted;
    const retryAfter = Math.ceil(waitMs / 1000);
    throw new Refusal("RATE_LIMITED", `too many failed sign-ins: try again in ${retryAfter} s`, { retryAfter });
  };

  return {
    check,
    attempt: (attempt) => {
      const counted = check(attempt);
      for (const [buckets, key] of counted) buckets.take(key);
      return () => {
        for (const [buckets, key] of counted) buckets.giveBack(key);
      };
    },
  };
}

/** A subscriber has a whole IPv6 /64, so it counts as one address. */
export function network(address: string): string {
  const plain = address
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, "")
    .replace(/%.*$/, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.split("::");
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  const whole = [...groups, ...Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill("0"), ...rest];
  return `${whole
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}

export type Buckets = { waitMs(key: string): number; take(key: string): void; giveBack(key: string): void };

/** GCRA: for each key the time at which its bucket is full again. */
export function createBuckets(clock: Clock, { burst, everyMs }: { burst: number; everyMs: number }): Buckets {
  const full = new LRUCache<string, number>({ max: REMEMBERED });
  const fullAt = (key: string): number => full.get(key) ?? 0;
  const move = (key: string, byMs: number): void => void full.set(key, Math.max(fullAt(key), clock.now()) + byMs);
  return {
    waitMs: (key) => fullAt(key) + everyMs - clock.now() - burst * everyMs,
    take: (key) => move(key, everyMs),
    giveBack: (key) => move(key, -everyMs),
  };
}
