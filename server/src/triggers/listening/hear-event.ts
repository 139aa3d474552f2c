/**
 * Tells runs of an event that one of their steps may listen to. They are found by keys (`lib/events/event-key.ts`); the run itself looks whether
 * it wants the event. Telling a run twice changes nothing.
 */
import { publisherOf } from "../../events/event.ts";
import type { ToFire } from "../../events/events-to-fire.ts";
import { EVENT_LEASE_MS, leaseFrom } from "../../events/event-lease.ts";
import { setFireAt } from "../../events/events-to-fire.ts";
import { keysOfEvent } from "../../lib/events/event-key.ts";
import { NO_ID } from "../../lib/ids.ts";
import { reaches } from "../../lib/reach.ts";
import { hintDue } from "../../runs/wake-run.ts";
import type { Firings } from "../firings/firings.ts";
import { findListeners, readPaths, tellListeners } from "./listening-store.ts";

/** A list in the data has a key for each element. */
const KEYS_AT_ONCE = 1_000;
const RUNS_AT_ONCE = 500;

/** Resolves when all know. */
export async function hearEvent(
  { database, clock, runs }: Pick<Firings, "database" | "clock" | "runs">,
  { event, data }: ToFire,
): Promise<void> {
  const { organizationId, source, event: type } = event;
  const paths = await readPaths(database, organizationId, type);
  if (paths.length === 0) return;
  const all = keysOfEvent({ type, source }, data, paths);
  const within = publisherOf(event);
  let leaseAt = clock.now() + EVENT_LEASE_MS / 2;
  for (let from = 0; from < all.length; from += KEYS_AT_ONCE) {
    const keys = all.slice(from, from + KEYS_AT_ONCE);
    let after: string = NO_ID;
    for (;;) {
      const found = await findListeners(database, organizationId, { keys, after, most: RUNS_AT_ONCE });
      if (found.length === 0) break;
      const reached = found.filter((one) => reaches(within, one)).map(({ runId }) => runId);
      const told = reached.length > 0 ? await tellListeners(database, event, keys, reached) : [];
      for (const runId of told) hintDue(runs, organizationId, runId, { events: true });
      if (found.length < RUNS_AT_ONCE) break;
      after = found.at(-1)!.runId;
      await runs.executions.rounds.next(organizationId);
      if (clock.now() < leaseAt) continue;
      leaseAt = clock.now() + EVENT_LEASE_MS / 2;
      await setFireAt(database, event, leaseFrom(clock.now()));
    }
  }
}
