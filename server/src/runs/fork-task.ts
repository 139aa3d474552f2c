/** What runs at the same time within a run: `fork`, and the items of `call: each`. */
import type { Body } from "../definition/plan.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { follow } from "../lib/abort.ts";
import type { Json } from "../lib/json.ts";
import { evaluated, itemsOf } from "./evaluate.ts";
import type { Frame } from "./frame.ts";
import { inside, type Result, type Scope } from "./scope.ts";

/** Why a branch was left before its end: another won, or failed. No `catch` sees it. */
class BranchLeft extends Error {}

/** The branches' outputs in their order; with `compete` that of the first to end. */
export async function runFork(frame: Frame, body: Extract<Body, { is: "fork" }>): Promise<Result> {
  const { execution, input, step } = frame;
  const block = (index: number) => ({ tasks: [body.branches[index]!], position: new Map<string, number>() });
  const branch = (index: number, scope: Scope): Promise<Result> =>
    frame.runBlock(execution, block(index), input, inside(scope, `${step.key}/`));
  if (!body.compete) return together(frame, body.branches.length, body.branches.length, branch);
  const won = new BranchLeft("the first branch has ended");
  let first: Result | undefined;
  const racing = async (index: number, scope: Scope): Promise<Result> => {
    const result = await branch(index, scope);
    first ??= result;
    throw won;
  };
  await together(frame, body.branches.length, body.branches.length, racing).catch((reason: unknown) => {
    if (reason !== won) throw reason;
  });
  execution.journal.closeBelow(step.key, "cancelled", execution.now());
  return first!;
}

/** The tasks of `do` for each item, `concurrency` of them at once; results in the order of the items. */
export async function runEach(frame: Frame, body: Extract<Body, { is: "each" }>): Promise<Result> {
  const { execution, input, step, variables } = frame;
  const items = (step.state.items ??= itemsOf(await evaluated(execution, body.in, input, variables, step)));
  execution.journal.touch(step);
  const one = (index: number, scope: Scope): Promise<Result> => {
    const own = { ...scope.variables, [body.item]: items[index]!, index };
    return frame.runBlock(
      execution,
      body.block,
      items[index]!,
      inside(scope, `${step.key}/${index + 1}/`, { variables: own }),
    );
  };
  return together(frame, items.length, body.concurrency, body.collects ? collecting(one) : one);
}

type Branch = (index: number, scope: Scope) => Promise<Result>;

/** An error of an item becomes its result. */
const collecting =
  (branch: Branch): Branch =>
  async (index, scope) => {
    try {
      const { output, then } = await branch(index, scope);
      return { output: { output }, then };
    } catch (error) {
      if (!(error instanceof WorkflowError) || error.endsRun) throw error;
      return { output: { error: error.fields as unknown as Json }, then: "continue" };
    }
  };

/**
 * Runs `count` branches, at most `most` at a time. The first that throws leaves the others; what it threw is thrown when
 * all have ended. `then: end` of a branch ends the run when all have ended.
 */
async function together(frame: Frame, count: number, most: number, branch: Branch): Promise<Result> {
  const { execution } = frame;
  const { branches } = execution;
  const results: Result[] = [];
  let done = 0;
  using own = follow(frame.scope.signal);
  const { signal } = own;
  const lines = Math.min(most, count);
  let next = 0;
  let live = lines;
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
  // A timeout or a cancel between two items leaves the rest undone without anything being thrown.
  if (next < count) frame.scope.signal.throwIfAborted();
  const ends = results.some(({ then }) => then === "end");
  return { output: results.map(({ output }) => output), then: ends ? "end" : "continue" };
}
