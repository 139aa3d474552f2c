/** Runs several things within a task at the same time. */
import { follow, type Follower } from "../lib/abort.ts";
import type { Execution } from "./execution.ts";
import type { Frame } from "./frame.ts";
import type { Result, Scope } from "./scope.ts";

export type Branch = (index: number, scope: Scope) => Promise<Result>;

/** Why a branch was stopped early: another won or failed. No `catch` sees it. */
export class BranchLeft extends Error {}

/** The last one has ended: nothing is left to wait for. */
const ALL_ENDED = new BranchLeft("all branches have ended");

/** How long what a branch has brought waits for another's commit. */
const OUTCOME_WAIT_MS = 100;

/**
 * Commits what branches have brought that have ended: a call that is over is never made again, however long the others take. One of
 * the branches waits for all of them, so that a commit of the others, the run's rest or the end of all has time to write it.
 */
class Ended {
  readonly #execution: Execution;
  #others: Follower | undefined;

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  /** `signal`: the branches'. */
  async commitOutcomes(signal: AbortSignal): Promise<void> {
    const { journal, branches } = this.#execution;
    if (!journal.hasOutcome || this.#others) return;
    using others = (this.#others = follow(signal));
    const scope = { signal: others.signal, deadline: undefined };
    while (journal.hasOutcome && !others.signal.aborted) {
      await branches
        .wait({ until: null, person: false, lookAfterMs: OUTCOME_WAIT_MS }, scope)
        .catch((reason: unknown) => {
          if (reason !== others.signal.reason) throw reason;
        });
      if (journal.hasOutcome && !others.signal.aborted) await this.#execution.commit();
    }
    this.#others = undefined;
  }

  /** All have ended: what comes next in the run writes it. */
  all(): void {
    this.#others?.abort(ALL_ENDED);
  }
}

/**
 * Runs `count` branches, at most `most` at a time. When one throws, the others are stopped, and its error is thrown once all
 * have ended. `then: end` in a branch ends the run once all have ended.
 */
export async function runTogether(frame: Frame, count: number, most: number, branch: Branch): Promise<Result> {
  const { execution } = frame;
  const { branches } = execution;
  const results: Result[] = [];
  let done = 0;
  using own = follow(frame.scope.signal);
  const { signal } = own;
  const lines = Math.min(most, count);
  let next = 0;
  let live = lines;
  let working = lines;
  const ended = new Ended(execution);
  let thrown: { reason: unknown } | undefined;

  const line = async (): Promise<void> => {
    try {
      while (next < count && !signal.aborted) {
        const index = next++;
        let own = 0;
        const progress = (share: number): void => {
          done += share - own;
          own = share;
          frame.scope.progress(done / count);
        };
        results[index] = await branch(index, { ...frame.scope, signal, progress });
        progress(1);
      }
      if (--working > 0) await ended.commitOutcomes(signal);
      else ended.all();
    } catch (reason) {
      thrown ??= { reason };
      if (!signal.aborted) own.abort(new BranchLeft("another branch has failed"));
    } finally {
      // The last one is the task's own branch again.
      live--;
      if (live > 0) branches.end();
    }
  };

  if (lines > 0) branches.fork(lines);
  await Promise.all(Array.from({ length: lines }, line));
  if (thrown) throw thrown.reason;
  // A timeout or a cancel between two items skips the rest without throwing anything.
  if (next < count) frame.scope.signal.throwIfAborted();
  const ends = results.some(({ then }) => then === "end");
  return { output: results.map(({ output }) => output), then: ends ? "end" : "continue" };
}
