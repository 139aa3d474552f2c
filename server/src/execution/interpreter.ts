/**
 * Walks a program. Every task writes a step row. A later advance takes the result of each committed row and evaluates nothing
 * before the last commit again. Rows of tasks without effects are committed with the next effect, wait or end.
 */
import type { Block, Body, ProgramTask } from "../definition/program.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import type { Outcome } from "../engine/engine.ts";
import type { Json } from "../lib/json/json.ts";
import { running } from "../lib/running.ts";
import { LONGEST_MS } from "./back-off.ts";
import {
  asDuration,
  asWorkflowError,
  checkSchema,
  evaluate,
  measure,
  outputOf,
  runVariables,
  taskVariables,
} from "./evaluate.ts";
import type { Execution } from "./execution.ts";
import type { Frame, RunTask, TaskTable, Walk } from "./frame.ts";
import { asThrown, type JournalStep } from "./journal/loaded-run.ts";
import { enter, withDeadline, type Result, type Scope } from "./scope.ts";
import { failStep, reachStep } from "./steps.ts";
import { truthy, type MakeVariables } from "./variables.ts";

/** Advances the run until it ends or waits. */
export function execute(execution: Execution, tasks: TaskTable): Promise<Outcome> {
  const { id } = execution.journal.head;
  const what = running.getStore();
  if (!what || what.runId !== undefined) return running.run({ runId: id }, advance, { execution, tasks });
  // Started by a request: a second async context would copy the 2 kB of the first.
  what.runId = id;
  return advance({ execution, tasks });
}

async function advance(walk: Walk): Promise<Outcome> {
  const { execution } = walk;
  try {
    return await execution.finish({ output: await runWorkflow(walk) });
  } catch (reason) {
    return execution.outcomeOf(asWorkflowError(reason) ?? reason);
  }
}

async function runWorkflow(walk: Walk): Promise<Json> {
  const { execution } = walk;
  const { program, journal } = execution;
  const { head } = journal;
  const root: Scope = {
    key: "",
    round: "",
    attempt: 1,
    variables: {},
    visits: new Map(),
    deadline: undefined,
    signal: execution.signal,
    progress: (share) => {
      head.progress = Math.max(head.progress, Math.min(99, Math.floor(share * 100)));
    },
  };
  const all = runVariables(execution, root);
  if (program.inputFrom && head.state.input === undefined) {
    head.state.input = await placeErrors("/input", async () =>
      evaluate(execution, program.inputFrom!, head.input, all),
    );
  }
  const input = head.state.input ?? head.input;
  const started = head.startedAt ?? execution.now();
  root.deadline = started + LONGEST_MS;
  const late = (): WorkflowError => WorkflowError.of("timeout", "the run took longer than its limit").at("/timeout");
  if (root.deadline <= execution.now()) throw late();
  const work = (scope: Scope): Promise<Result> => runBlock(walk, program.block, input, scope);
  if (program.timeout) {
    const { timeout } = program;
    head.state.deadline ??= await placeErrors("/timeout", async () => {
      return started + asDuration(await evaluate(execution, timeout, input, all));
    });
  }
  const { deadline } = head.state;
  const { output } = await (deadline === undefined
    ? work(root)
    : withDeadline(execution.shared.clock, root, deadline, work, late));
  // A task's output was measured when the task ended; the run's input, which is no task's output, when it arrived.
  if (!program.inputFrom && !program.outputAs && !program.outputCheck) return output;
  return placeErrors("/output", async () => {
    const result = program.outputAs ? await evaluate(execution, program.outputAs, output, all) : output;
    await checkSchema(execution, program.outputCheck, result, "output");
    measure(result);
    return result;
  });
}

/** An error of the run itself names the part of the definition that raised it. */
async function placeErrors<Result>(reference: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (reason) {
    throw asWorkflowError(reason)?.at(reference) ?? reason;
  }
}

/** Runs a list of tasks from the first one, following `then`. */
export async function runBlock(walk: Walk, block: Block, input: Json, scope: Scope): Promise<Result> {
  const { tasks } = block;
  let output = input;
  for (let index = 0; index < tasks.length;) {
    const place = index;
    const share = (part: number): void => scope.progress((place + part) / tasks.length);
    const result = await runTask(walk, tasks[index]!, output, scope, share);
    output = result.output;
    share(1);
    if (result.then === "continue") index++;
    else if (result.then === "exit" || result.then === "end") return { output, then: result.then };
    else index = block.position.get(result.then)!;
  }
  return { output, then: "continue" };
}

