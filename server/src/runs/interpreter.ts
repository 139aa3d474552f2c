/**
 * Walks a plan. Every task writes a step row; on a later advance a committed row's result is taken and nothing before
 * the last commit is evaluated again. Rows of tasks without effects are committed with the next effect, wait or end.
 */
import type { Variables } from "../definition/expressions/expressions.ts";
import type { Template } from "../definition/expressions/template.ts";
import type { Block, Body, PlanTask } from "../definition/plan.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import type { Outcome } from "../engine/engine.ts";
import type { Json } from "../lib/json.ts";
import { running } from "../lib/running.ts";
import { runApproval } from "./approval-task.ts";
import { LONGEST_MS } from "./back-off.ts";
import { runCall } from "./call-task.ts";
import {
  asDuration,
  asWorkflowError,
  checked,
  evaluated,
  limited,
  outputOf,
  sized,
  taskVariables,
} from "./evaluate.ts";
import type { Execution } from "./execution.ts";
import { runFor } from "./for-task.ts";
import { runEach, runFork } from "./fork-task.ts";
import type { Frame } from "./frame.ts";
import type { JournalStep } from "./loaded-run.ts";
import { runChild } from "./run-task.ts";
import { enter, inside, leave, withDeadline, type Result, type Scope } from "./scope.ts";
import { runTry } from "./try-task.ts";
import { lazily, runtimeOf, truthy, workflowOf } from "./variables.ts";

/** Advances the run until it ends or waits. */
export function execute(execution: Execution): Promise<Outcome> {
  const { id } = execution.journal.head;
  const what = running.getStore();
  if (!what || what.runId !== undefined) return running.run({ runId: id }, advance, execution);
  // Begun by a request: a second frame would copy the first, 2 kB of it.
  what.runId = id;
  return advance(execution);
}

async function advance(execution: Execution): Promise<Outcome> {
  try {
    return await execution.finish({ output: await runWorkflow(execution) });
  } catch (reason) {
    return execution.outcomeOf(asWorkflowError(reason) ?? reason);
  }
}

async function runWorkflow(execution: Execution): Promise<Json> {
  const { plan, journal } = execution;
  const { head } = journal;
  const variables = lazily("workflow", () => workflowOf(plan, head));
  const root: Scope = {
    key: "",
    round: "",
    attempt: 1,
    variables,
    visits: new Map(),
    deadline: undefined,
    signal: execution.signal,
    progress: (share) => {
      head.progress = Math.max(head.progress, Math.min(99, Math.floor(share * 100)));
    },
  };
  const all = (): Variables => ({ ...variables, context: head.state.context ?? null, ...runtimeOf(execution) });
  if (plan.inputFrom && head.state.input === undefined) {
    head.state.input = await placed("/input", async () => evaluated(execution, plan.inputFrom!, head.input, all));
  }
  const input = head.state.input ?? head.input;
  const started = head.startedAt ?? execution.now();
  root.deadline = started + LONGEST_MS;
  const late = (): WorkflowError => WorkflowError.of("timeout", "the run took longer than it may").at("/timeout");
  if (root.deadline <= execution.now()) throw late();
  const work = (scope: Scope): Promise<Result> => runBlock(execution, plan.block, input, scope);
  if (plan.timeout) {
    const { timeout } = plan;
    head.state.deadline ??= await placed("/timeout", async () => {
      return started + asDuration(await evaluated(execution, timeout, input, all));
    });
  }
  const { deadline } = head.state;
  const { output } = await (deadline === undefined
    ? work(root)
    : withDeadline(execution.parts.clock, root, deadline, work, late));
  // A task's output was measured when the task ended, and the run's input, which is the output of none, when it came.
  if (!plan.inputFrom && !plan.outputAs && !plan.outputCheck) return output;
  return placed("/output", async () => {
    const result = plan.outputAs ? await evaluated(execution, plan.outputAs, output, all) : output;
    await checked(execution, plan.outputCheck, result, "output");
    return limited(result);
  });
}

/** An error of the run itself, not of a task, names the part of the definition that it comes from. */
async function placed<Result>(reference: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (reason) {
    throw asWorkflowError(reason)?.at(reference) ?? reason;
  }
}

/** Runs a list of tasks from its first, following `then`. */
export async function runBlock(execution: Execution, block: Block, input: Json, scope: Scope): Promise<Result> {
  const { tasks } = block;
  let output = input;
  for (let index = 0; index < tasks.length;) {
    const place = index;
    const share = (part: number): void => scope.progress((place + part) / tasks.length);
    const result = await runTask(execution, tasks[index]!, output, scope, share);
    output = result.output;
    share(1);
    if (result.then === "continue") index++;
    else if (result.then === "exit" || result.then === "end") return { output, then: result.then };
    else index = block.position.get(result.then)!;
  }
  return { output, then: "continue" };
}

async function runTask(
  execution: Execution,
  task: PlanTask,
  input: Json,
  scope: Scope,
  progress: (share: number) => void,
): Promise<Result> {
  const breath = execution.breathe(scope, task.reference);
  if (breath) await breath;
  const { journal } = execution;
  const key = enter(scope, task.name);
  let step = journal.step(key);
  if (step && step.round === scope.round) {
    const before = settled(step, task, input);
    if (before) return before;
  } else step = journal.open(key, task, scope.round, execution.now());
  try {
    return await runOpen(execution, task, input, step, { ...scope, progress });
  } catch (reason) {
    const error = asWorkflowError(reason);
    if (!error) throw reason;
    return failed(execution, step, error.at(task.reference));
  }
}

