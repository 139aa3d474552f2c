/**
 * The frame that a kind of task (tasks/) gets, and what it can do with it:
 * - `evaluate` (evaluate.ts) evaluates an expression with the task's variables.
 * - `performEffect` (effect.ts) has an effect outside, and commits the step before it begins.
 * - `ownSteps` (steps.ts) gives the task its own steps below its step; a finished one never runs again.
 * - `askPerson` (ask-person.ts), `execution.waitUntil` and `execution.waitForSignal` wait, for a person, a time or an event;
 *   when all branches of a run wait, it is unloaded.
 * - `runBlock` (interpreter.ts) runs a list of tasks inside the task, in a scope made with `inside`.
 */
import type { BodyOf, ProgramTask } from "../definition/program.ts";
import type { KindName } from "../definition/tasks/kinds.ts";
import type { Json } from "../lib/json/json.ts";
import type { Execution } from "./execution.ts";
import type { JournalStep } from "./journal/loaded-run.ts";
import type { Result, Scope } from "./scope.ts";
import type { MakeVariables } from "./variables.ts";

/** Runs each kind of task. */
export type TaskTable = { readonly [Name in KindName]: RunTask<BodyOf<Name>> };
export type RunTask<Body> = (frame: Frame, body: Body) => Promise<Result>;

/** A run and what runs its tasks. */
export type Walk = { execution: Execution; tasks: TaskTable };

export type Frame = Walk & {
  task: ProgramTask;
  /** After `input.from`. */
  input: Json;
  step: JournalStep;
  scope: Scope;
  /** The variables that the task's expressions see, made when one needs them. */
  variables: MakeVariables;
};

/** The task is done, and the run continues where its `then` says. */
export const complete = ({ task }: Frame, output: Json): Result => ({ output, then: task.then });
