/** The part of the old run's journal that a retried run keeps. */
import { lastSegment } from "../../definition/workflow-error.ts";
import { badInput, shortened } from "../../lib/errors.ts";
import { isObject, type Json } from "../../lib/json/json.ts";
import type { JournalStep, StepState } from "./loaded-run.ts";
import {
  allAround,
  areBeside,
  enclosing,
  isOwn,
  isQuestionOfLimit,
  isWithin,
  keyOfTask,
  roundInside,
  wayInto,
} from "./step-keys.ts";

/** `failed`: the step whose error ended the old run; none if the error came from the run's own output. */
export type OldSteps = { steps: JournalStep[]; failed: JournalStep | undefined };

/**
 * The first step to run again: by default the one that failed or was stopped. Undefined if all that is needed has results: what
 * comes after them is run, or only the run's output is made again. Throws BAD_USER_INPUT.
 */
export function firstStep({ steps, failed }: OldSteps, wanted: number | undefined): JournalStep | undefined {
  if (wanted === undefined && steps.length > 0)
    return firstStopped(steps, failed?.key ?? "") ?? (failed?.kind === "assistant" ? stopOf(failed, steps) : failed);
  const found = steps.find(({ number }) => number === wanted);
  if (!found) {
    const message = wanted === undefined ? "the run has no steps: start a new run" : `the run has no step ${wanted}`;
    throw badInput("invalid_input", message, [{ path: "input.fromStep", code: "unknown", message }]);
  }
  return found;
}

const NUMBERS_NAMED = 20;

/** The number of the only step of a task of this name. Throws BAD_USER_INPUT, which names the numbers if there are several. */
export function numberOf(steps: JournalStep[], task: string): number {
  const numbers = steps.filter(({ name }) => name === task).map(({ number }) => number);
  if (numbers.length === 1) return numbers[0]!;
  const name = shortened(task);
  const named = numbers.slice(0, NUMBERS_NAMED).join(", ") + (numbers.length > NUMBERS_NAMED ? ", …" : "");
  const message =
    numbers.length === 0
      ? `the run has no step of a task named ${name}`
      : `the run has several steps of tasks named ${name}: give one of their numbers as fromStep (${named})`;
  const code = numbers.length === 0 ? "unknown" : "repeated";
  throw badInput("invalid_input", message, [{ path: "input.fromTask", code, message }]);
}

/** The innermost first step that was cancelled during its work, along with all its enclosing steps up to `within`. */
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

/**
 * The step at which an assistant goes on that ended with an error of its own. If a person refused more: the question to them. If a limit
 * ended a question or calls: that question, or the first of them. After calls that went wrong: the last question. Undefined: none of its
 * steps is done again.
 */
function stopOf(assistant: JournalStep, steps: JournalStep[]): JournalStep | undefined {
  const own = steps
    .filter(({ key }) => isOwn(key) && keyOfTask(key) === assistant.key)
    .toSorted((a, b) => a.startedAt - b.startedAt || a.number - b.number);
  const last = own.at(-1);
  if (!last) return assistant;
  if (isQuestionOfLimit(last.key)) return isApproved(last) ? undefined : last;
  const model = own.findLastIndex(({ kind }) => kind === "model");
  const type = lastSegment(assistant.error?.type ?? "");
  if (type === "tool" || own[model]?.status === "failed") return own[model];
  return type === "limit" ? own.slice(model + 1).find(({ state }) => state.reached !== undefined) : undefined;
}

const isApproved = ({ output }: JournalStep): boolean => isObject(output) && output["approved"] === true;

const encloses = (step: JournalStep, other: JournalStep): boolean => other.key.startsWith(`${step.key}/`);

/**
 * Copies of the steps before `from`. Reopened are the steps that enclose it, and those that have no result to keep: what was
 * cancelled in another branch, what failed together with the old run, and lists of tools that somebody may have accepted since.
 */
