/** What this process knows of triggers with runs that wait for one another. */
import { FairCache } from "../../fairness/fair-cache.ts";
import type { TriggerId } from "../../lib/ids.ts";

/** Of one that is not known, the next run is let go by the next look alone. */
const KNOWN = 10_000;

export class Queues {
  /** Triggers that had runs waiting when they were last looked at. */
  readonly known = new FairCache<true>(KNOWN);
  /** Triggers of which a run is being let go, and whether another one ended meanwhile. */
  readonly releasing = new Map<TriggerId, { again: boolean; done: Promise<void> }>();
}
