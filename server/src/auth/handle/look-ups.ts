/**
 * Finds a credential's owner by its hash. Made-up credentials cost nothing to make: one statement at a time looks up those that
 * wait, by turns of the addresses that they come from. So a flood of them takes one connection, and others
 * wait for a statement, not for the flood.
 */
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { FairQueue } from "../../fairness/fair-queue.ts";
import { network } from "../sign-in/login-throttle.ts";

type Waiting<Place> = {
  hash: Buffer;
  resolve: (place: Place | undefined) => void;
  reject: (error: unknown) => void;
};

/** `address`: of the client. Throws UNAVAILABLE when too many wait to be looked up, of all or of its address. */
export type LookUp<Place> = (hash: Buffer, address: string) => Promise<Place | undefined>;

/** By the hash as `latin1`. */
type Read<Place> = (hashes: Buffer[]) => Promise<Map<string, Place>>;

/** `what` is looked up, in the plural. */
export function createLookUps<Place>(what: string, read: Read<Place>): LookUp<Place> {
  const waiting = new FairQueue<string, Waiting<Place>>(LIMITS.keysWaiting, LIMITS.keysWaitingPerAddress);
  let isReading = false;

  const next = (): Waiting<Place>[] => {
    const some: Waiting<Place>[] = [];
    while (some.length < LIMITS.keysLookedUpAtOnce) {
      const one = waiting.take();
      if (!one) break;
      some.push(one);
    }
    return some;
  };

  const readAll = async (): Promise<void> => {
    isReading = true;
    for (let some = next(); some.length > 0; some = next()) {
      try {
        const found = await read(some.map(({ hash }) => hash));
        for (const { hash, resolve } of some) resolve(found.get(hash.toString("latin1")));
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    isReading = false;
  };

  return (hash, address) =>
    new Promise((resolve, reject) => {
      waiting.add(network(address), { hash, resolve, reject })?.reject(tooMany(what));
      if (!isReading) void readAll();
    });
}

const tooMany = (what: string): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    `too many ${what} are waiting to be looked up (at most ${LIMITS.keysWaiting}, ${LIMITS.keysWaitingPerAddress} per address): try again in a moment`,
    { retryAfter: 1 },
  );