/** The result that a committed row stands for, if its task is over. */
function settled(step: JournalStep, task: PlanTask, input: Json): Result | undefined {
  if (step.status === "completed") return { output: step.output ?? null, then: step.state.then ?? task.then };
  if (step.status === "skipped") return { output: input, then: "continue" };
  if (step.status === "failed") throw new WorkflowError(step.error!);
  return undefined;
}

function failed(execution: Execution, step: JournalStep, error: WorkflowError): never {
  const now = execution.now();
  execution.journal.closeBelow(step.key, "cancelled", now);
  if (step.state.approvalId && step.status === "paused")
    execution.journal.changeApproval(step.state.approvalId, "withdrawn", now);
  step.error = error.fields;
  execution.journal.close(step, "failed", now);
  throw error;
}

async function runOpen(
  execution: Execution,
  task: PlanTask,
  input: Json,
  step: JournalStep,
  scope: Scope,
): Promise<Result> {
  const before = taskVariables(execution, task, step, scope);
  if (
    task.condition &&
    step.state.taskInput === undefined &&
    !truthy(await evaluated(execution, task.condition, input, before))
  ) {
    execution.journal.close(step, "skipped", execution.now());
    return { output: input, then: "continue" };
  }
  const taskInput = await inputOf(execution, task, input, step, before);
  const all = (): Variables => ({ ...before(), input: taskInput });
  if (task.timeout && step.state.deadline === undefined) {
    step.state.deadline = step.startedAt + asDuration(await evaluated(execution, task.timeout, taskInput, all));
    execution.journal.touch(step);
  }
  const frame: Frame = { execution, runBlock, task, input: taskInput, step, scope, variables: all };
  const { output: raw, then } = await withinTimeout(frame);
  const { output, context } = await outputOf(execution, task, raw, all, step);
  // From here to `close` nothing else may come between: a commit has the row and the context of a task, or neither.
  execution.journal.keep(step, output, sized(output));
  if (context !== undefined) step.state.context = execution.journal.head.state.context = context;
  if (then === task.then) delete step.state.then;
  else step.state.then = then;
  delete step.state.items;
  delete step.state.taskInput;
  execution.journal.close(step, "completed", execution.now());
  return { output, then };
}

/** The task's input after `input.from`, evaluated once and kept on the row. */
function inputOf(
  execution: Execution,
  task: PlanTask,
  input: Json,
  step: JournalStep,
  variables: () => Variables,
): Json | Promise<Json> {
  if (step.state.taskInput !== undefined) return step.state.taskInput;
  const { inputFrom, inputCheck, condition } = task;
  return inputFrom || inputCheck || condition ? firstInputOf(execution, task, input, step, variables) : input;
}

async function firstInputOf(
  execution: Execution,
  task: PlanTask,
  input: Json,
  step: JournalStep,
  variables: () => Variables,
): Promise<Json> {
  const taskInput = task.inputFrom ? await evaluated(execution, task.inputFrom, input, variables, step) : input;
  await checked(execution, task.inputCheck, taskInput, "input");
  if (task.inputFrom || task.condition) {
    // Also marks that `if` has been decided: it is not asked again after a wait.
    step.state.taskInput = taskInput;
    if (task.inputFrom && task.body.is !== "call") step.input = taskInput;
    execution.journal.touch(step);
  }
  return taskInput;
}

/** The body, until the task's own timeout if it has one. */
function withinTimeout(frame: Frame): Promise<Result> {
  const { execution, step, scope, task } = frame;
  if (step.state.deadline === undefined) return runBody(frame);
  return withDeadline(
    execution.parts.clock,
    scope,
    step.state.deadline,
    (limited) => runBody({ ...frame, scope: limited }),
    () => WorkflowError.of("timeout", `${task.name} took longer than its timeout`),
  );
}

async function runBody(frame: Frame): Promise<Result> {
  const { execution, task, input, step, scope, variables } = frame;
  const { body } = task;
  const goesOn = (output: Json): Result => ({ output, then: task.then });
  switch (body.is) {
    case "set":
      return goesOn(await evaluated(execution, body.value, input, variables, step));
    case "do":
      return leave(task.then, await runBlock(execution, body.block, input, inside(scope, `${step.key}/`)));
    case "switch":
      return { output: input, then: (await chosen(frame, body.cases)) ?? task.then };
    case "for":
      return leave(task.then, await runFor(frame, body));
    case "try":
      return leave(task.then, await runTry(frame, body));
    case "raise":
      throw WorkflowError.fromJson(await evaluated(execution, body.error, input, variables));
    case "wait":
      await wait(frame, body.duration);
      return goesOn(input);
    case "call":
      return goesOn(await (body.call === "approval" ? runApproval : runCall)(frame, body));
    case "fork":
      return leave(task.then, await runFork(frame, body));
    case "each":
      return leave(task.then, await runEach(frame, body));
    case "run":
      return goesOn(await runChild(frame, body));
  }
}

async function wait({ execution, input, step, scope, variables }: Frame, duration: Template): Promise<void> {
  if (step.state.until === undefined) {
    step.state.until = step.startedAt + asDuration(await evaluated(execution, duration, input, variables));
    execution.journal.touch(step);
  }
  await execution.waitUntil(step.state.until, scope);
}

/** The first case that holds; the one without `when` only when no other does, wherever it stands. */
async function chosen(
  { execution, input, variables }: Frame,
  cases: Extract<Body, { is: "switch" }>["cases"],
): Promise<string | undefined> {
  for (const { when, then } of cases) {
    if (when && truthy(await evaluated(execution, when, input, variables))) return then;
  }
  return cases.find(({ when }) => !when)?.then;
}
