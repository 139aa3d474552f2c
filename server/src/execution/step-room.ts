/** Whether the steps of a list's items can fit into a run: told before the first item, not at its 10,000th step. */
import type { Block, ProgramTask } from "../definition/program.ts";
import type { Kind } from "../definition/tasks/kind.ts";
import { KINDS } from "../definition/tasks/kinds.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Frame } from "./frame.ts";

/** `steps`: the minimum of each pass through a list of tasks. `isWhole`: none of its tasks leads elsewhere, ends the run or raises. */
type Least = { steps: number; isWhole: boolean };

const known = new WeakMap<Block, Least>();

export function leastOf(block: Block): Least {
  let least = known.get(block);
  if (!least) known.set(block, (least = countLeast(block.tasks)));
  return least;
}

/** A skipped task has a step, too. Tasks after one that may lead elsewhere may never be reached. */
function countLeast(tasks: readonly ProgramTask[]): Least {
  let steps = 0;
  for (const task of tasks) {
    const inner = insideOf(task);
    steps += 1 + (task.condition ? 0 : inner.steps);
    if (!inner.isWhole || task.then !== "continue") return { steps, isWhole: false };
  }
  return { steps, isWhole: true };
}

/** How often a loop repeats, and whether a `catch` is reached, is known only at run time. */
function insideOf({ body }: ProgramTask): Least {
  const kind: Kind = KINDS[body.is];
  let steps = 0;
  let isWhole = !kind.mayLeadElsewhere;
  for (const [name, block] of Object.entries<Block>(body.blocks)) {
    const least = leastOf(block);
    isWhole &&= least.isWhole;
    const { way } = kind.blocks[name]!;
    if (way === "once" || (way === "branches" && !(body.is === "fork" && body.compete))) steps += least.steps;
  }
  return { steps, isWhole };
}

/** Throws the error of a run that has too many steps. `least`: of each item. */
export function checkRoom({ execution, step }: Frame, items: number, least: number): void {
  const left = execution.journal.stepsLeft(step.key, items * least);
  if (items * least <= left) return;
  throw WorkflowError.overLimit(
    `${items} items of at least ${least} ${least === 1 ? "step" : "steps"} each do not fit into the ${left} steps that are left: a run has at most ${LIMITS.stepsPerRun}`,
  );
}
