/**
 * How often a sign-in may fail: for an e-mail from one address 10 times, then after pauses of 30 s, 1, 2, 4 and 5 minutes. From
 * where the e-mail has not signed in before, also 50 times in all for the e-mail, then after the same pauses, and 50 times for
 * the address, then after pauses of 5 s to 1 minute. So guesses from many addresses keep out strangers, and never the owner at a
 * known address. An attempt is counted when its turn comes (two have it at a time, see passwords.ts), so that a thousand at
 * once do not slip through. It is given back when it succeeds, so that programs that sign in often are not slowed.
 */
import { createHmac } from "node:crypto";
import { Refusal } from "../../lib/errors.ts";
import { accountName } from "../names.ts";
import type { Counted, Kind, Pauses } from "./pauses.ts";

export type Attempt = {
  email: string;
  address: string;
  /** The e-mail has signed in from this address before. */
  isKnown: boolean;
};

export type LoginThrottle = {
  /** Throws RATE_LIMITED with `retryAfter` in seconds when this process knows that an attempt would be refused. */
  check(attempt: Attempt): void;
  /** Throws the same, or counts the attempt. Call what it answers when the attempt succeeds. */
  attempt(attempt: Attempt): Promise<() => Promise<void>>;
};

/** `key` of an HMAC, so that what is kept does not tell who signed in from where. `what` was too often, as the refusal says. */
export function createLoginThrottle(pauses: Pauses, key: Buffer, what = "failed sign-ins"): LoginThrottle {
  const counted = (kind: Kind, name: string): Counted => ({
    kind,
    mark: createHmac("sha256", key).update(`${kind} ${name}`).digest("base64url").slice(0, MARK_CHARACTERS),
  });

  const countedFor = ({ email, address, isKnown }: Attempt): Counted[] => {
    const [account, from] = [accountName(email), network(address)];
    const pair = counted("pair", `${account} ${from}`);
    return isKnown ? [pair] : [pair, counted("account", account), counted("address", from)];
  };

  const refuse = (waitMs: number): void => {
    if (waitMs <= 0) return;
    const retryAfter = Math.ceil(waitMs / 1000);
    throw new Refusal("RATE_LIMITED", `too many ${what}: try again in ${retryAfter} s`, { retryAfter });
  };

  return {
    check: (attempt) => refuse(pauses.waitMs(countedFor(attempt))),
    attempt: async (attempt) => {
      const all = countedFor(attempt);
      refuse(await pauses.count(all));
      return () => pauses.giveBack(all);
    },
  };
}

/** 126 bits. */
const MARK_CHARACTERS = 21;

/** A subscriber has a whole IPv6 /64, so it counts as one address. */
export function network(address: string): string {
  const plain = address
    .split("%", 1)[0]!
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, "");
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
