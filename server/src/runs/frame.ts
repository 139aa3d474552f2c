/** What the body of a task works with. */
import type { Variables } from "../definition/expressions/expressions.ts";
import type { Block, PlanTask } from "../definition/plan.ts";
import type { Json } from "../lib/json.ts";
import type { Execution } from "./execution.ts";
import type { JournalStep } from "./loaded-run.ts";
import type { Result, Scope } from "./scope.ts";

export type Frame = {
  execution: Execution;
  /** Handed along, because lists of tasks and tasks contain each other. */
  runBlock: RunBlock;
  task: PlanTask;
  /** After `input.from`. */
  input: Json;
  step: JournalStep;
  scope: Scope;
  /** What the task's expressions see, made when one asks. */
  variables: () => Variables;
};

export type RunBlock = (execution: Execution, block: Block, input: Json, scope: Scope) => Promise<Result>;
