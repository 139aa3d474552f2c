/**
 * Decides which statement gets a connection next. The product's own (commits of runs, sweeps) are few at a time and wait only for
 * each other. A single request of an organization may have thousands: organizations take turns, on one connection fewer
 * than the pool has, and none gets them all. The pool's own queue would be first come, first served, and fails anyone who
 * waits in it for 10 s.
 */
import type { OrganizationId } from "../lib/ids.ts";
import type { Backlog } from "../fairness/backlog.ts";
import { Slots } from "../fairness/slots.ts";

/** Callers who are not signed in share their turns. */
export type Whose = OrganizationId | "strangers";

export type PoolTurns = {
  /** At once without `whose`. */
  inTurn<Result>(whose: Whose | undefined, work: () => Promise<Result>): Promise<Result>;
  /** The statements that wait for a turn. */
  readonly backlog: Backlog;
};

/** One organization's share of the connections: two of three. */
const MAX_SHARE = 0.5;
/** How much the last turn counts in the time that a turn takes. */
const SMOOTHING = 1 / 16;

/** `now`: ms from any beginning. */
export function createPoolTurns(connections: number, now: () => number): PoolTurns {
  const slots = new Slots(Math.max(1, connections - 1), MAX_SHARE);
  let turnMs = 0;
  return {
    inTurn: async (whose, work) => {
      if (whose === undefined) return work();
      const organizationId = whose === "strangers" ? undefined : whose;
      if (!slots.tryTake(organizationId)) await slots.take(organizationId);
      const since = now();
      try {
        return await work();
      } finally {
        turnMs += (now() - since - turnMs) * SMOOTHING;
        slots.release(organizationId);
      }
    },
    backlog: {
      isContended: () => slots.contended,
      of: (organizationId: OrganizationId) => {
        const waiting = slots.waitingOf(organizationId);
        return { waiting, ms: (waiting * turnMs) / slots.shareOfEach };
      },
    },
  };
}
