/** Runs several things within a task at the same time. */
import { follow } from "../lib/abort.ts";
import { until } from "../lib/clock.ts";
import type { Execution } from "./execution.ts";
import type { Frame } from "./frame.ts";
import type { Result, Scope } from "./scope.ts";

export type Branch = (index: number, scope: Scope) => Promise<Result>;

/** Why a branch was stopped early: another won or failed. No `catch` sees it. */
export class BranchLeft extends Error {}

/** How long the outcomes of a branch that has ended wait for another's commit. */
const OUTCOME_WAIT_MS = 100;

/** Commits what a branch has brought, unless others commit or end soon: a call that is over is never made again, however long they take. */
async function commitOutcomes(execution: Execution, others: AbortSignal): Promise<void> {
  if (!execution.journal.hasOutcome) return;
  await until(execution.shared.clock, execution.now() + OUTCOME_WAIT_MS, others).catch(() => {});
  if (execution.journal.hasOutcome && !others.aborted) await execution.commit();
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
  using others = follow(signal);
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
      if (--working > 0) await commitOutcomes(execution, others.signal);
      else others.abort(undefined);
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
