/**
 * Whose statement gets a connection next. The product's own (commits of runs, sweeps) are few at a time and wait only for
 * each other. A single request of an organization may have thousands: organizations take turns, on one connection fewer
 * than the pool has, and none gets them all. The pool's own queue would be first come, first served, and fails whoever
 * waits in it for 10 s.
 */
import type { OrganizationId } from "../lib/ids.ts";
import { Slots } from "../lib/slots.ts";

/** Callers who are not signed in share their turns. */
export type Whose = OrganizationId | "strangers";

/** At once without `whose`. */
export type InTurn = <Result>(whose: Whose | undefined, work: () => Promise<Result>) => Promise<Result>;

/** One organization's share of the connections: two of three. */
const MOST_SHARE = 0.5;

export function createPoolTurns(connections: number): InTurn {
  const slots = new Slots(Math.max(1, connections - 1), MOST_SHARE);
  return async (whose, work) => {
    if (whose === undefined) return work();
    const organizationId = whose === "strangers" ? undefined : whose;
    if (!slots.tryTake(organizationId)) await slots.take(organizationId);
    try {
      return await work();
    } finally {
      slots.release(organizationId);
    }
  };
}
