/**
 * The contract between runs and what moves them. An engine makes sure that each open run is advanced, by one process at a
 * time, until it ends, and it alone decides which process that is. `engine.testsuite.ts` holds each engine to this:
 *
 * 1. It calls `advance` for each run that is due: one call at a time, and another if the run was woken meanwhile.
 * 2. It lets one process claim a run. A claim begins a new epoch of the run. Every later write of the run names its
 *    epoch, so a process that lost the claim writes nothing.
 * 3. It finds what is due even if nothing wakes it, and calls again after a throw, later each time.
 * 4. It takes up the runs that a process held when it stopped or died.
 * 5. It begins nothing more once it is disposed, and waits for the calls under way.
 *
 * The journal, branches, retries and waits are the same above every engine.
 */
import type { InstanceId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Loop } from "../lib/loops/loop.ts";

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
export type Call<Claimed> = {
  runId: RunId;
  organizationId: OrganizationId;
  /** Aborts when the run is cancelled, the process ends, or another process may advance the run. */
  signal: AbortSignal;
  /**
   * How often in a row `advance` has thrown for this run in this process, not counting outages of the database or of
   * anything else outside the run.
   */
  throws: number;
  /**
   * Takes the run for this process and returns what `advance` has to know of it. Undefined: there is nothing to do for it
   * now, or this process may not take it.
   */
  claim(): Promise<Claimed | undefined>;
};

/** Called with a place in memory, which the run keeps until this ends. A throw means: retry with back-off. */
export type Advance<Claimed> = (call: Call<Claimed>) => Promise<Outcome>;

/** A run that its starter advances before it is committed. */
export type Begun = {
  /** The run is written as held by it, in its first epoch. */
  owner: InstanceId;
  /** Aborts when that of a call of `advance` would. */
  signal: AbortSignal;
  /** The caller says what it does in place of the first call of `advance`, or how it ended. The place is held until then. */
  advances: (first: Outcome | Promise<Outcome>) => void;
};

export type Wake = {
  organizationId: OrganizationId;
  /** Not before. */
  at?: Date;
};

/** `Claimed`: the run as a claim returns it. Rooms that only begin, wake or interrupt runs hold a plain `Engine`. */
export interface Engine<Claimed = unknown> extends AsyncDisposable {
  start(advance: Advance<Claimed>): Promise<void>;
  /** A hint after the commit that made the run due; it may be lost or doubled. */
  wake(runId: RunId, wake: Wake): void;
  /**
   * Takes a place for a run that is not committed yet, so that it can advance while it is being written. Undefined if this
   * process may not advance runs now or has no place: the caller then writes the run as due, for a later claim.
   */
  begin(run: { id: RunId; organizationId: OrganizationId }): Begun | undefined;
  /** Best effort: aborts the `signal` of a call of `advance` under way in this process. */
  interrupt(runId: RunId): void;
  /** Aborts everything under way: the runs stay as committed, and the next start continues from there. */
  interruptAll(): void;
  /** Whether this process may advance runs now. */
  readonly executing: boolean;
  /** The loops that are to be watched. */
  readonly loops: readonly Loop[];
}
