/** This process's knowledge of triggers with runs that wait for one another. */
import { FairCache } from "../../fairness/fair-cache.ts";
import type { OrganizationId, TriggerId } from "../../lib/ids.ts";

/** A trigger with runs that wait. */
export type Waiting = { organizationId: OrganizationId; triggerId: TriggerId };

/** For an unknown trigger, only the next look releases a run. */
const KNOWN = 10_000;

export class Queues {
  /** Triggers that had runs waiting when they were last looked at. */
  readonly known = new FairCache<true>(KNOWN);
  /** Triggers of which a run is being released, and whether another one ended meanwhile. */
  readonly releasing = new Map<TriggerId, { again: boolean; done: Promise<void> }>();
  /** Releases the next run of a trigger. Set by `releaseQueues`; until then its first look does. */
  releaseNext: (waiting: Waiting) => void = () => {};

  /** Told by `runs/` of the end of each run that a trigger started. */
  readonly runEnded = (organizationId: OrganizationId, triggerId: TriggerId): void => {
    if (this.known.get(organizationId, triggerId)) this.releaseNext({ organizationId, triggerId });
  };
}
