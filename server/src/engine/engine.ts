/**
 * The contract between runs/ and what makes them move. An engine sees to it that `advance` is called for every run that
 * is due, by one process at a time, again after a crash, until it says that the run waits or ended. The journal,
 * branches, retries and waits are the same above every engine. `engine.testsuite.ts` holds each to this.
 */
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { isUnavailable } from "../storage/pg-errors.ts";

export type Outcome =
  /** The run ended. */
  | { kind: "done" }
  /** Without `until`: for a signal (a decision, an event). */
  | { kind: "waiting"; until?: Date }
  /** Again soon, behind the others. */
  | { kind: "yield" }
  /** The claim was refused or the run was fenced; never taken for done. */
  | { kind: "lost" };

/**
 * Called with a place in memory for the run, which it has until this ends. A throw means: again, with back-off; `throws`
 * counts those in a row before, in this process, but for those that say that the database, or what else is not the run's,
 * can't serve for now (`isOutage`).
 */
export type Advance = (
  runId: RunId,
  signal: AbortSignal,
  organizationId: OrganizationId,
  throws?: number,
) => Promise<Outcome>;

export const isOutage = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof Refusal && error.code === "UNAVAILABLE");

export type Wake = {
  organizationId: OrganizationId;
  /** Not before. */
  at?: Date;
  seq?: number;
  /** The caller has taken a place for it (`lib/places.ts`), which is the engine's from now on. */
  hasPlace?: boolean;
};

export interface Engine extends AsyncDisposable {
  start(advance: Advance): Promise<void>;
  /**
   * A hint after the commit that made the run due; it may be lost or doubled. The same statement wrote `wake_at` and
   * `wake_seq + 1`, and a sweep wakes what is due and unclaimed.
   */
  wake(runId: RunId, wake: Wake): void;
  /** Best effort: aborts the `signal` of a call of `advance` that is under way in this process. */
  interrupt(runId: RunId): void;
  /** Whether this process may advance runs now: a start then takes its claim in its own statement. */
  readonly executing: boolean;
}