async function runTask(
  walk: Walk,
  task: ProgramTask,
  input: Json,
  scope: Scope,
  progress: (share: number) => void,
): Promise<Result> {
  const { execution } = walk;
  const breath = execution.breathe(scope, task.reference);
  if (breath) await breath;
  const step = reachStep(execution, enter(scope, task.name), task, scope.round);
  const before = takeResult(step, task, input);
  if (before) return before;
  try {
    return await runOpen(walk, task, input, step, { ...scope, progress });
  } catch (reason) {
    const error = asWorkflowError(reason);
    if (!error) throw reason;
    return failStep(execution, step, error, task.reference);
  }
}

/** The result in a committed row, if its task is over. */
function takeResult(step: JournalStep, task: ProgramTask, input: Json): Result | undefined {
  if (step.status === "completed") return { output: step.output ?? null, then: step.state.then ?? task.then };
  if (step.status === "skipped") return { output: input, then: "continue" };
  if (step.status === "failed") throw asThrown(step.error!);
  return undefined;
}

async function runOpen(walk: Walk, task: ProgramTask, input: Json, step: JournalStep, scope: Scope): Promise<Result> {
  const { execution, tasks } = walk;
  const before = taskVariables(execution, task, step, scope);
  if (
    task.condition &&
    step.state.taskInput === undefined &&
    !truthy(await evaluate(execution, task.condition, input, (used) => ({ ...before(used), input })))
  ) {
    execution.journal.close(step, "skipped", execution.now());
    return { output: input, then: "continue" };
  }
  const taskInput = await inputOf(execution, task, input, step, before);
  const all: MakeVariables = (used) => ({ ...before(used), input: taskInput });
  if (task.timeout && step.state.deadline === undefined) {
    step.state.deadline = step.startedAt + asDuration(await evaluate(execution, task.timeout, taskInput, all));
    execution.journal.touch(step);
  }
  const frame: Frame = { execution, tasks, task, input: taskInput, step, scope, variables: all };
  const { output: raw, then } = await withinTimeout(frame);
  const { output, context } = await outputOf(execution, task, raw, all, step);
  // Nothing may be awaited from here to `close`: a commit contains both the row and the context of a task, or neither.
  execution.journal.keep(step, output, measure(output));
  if (context !== undefined) step.state.context = execution.journal.head.state.context = context;
  const { state } = step;
  if (then !== task.then) state.then = then;
  else if (state.then !== undefined) delete state.then;
  // Most have none, and deleting nothing is a call into the runtime.
  if (state.items !== undefined) delete state.items;
  if (state.taskInput !== undefined) delete state.taskInput;
  execution.journal.close(step, "completed", execution.now());
  return { output, then };
}

/** The task's input after `input.from`, evaluated once and kept in the row. */
function inputOf(
  execution: Execution,
  task: ProgramTask,
  input: Json,
  step: JournalStep,
  variables: MakeVariables,
): Json | Promise<Json> {
  if (step.state.taskInput !== undefined) return step.state.taskInput;
  const { inputFrom, inputCheck, condition } = task;
  return inputFrom || inputCheck || condition ? firstInputOf(execution, task, input, step, variables) : input;
}

async function firstInputOf(
  execution: Execution,
  task: ProgramTask,
  input: Json,
  step: JournalStep,
  variables: MakeVariables,
): Promise<Json> {
  await checkSchema(execution, task.inputCheck, input, "input");
  const taskInput = task.inputFrom ? await evaluate(execution, task.inputFrom, input, variables, step) : input;
  if (task.inputFrom || task.condition) {
    // Also marks that `if` has been decided: it is not evaluated again after a wait.
    step.state.taskInput = taskInput;
    if (task.inputFrom && !("arguments" in task.body)) step.input = taskInput;
    execution.journal.touch(step);
  }
  return taskInput;
}

/** Runs the body, limited by the task's own timeout if it has one. */
function withinTimeout(frame: Frame): Promise<Result> {
  const { execution, step, scope, task } = frame;
  if (step.state.deadline === undefined) return runBody(frame);
  return withDeadline(
    execution.shared.clock,
    scope,
    step.state.deadline,
    (within) => runBody({ ...frame, scope: within }),
    () => WorkflowError.of("timeout", `${task.name} took longer than its timeout`),
  );
}

export function runBody(frame: Frame): Promise<Result> {
  const { body } = frame.task;
  const run = frame.tasks[body.is] as RunTask<Body>;
  return run(frame, body);
}