export function keep({ steps, failed }: OldSteps, from: JournalStep | undefined, now: number): JournalStep[] {
  const sides = from ? sidesOf(from, steps) : [];
  const before = from ? steps.filter((step) => isBefore(step, from) || isBeside(step, sides)) : steps;
  const begun = allAround(before);
  const aroundFrom = allAround(from ? [from] : []);
  const aroundFailed = allAround(failed ? [failed] : []);
  // Another branch that failed at the same time has an error as well: kept, it would end the new run at once.
  const sidesOfFailed = failed ? sidesOf(failed, steps) : [];
  const hasFailedBeside = (step: JournalStep): boolean =>
    step.status === "failed" && !isOwn(step.key) && isBeside(step, sidesOfFailed);
  const open = new Map<string, JournalStep>();
  return before.map((step) => {
    const copy = { ...step, state: { ...step.state } };
    const isFailed = step === failed || aroundFailed.has(step.key) || hasFailedBeside(step);
    const isStopped = step.status === "cancelled" || isFailed;
    const hasResult = !isStopped && !step.state.hasChangedTools;
    if (!isReached(step, open) || (hasResult && !aroundFrom.has(step.key))) return copy;
    const isBegun = aroundFrom.has(step.key) || begun.has(step.key);
    const state = isBegun ? begunState(step, from, now) : {};
    const reopened: JournalStep = {
      ...copy,
      status: "running",
      state,
      // A step that is done again as a whole has its first attempt before it.
      attempt: isBegun ? copy.attempt : 1,
      input: isBegun ? begunInput(copy) : undefined,
      output: undefined,
      error: null,
      response: state.caught ? copy.response : null,
      startedAt: now,
      finishedAt: null,
    };
    open.set(step.key, reopened);
    return reopened;
  });
}

/**
 * Rows have the order in which they were first reached. The own steps of one task may be reached in another order by the next
 * try, which opens some again and finds new ones: what was over when `from` began came before it. What another call of the same
 * answer has brought is kept, too, unless a limit cut it off.
 */
function isBefore(step: JournalStep, from: JournalStep): boolean {
  const isEarlier = step.number < from.number;
  if (step === from || !isOwn(from.key) || !isOwn(step.key) || keyOfTask(step.key) !== keyOfTask(from.key))
    return isEarlier;
  const isOver = (step.status === "completed" || step.status === "failed") && step.state.reached === undefined;
  if (isOver && areBeside(step.key, from.key)) return true;
  if (isEarlier) return step.startedAt <= from.startedAt;
  return step.finishedAt !== null && step.finishedAt <= from.startedAt;
}

/** A branch or an item of a task that has not completed: the task's key, and the part of a key that follows it. */
type Side = { around: string; part: string };

/** The branches and items that the step is in. */
function sidesOf({ key: inner }: JournalStep, steps: JournalStep[]): Side[] {
  const around = allAround([{ key: inner }]);
  return steps
    .filter(
      ({ key, kind, status }) => around.has(key) && (kind === "fork" || kind === "each") && status !== "completed",
    )
    .map(({ key }) => ({ around: `${key}/`, part: partBehind(`${key}/`, inner) }));
}

const partBehind = (around: string, inner: string): string => inner.slice(around.length).split("/", 1)[0]!;

/** Whether the step is in another branch or item: what it has brought depends on none of the others. */
const isBeside = ({ key }: JournalStep, sides: readonly Side[]): boolean =>
  sides.some(({ around, part }) => key.startsWith(around) && partBehind(around, key) !== part);

/** An assistant adds again to its input what was granted in the steps that it keeps. */
function begunInput({ kind, input }: JournalStep): Json | undefined {
  if (kind !== "assistant" || !isObject(input)) return input;
  const { granted: _, ...asked } = input;
  return asked;
}

/** Whether the run comes to this row again: not if it belongs to an earlier try, or to a `try` whose error was caught. */
function isReached({ key, round }: JournalStep, open: ReadonlyMap<string, JournalStep>): boolean {
  const around = enclosing(key);
  if (around === "") return true;
  const parent = open.get(around);
  if (!parent) return false;
  const way = wayInto(parent, key);
  return isWithin(parent, way) && round === roundInside(parent, way);
}

/**
 * The state that the steps inside depend on. Times and tries are counted from the beginning again, except a conversation's: of it
 * all is kept until `from`, with the time that it took.
 */
function begunState(step: JournalStep, from: JournalStep | undefined, now: number): StepState {
  const {
    items,
    taskInput,
    try: number,
    caught,
    caughtAt,
    tryStartedAt,
    call,
    assistant,
    conversation,
    listening,
  } = step.state;
  const isCaught = caught !== undefined && (!from || !encloses(step, from) || wayInto(step, from.key) === "catch");
  return {
    ...(items && { items }),
    ...(listening && { listening: { ...listening, isKept: true as const } }),
    ...(taskInput !== undefined && { taskInput }),
    ...(assistant?.forms && { assistant: { forms: assistant.forms } }),
    ...(conversation && from && { conversation: movedTo(now - from.startedAt, conversation) }),
    ...(number !== undefined && { try: number, firstTry: number }),
    // The try that it ended is not tried again, and is shown as it was.
    ...(isCaught && {
      caught,
      ...(caughtAt !== undefined && { caughtAt }),
      ...(tryStartedAt !== undefined && { tryStartedAt }),
      ...(call !== undefined && { call }),
    }),
  };
}

const movedTo = (
  laterMs: number,
  { hash, since }: NonNullable<StepState["conversation"]>,
): NonNullable<StepState["conversation"]> => ({ hash, since: since + laterMs });

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
