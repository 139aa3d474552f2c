/** What a run that tries another again keeps of that one's journal. */
import { badInput } from "../lib/errors.ts";
import type { Json } from "../lib/json.ts";
import type { JournalStep, StepState } from "./loaded-run.ts";
import { allAround, enclosing } from "./step-keys.ts";

/** `failed`: the step that raised the error which ended the old run; none: the error was the run's own, of its output. */
export type OldSteps = { steps: JournalStep[]; hasFailed: boolean; failed: JournalStep | undefined };

/**
 * The step that is done again first: by default the one that failed or was stopped, in a run that completed the first.
 * Undefined when all have their results and only the run's output is made again. Throws BAD_USER_INPUT.
 */
export function firstStep({ steps, hasFailed, failed }: OldSteps, wanted: number | undefined): JournalStep | undefined {
  if (wanted === undefined && steps.length > 0)
    return firstStopped(steps, failed?.key ?? "") ?? (hasFailed ? failed : steps[0]);
  const found = steps.find(({ number }) => number === wanted);
  if (!found) {
    const message = wanted === undefined ? "the run has no steps: start it anew" : `the run has no step ${wanted}`;
    throw badInput(message, [{ path: "input.fromStep", code: "unknown_step", message }]);
  }
  return found;
}

/** The first that was cancelled in the middle of its work, with all around it up to `within`; none of those around it. */
function firstStopped(steps: JournalStep[], within: string): JournalStep | undefined {
  const reached = new Set([within]);
  const stopped = steps.filter(({ key, status }) => {
    const isStopped = status === "cancelled" && reached.has(enclosing(key));
    if (isStopped) reached.add(key);
    return isStopped;
  });
  const around = allAround(stopped);
  return stopped.find(({ key }) => !around.has(key));
}

const encloses = (step: JournalStep, other: JournalStep): boolean => other.key.startsWith(`${step.key}/`);

/**
 * The steps before `from`, as copies. Open again are those around it, and of the rest those that have no result to keep:
 * what was cancelled in another branch, and what failed with the old run.
 */
export function keep({ steps, failed }: OldSteps, from: JournalStep | undefined, now: number): JournalStep[] {
  const before = steps.filter(({ number }) => !from || number < from.number);
  const begun = allAround(before);
  const aroundFrom = allAround(from ? [from] : []);
  const aroundFailed = allAround(failed ? [failed] : []);
  const open = new Map<string, JournalStep>();
  return before.map((step) => {
    const copy = { ...step, state: { ...step.state } };
    const hasResult = step.status !== "cancelled" && step !== failed && !aroundFailed.has(step.key);
    if (!isReached(step, open) || (hasResult && !aroundFrom.has(step.key))) return copy;
    const isBegun = aroundFrom.has(step.key) || begun.has(step.key);
    const reopened: JournalStep = {
      ...copy,
      status: "running",
      state: isBegun ? begunState(step, from) : {},
      input: isBegun ? copy.input : undefined,
      output: undefined,
      error: null,
      startedAt: now,
      finishedAt: null,
    };
    open.set(step.key, reopened);
    return reopened;
  });
}

/** Whether the run comes to this row again: not to that of an earlier try, nor into a `try` whose error was caught. */
function isReached({ key, round }: JournalStep, open: ReadonlyMap<string, JournalStep>): boolean {
  const around = enclosing(key);
  if (around === "") return true;
  const parent = open.get(around);
  if (!parent) return false;
  const { try: number, caught } = parent.state;
  if (number === undefined) return round === parent.round;
  if (key.startsWith(`${around}/catch/`)) return caught !== undefined && round === parent.round;
  return caught === undefined && round === `${parent.round}${number}.`;
}

/** What the steps inside are kept for. Times and tries are counted anew. */
function begunState(step: JournalStep, from: JournalStep | undefined): StepState {
  const { items, taskInput, try: number, caught } = step.state;
  const isCaught =
    caught !== undefined && (!from || !encloses(step, from) || from.key.startsWith(`${step.key}/catch/`));
  return {
    ...(items && { items }),
    ...(taskInput !== undefined && { taskInput }),
    ...(number !== undefined && { try: number, firstTry: number }),
    ...(isCaught && { caught }),
  };
}

/** `$context` as the kept steps left it. A step ends after those inside it. */
export function contextOf(kept: JournalStep[]): { context?: Json } {
  const last = kept
    .filter(({ state }) => state.context !== undefined)
    .toSorted(
      (a, b) => a.finishedAt! - b.finishedAt! || (encloses(a, b) ? 1 : encloses(b, a) ? -1 : a.number - b.number),
    )
    .at(-1);
  return last ? { context: last.state.context! } : {};
}
