/**
 * Whose statement has a connection next. The product's own (what runs commit, sweeps) are few at a time and wait for none
 * but each other. What is done for an organization may be thousands, of one request: organizations take turns, at one
 * connection less than the pool has, and none has them all. The pool's own queue would be first come first served, and ends
 * who waits in it for 10 s with an error.
 */
import type { OrganizationId } from "../lib/ids.ts";
import { Slots } from "../lib/slots.ts";

/** Those who are not signed in yet share their turns. */
export type Whose = OrganizationId | "strangers";

/** Without `whose` at once. */
export type InTurn = <Result>(whose: Whose | undefined, work: () => Promise<Result>) => Promise<Result>;

/** What one organization may have of the connections: two of three. */
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
