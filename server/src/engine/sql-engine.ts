/**
 * An engine over the table of runs: what it is given, and the columns that it and the journal both write.
 *
 * A claim raises a run's `epoch` and sets its `owner`. Every later write names the epoch. Releasing the run sets
 * `owner = null`, and `wake_at` to the time of the next claim. A statement that makes a run due sets `wake_at` and raises
 * `wake_seq`, and a sweep finds runs that are due and that no process holds.
 */
import type { Histogram } from "../lib/figures.ts";
import type { InstanceId } from "../lib/ids.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log/log.ts";
import type { Places } from "../fairness/places.ts";
import type { Database, Row } from "../storage/database.ts";

/** How a claim reads a run from its row. `of` must not throw: runs that are claimed together share a statement. */
export type ClaimedRow<Claimed> = { columns: readonly string[]; of(row: Row): Claimed };

export type SqlEngineOptions<Claimed> = {
  database: Database;
  clock: Clock;
  log: Log;
  instanceId: InstanceId;
  /** In memory, for runs. */
  places: Places;
  claimed: ClaimedRow<Claimed>;
  /** How late due runs are claimed. */
  delaySeconds?: Histogram;
};
