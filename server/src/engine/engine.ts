/**
 * The contract between runs and what moves them. An engine calls `advance` for every run that is due, in one process at a
 * time, again after a crash, until it says that the run waits or has ended. The engine alone decides which process may
 * advance a run: it elects, claims and takes over. The journal, branches, retries and waits are the same above every
 * engine. `engine.testsuite.ts` tests each engine against this.
 *
 * Both sides write to a run's row: a claim raises `epoch` and sets `owner`. Every later write of the run names the
 * epoch, so a process that lost the claim writes nothing. Releasing it sets `owner = null`, and `wake_at` to the time of
 * the next claim. A statement that makes a run due also raises `wake_seq`.
 */
import { Refusal } from "../lib/errors.ts";
import type { Histogram } from "../lib/figures.ts";
import type { InstanceId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log/log.ts";
import type { Loop } from "../lib/loops/loop.ts";
import type { Places } from "../fairness/places.ts";
import type { Database, Row } from "../storage/database.ts";
import { isUnavailable } from "../storage/pg-errors.ts";

export type Outcome =
  /** The run ended. */
  | { kind: "done" }
  /** Without `until`: waits for a signal (a decision, an event). */
  | { kind: "waiting"; until?: Date }
  /** Call again soon, behind the others. */
  | { kind: "yield" }
  /** The claim was refused or the run was fenced; never treated as done. */
  | { kind: "lost" };

/** One call of `advance`. */
export type Call = {
  runId: RunId;
  organizationId: OrganizationId;
  /** Aborts when the run is cancelled, the process ends, or another process may advance the run. */
  signal: AbortSignal;
  /**
   * How often in a row `advance` has thrown for this run in this process, not counting outages of the database or of
   * anything else outside the run (`isOutage`).
   */
  throws: number;
  /**
   * Takes the run for this process and returns the columns of its row that the engine was started with. Undefined: there
   * is nothing to do for it now, or this process may not take it.
   */
  claim(): Promise<Row | undefined>;
};

/** Called with a place in memory, which the run keeps until this ends. A throw means: retry with back-off. */
export type Advance = (call: Call) => Promise<Outcome>;

export const isOutage = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof Refusal && error.code === "UNAVAILABLE");

export type Wake = {
  organizationId: OrganizationId;
  /** Not before. */
  at?: Date;
};

export type EngineOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  instanceId: InstanceId;
  /** In memory, for runs. */
  places: Places;
  /** How late due runs are claimed. */
  delaySeconds?: Histogram;
};

export interface Engine extends AsyncDisposable {
  /** `claimed`: the columns of `runs` that a claim returns. */
  start(advance: Advance, claimed: readonly string[]): Promise<void>;
  /**
   * A hint after the commit that made the run due; it may be lost or doubled. The same statement wrote `wake_at` and
   * `wake_seq + 1`, and a sweep wakes runs that are due and unclaimed.
   */
  wake(runId: RunId, wake: Wake): void;
  /**
   * Takes a place for a run that is not in the table yet, so that it can advance while it is being written: `first` is
   * its first call of `advance`. The run's first row has this owner and epoch 1. Returns false, without calling `first`,
   * if this process may not advance runs now or has no place; the caller then writes the run as due, for a later claim.
   */
  begin(
    run: { id: RunId; organizationId: OrganizationId },
    first: (owner: InstanceId, signal: AbortSignal) => Promise<Outcome>,
  ): boolean;
  /** Best effort: aborts the `signal` of a call of `advance` under way in this process. */
  interrupt(runId: RunId): void;
  /** Aborts everything under way: the rows stay as committed, and the next start continues from them. */
  interruptAll(): void;
  /** Whether this process may advance runs now. */
  readonly executing: boolean;
  /** The loops that are to be watched. */
  readonly loops: readonly Loop[];
}
