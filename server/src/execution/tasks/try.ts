/** `try`/`catch`/`retry`. Tries of the block are attempts of the step. A single effect runs in the step of the `try`. */
import type { BodyOf, ProgramTask } from "../../definition/program.ts";
import type { Catch, Retry } from "../../definition/tasks/try.ts";
import { lastSegment, WorkflowError, type ErrorFields } from "../../definition/workflow-error.ts";
import { isObject, type Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { retryAfterMs } from "../../outbound/retry-after.ts";
import { delayBefore, type BackOff } from "../back-off.ts";
import { forgetEffect } from "../effect.ts";
import type { Execution } from "../execution.ts";
import { complete, type Frame } from "../frame.ts";
import { asDuration, asWorkflowError, evaluate, outputOf, taskVariables } from "../evaluate.ts";
import { runBlock, runBody } from "../interpreter.ts";
import { asRunError, type JournalStep } from "../journal/loaded-run.ts";
import { inside, leave, withDeadline, type Result, type Scope } from "../scope.ts";
import { keyInside, roundInside } from "../journal/step-keys.ts";
import { truthy, type MakeVariables } from "../variables.ts";

type TryBody = BodyOf<"try">;

export async function runTry(frame: Frame, body: TryBody): Promise<Result> {
  const { execution, input, step, scope, task } = frame;
  const { state } = step;
  while (state.caught === undefined) {
    if (state.until !== undefined) await endDelay(execution, step, scope);
    beginTry(execution, step, body.blocks.try.single);
    try {
      return leave(task.then, await tryOnce(frame, body));
    } catch (reason) {
      const error = asWorkflowError(reason);
      if (!error || error.endsRun) throw reason;
      await handle(frame, body, error.at(task.reference, step.number));
    }
  }
  const { catch: block } = body.blocks;
  if (!block) return complete(frame, input);
  const { stepNumber: _stepNumber, ...fields } = state.caught;
  const own = { ...scope.variables, [body.catch.as]: fields as unknown as Json };
  const within = inside(scope, keyInside(step.key, block.way), { variables: own });
  return leave(task.then, await runBlock(frame, block, input, within));
}

function beginTry(execution: Execution, step: JournalStep, single: ProgramTask | undefined): void {
  const { state } = step;
  if (state.tryStartedAt !== undefined) return;
  if (single) state.call = single.reference;
  state.try ??= 1;
  state.tryStartedAt = execution.now();
  state.firstTryAt ??= state.tryStartedAt;
  execution.journal.touch(step);
}

function tryOnce(frame: Frame, body: TryBody): Promise<Result> {
  const { execution, input, step, scope, variables } = frame;
  const { state } = step;
  const { try: block } = body.blocks;
  const round = inside(scope, keyInside(step.key, block.way), {
    round: roundInside(step, block.way),
    attempt: state.try!,
  });
  const work = (within: Scope): Promise<Result> =>
    block.single ? tryEffect(frame, block.single, within) : runBlock(frame, block, input, within);
  const limit = body.catch.retry?.attemptDuration;
  if (!limit) return work(round);
  const late = (): Error => WorkflowError.of("timeout", "the attempt took longer than its limit");
  const workWithin = (duration: Json): Promise<Result> => {
    // An effect that the end of a process interrupted is repeated, as an attempt with its own limit.
    const began = state.sent ? execution.now() : state.tryStartedAt!;
    return withDeadline(execution.shared.clock, round, began + asDuration(duration), work, late);
  };
  const duration = evaluate(execution, limit, input, variables);
  return duration instanceof Promise ? duration.then(workWithin) : workWithin(duration);
}

/** Runs the single effect in the step of the `try`. */
async function tryEffect(frame: Frame, task: ProgramTask, scope: Scope): Promise<Result> {
  const { execution, input, step } = frame;
  const ofTask = taskVariables(execution, task, step, scope);
  const variables: MakeVariables = (used) => ({ ...ofTask(used), input });
  try {
    const { output: raw } = await runBody({ ...frame, task, scope, variables });
    const { output, context } = await outputOf(execution, task, raw, variables, step);
    if (context !== undefined) step.state.context = execution.journal.head.state.context = context;
    return { output, then: task.then === "end" ? "end" : "continue" };
  } catch (reason) {
    throw asWorkflowError(reason)?.at(task.reference, step.number) ?? reason;
  }
}

/** Handles an error of the tries: throws it again, schedules another try, or catches it (`state.caught`). */
async function handle(
  { execution, step, ...frame }: Frame,
  { catch: rule, blocks }: TryBody,
  error: WorkflowError,
): Promise<void> {
  const { state } = step;
  // Steps that the try's own limit has stopped are still open, including approvals.
  execution.journal.closeBelow(step.key, "cancelled", execution.now());
  const fields = error.fields as unknown as Json;
  const variables: MakeVariables = (used) => ({ ...frame.variables(used), [rule.as]: fields });
  if (!(await matches(execution, rule, error.fields, variables))) throw error;
  const delay = rule.retry && (await retryDelay(execution, rule.retry, step, error.fields, variables));
  if (delay === undefined) {
    if (rule.retry && !blocks.catch) throw error;
    state.caught = asRunError(error);
    state.caughtAt = execution.now();
    step.unsaved = undefined;
    execution.journal.touch(step);
    return;
  }
  const now = execution.now();
  execution.journal.recordAttempt(step, asRunError(error), now);
  forgetEffect(step);
  delete state.tryStartedAt;
  state.try!++;
  state.until = now + delay;
}

async function endDelay(execution: Execution, step: JournalStep, scope: Scope): Promise<void> {
  await execution.waitUntil(step.state.until!, scope);
  delete step.state.until;
  execution.journal.touch(step);
}

/** Whether this `catch` handles the error: every field of `errors.with` must match, then `when` and `exceptWhen` decide. */
async function matches(
  execution: Execution,
  rule: Catch,
  error: ErrorFields,
  variables: MakeVariables,
): Promise<boolean> {
  const data = error as unknown as Json;
  if (rule.with) {
    const wanted = await evaluate(execution, rule.with, data, variables);
    if (isObject(wanted) && !Object.entries(wanted).every(([name, value]) => isSameField(name, value, error)))
      return false;
  }
  return allows(execution, rule, data, variables);
}

function isSameField(name: string, value: Json, error: ErrorFields): boolean {
  if (name === "type") return typeof value === "string" && lastSegment(value) === lastSegment(error.type);
  if (name === "status") return Number(value) === error.status;
  return value === error[name as keyof ErrorFields];
}

async function allows(
  execution: Execution,
  rule: Pick<Catch, "when" | "exceptWhen">,
  data: Json,
  variables: MakeVariables,
): Promise<boolean> {
  if (rule.when && !truthy(await evaluate(execution, rule.when, data, variables))) return false;
  return !(rule.exceptWhen && truthy(await evaluate(execution, rule.exceptWhen, data, variables)));
}

/**
 * The delay before the next try in ms: the policy's, or what the service asked for if that is longer. Undefined if the policy or the
 * limit of attempts allows none.
 */
async function retryDelay(
  execution: Execution,
  retry: Retry,
  step: JournalStep,
  fields: ErrorFields,
  variables: MakeVariables,
): Promise<number | undefined> {
  const { state } = step;
  const error = fields as unknown as Json;
  const again = state.try! - (state.firstTry ?? 1) + 1;
  if (again > (retry.attempts ?? Infinity) || step.attempt >= LIMITS.attemptsPerStep) return undefined;
  if (!(await allows(execution, retry, error, variables))) return undefined;
  const span = async (template: Retry["delay"]): Promise<number> =>
    template ? asDuration(await evaluate(execution, template, error, variables)) : 0;
  const backOff: BackOff = {
    ...(retry.jitter && { jitter: { from: await span(retry.jitter.from), to: await span(retry.jitter.to) } }),
    delay: await span(retry.delay),
    growth: await growthOf(retry.backoff, span),
  };
  const asked = fields.response ? retryAfterMs(fields.response, execution.now()) : 0;
  const ms = Math.max(asked, delayBefore(backOff, again, execution.shared.random()));
  if (retry.duration && execution.now() + ms > state.firstTryAt! + (await span(retry.duration))) return undefined;
  return ms;
}

async function growthOf(
  backoff: Retry["backoff"],
  span: (template: Retry["delay"]) => Promise<number>,
): Promise<BackOff["growth"]> {
  if (backoff.is === "linear") return { is: "linear", increment: await span(backoff.increment) };
  if (backoff.is === "constant") return backoff;
  return {
    is: "exponential",
    factor: backoff.factor,
    most: backoff.maxDelay ? await span(backoff.maxDelay) : Infinity,
  };
}
