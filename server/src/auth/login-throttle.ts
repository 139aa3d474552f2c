/**
 * How often a sign-in may fail: per e-mail 10 at once and then one every 30 s, per client address 50 at once and then
 * one every 5 s. An attempt is counted when its turn comes (two have it at a time, see passwords.ts), so that a thousand
 * at once do not slip through, and given back when it succeeds, so that programs that sign in often are not slowed.
 */
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";

const PER_EMAIL = { burst: 10, everyMs: 30_000 };
const PER_ADDRESS = { burst: 50, everyMs: 5_000 };
/** Remembered e-mails, and as many addresses: about 2 MB. */
const REMEMBERED = 10_000;

export type LoginThrottle = {
  /** Throws RATE_LIMITED with `retryAfter` in seconds when an attempt would be refused. */
  check(email: string, address: string): void;
  /** The same, and counts it. Call the answer when it succeeded. */
  attempt(email: string, address: string): () => void;
};

export function createLoginThrottle(clock: Clock): LoginThrottle {
  const emails = createBuckets(clock, PER_EMAIL);
  const addresses = createBuckets(clock, PER_ADDRESS);
  const check = (email: string, address: string): [string, string] => {
    const keys: [string, string] = [email.toLowerCase(), network(address)];
    const waitMs = Math.max(emails.waitMs(keys[0]), addresses.waitMs(keys[1]));
    if (waitMs <= 0) return keys;
    const retryAfter = Math.ceil(waitMs / 1000);
    throw new Refusal("RATE_LIMITED", `too many failed sign-ins: try again in ${retryAfter} s`, { retryAfter });
  };
  return {
    check,
    attempt: (email, address) => {
      const [emailKey, addressKey] = check(email, address);
      emails.take(emailKey);
      addresses.take(addressKey);
      return () => {
        emails.giveBack(emailKey);
        addresses.giveBack(addressKey);
      };
    },
  };
}

/** One subscriber has a whole IPv6 /64: it is one address here. */
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

type Buckets = { waitMs(key: string): number; take(key: string): void; giveBack(key: string): void };

/** GCRA: for each key the time at which its bucket is full again. */
function createBuckets(clock: Clock, { burst, everyMs }: { burst: number; everyMs: number }): Buckets {
  const fullAt = new Map<string, number>();
  const move = (key: string, byMs: number): void => {
    const at = Math.max(fullAt.get(key) ?? 0, clock.now()) + byMs;
    fullAt.delete(key);
    if (at <= clock.now()) return;
    fullAt.set(key, at);
    if (fullAt.size > REMEMBERED) fullAt.delete(fullAt.keys().next().value!);
  };
  return {
    waitMs: (key) => (fullAt.get(key) ?? 0) + everyMs - clock.now() - burst * everyMs,
    take: (key) => move(key, everyMs),
    giveBack: (key) => move(key, -everyMs),
  };
}
