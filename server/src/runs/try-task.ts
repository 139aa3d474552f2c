/** `try`/`catch`/`retry`. Tries of the block are attempts of the step; a `try` around one call is that call's step. */
import type { Variables } from "../definition/expressions/expressions.ts";
import type { Block, Body, Catch, PlanTask, Retry } from "../definition/plan.ts";
import { lastSegment, WorkflowError, type ErrorFields } from "../definition/workflow-error.ts";
import { isObject, type Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { delayBefore, type BackOff } from "./back-off.ts";
import { runCall } from "./call-task.ts";
import type { Execution } from "./execution.ts";
import type { Frame } from "./frame.ts";
import { asDuration, asWorkflowError, evaluated, outputOf, taskVariables } from "./evaluate.ts";
import type { JournalStep } from "./loaded-run.ts";
import { inside, withDeadline, type Result, type Scope } from "./scope.ts";
import { truthy } from "./variables.ts";

type TryBody = Extract<Body, { is: "try" }>;

export async function runTry(frame: Frame, body: TryBody): Promise<Result> {
  const { execution, input, step, scope } = frame;
  const { state } = step;
  while (state.caught === undefined) {
    if (state.until !== undefined) await endDelay(execution, step, scope);
    beginTry(execution, step);
    try {
      return await oneTry(frame, body);
    } catch (reason) {
      const error = asWorkflowError(reason);
      if (!error || error.endsRun) throw reason;
      await caught(frame, body.catch, error.at(frame.task.reference));
    }
  }
  if (!body.catch.block) return { output: input, then: "continue" };
  const own = { ...scope.variables, [body.catch.as]: state.caught };
  return frame.runBlock(execution, body.catch.block, input, inside(scope, `${step.key}/catch/`, { variables: own }));
}

function beginTry(execution: Execution, step: JournalStep): void {
  const { state } = step;
  if (state.tryStartedAt !== undefined) return;
  state.try ??= 1;
  state.tryStartedAt = execution.now();
  state.firstTryAt ??= state.tryStartedAt;
  execution.journal.touch(step);
}

async function oneTry(frame: Frame, body: TryBody): Promise<Result> {
  const { execution, input, step, scope, variables } = frame;
  const { state } = step;
  const round = inside(scope, `${step.key}/`, { round: `${scope.round}${state.try}.`, attempt: state.try! });
  const work = (inner: Scope): Promise<Result> => {
    const single = singleCall(body.block);
    return single ? tryCall(frame, single, inner) : frame.runBlock(execution, body.block, input, inner);
  };
  const limit = body.catch.retry?.attemptDuration;
  if (!limit) return work(round);
  const ms = asDuration(await evaluated(execution, limit, input, variables));
  const late = (): Error => WorkflowError.of("timeout", "the attempt took longer than its limit");
  // A call that the end of a process has interrupted is made again, as an attempt with a limit of its own.
  const began = state.sent ? execution.now() : state.tryStartedAt!;
  return withDeadline(execution.parts.clock, round, began + ms, work, late);
}

/** A call that is only made, and goes on at no task (itself), needs no step beside the `try`'s. */
export function singleCall(block: Block): PlanTask | undefined {
  const [task] = block.tasks;
  if (block.tasks.length !== 1 || task!.body.is !== "call" || task!.body.call === "approval") return undefined;
  const isMore =
    task!.condition || task!.timeout || task!.inputFrom || task!.inputCheck || block.position.has(task!.then);
  return isMore ? undefined : task;
}

async function tryCall(frame: Frame, task: PlanTask, scope: Scope): Promise<Result> {
  const { execution, input, step } = frame;
  const variables = (): Variables => ({ ...taskVariables(execution, task, step, scope)(), input });
  step.kind = task.kind;
  try {
    const raw = await runCall({ ...frame, task, scope, variables }, task.body as Extract<Body, { is: "call" }>);
    const { output, context } = await outputOf(execution, task, raw, variables, step);
    if (context !== undefined) step.state.context = execution.journal.head.state.context = context;
    return { output, then: task.then === "end" ? "end" : "continue" };
  } catch (reason) {
    throw asWorkflowError(reason)?.at(task.reference) ?? reason;
  }
}

/** Decides about an error of the block: thrown on, tried again after a delay, or caught (`state.caught`). */
async function caught({ execution, step, ...frame }: Frame, rule: Catch, error: WorkflowError): Promise<void> {
  const { state } = step;
  // What the try's own limit has stopped is open still, an approval too.
  execution.journal.closeBelow(step.key, "cancelled", execution.now());
  const fields = error.fields as unknown as Json;
  const variables = (): Variables => ({ ...frame.variables(), [rule.as]: fields });
  if (!(await matches(execution, rule, error.fields, variables))) throw error;
  const delay = rule.retry && (await retryDelay(execution, rule.retry, step, fields, variables));
  if (delay === undefined) {
    if (rule.retry && !rule.block) throw error;
    state.caught = error.fields;
    step.unsaved = undefined;
    execution.journal.touch(step);
    return;
  }
  const now = execution.now();
  execution.journal.recordAttempt(step, error.fields, state.tryStartedAt!, now);
  forgetCall(step);
  delete state.tryStartedAt;
  state.try!++;
  state.until = now + delay;
}

/** The next try makes its own. */
function forgetCall(step: JournalStep): void {
  delete step.state.sent;
  delete step.state.answer;
  step.unsaved = undefined;
}

async function endDelay(execution: Execution, step: JournalStep, scope: Scope): Promise<void> {
  await execution.waitUntil(step.state.until!, scope);
  delete step.state.until;
  execution.journal.touch(step);
}

/** Whether this `catch` is for this error: every field of `errors.with`, then `when` and `exceptWhen`. */
async function matches(
  execution: Execution,
  rule: Catch,
  error: ErrorFields,
  variables: () => Variables,
): Promise<boolean> {
  const data = error as unknown as Json;
  if (rule.with) {
    const wanted = await evaluated(execution, rule.with, data, variables);
    if (isObject(wanted) && !Object.entries(wanted).every(([name, value]) => sameField(name, value, error)))
      return false;
  }
  return allowed(execution, rule, data, variables);
}

function sameField(name: string, value: Json, error: ErrorFields): boolean {
  if (name === "type") return typeof value === "string" && lastSegment(value) === lastSegment(error.type);
  if (name === "status") return Number(value) === error.status;
  return value === error[name as keyof ErrorFields];
}

async function allowed(
  execution: Execution,
  rule: Pick<Catch, "when" | "exceptWhen">,
  data: Json,
  variables: () => Variables,
): Promise<boolean> {
  if (rule.when && !truthy(await evaluated(execution, rule.when, data, variables))) return false;
  return !(rule.exceptWhen && truthy(await evaluated(execution, rule.exceptWhen, data, variables)));
}

/** The delay before the next try in ms, or undefined when the policy, or the limit of attempts, allows none. */
async function retryDelay(
  execution: Execution,
  retry: Retry,
  step: JournalStep,
  error: Json,
  variables: () => Variables,
): Promise<number | undefined> {
  const { state } = step;
  const again = state.try! - (state.firstTry ?? 1) + 1;
  if (again > (retry.attempts ?? Infinity) || step.attempt >= LIMITS.attemptsPerStep) return undefined;
  if (!(await allowed(execution, retry, error, variables))) return undefined;
  const span = async (template: Retry["delay"]): Promise<number> =>
    template ? asDuration(await evaluated(execution, template, error, variables)) : 0;
  const backOff: BackOff = {
    ...(retry.jitter && { jitter: { from: await span(retry.jitter.from), to: await span(retry.jitter.to) } }),
    delay: await span(retry.delay),
    growth: await growthOf(retry.backoff, span),
  };
  const ms = delayBefore(backOff, again, execution.parts.random());
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
