/** Whether the steps that a retried run keeps are those that a version would come to. */
import type { Block, Plan, PlanTask } from "../definition/plan.ts";
import { conflict } from "../lib/errors.ts";
import type { JournalStep } from "./loaded-run.ts";
import { kindAt } from "./plan-path.ts";
import { isStepOpen } from "./states.ts";
import { enclosing } from "./step-keys.ts";

/** Throws CONFLICT, naming the first step that does not fit. */
export function checkFit(plan: Plan, version: string, kept: JournalStep[]): void {
  for (const step of kept) {
    const kind = kindAt(plan, step.key);
    if (kind === step.kind) continue;
    throw doesNotFit(step, version, kind === undefined ? "has no such task" : `has a task of kind ${kind} there`);
  }
  new Walk(version, kept).through(plan.block, "", "");
}

const doesNotFit = ({ number, name, kind }: JournalStep, version: string, why: string): Error =>
  conflict(`step ${number} (${name}, ${kind}) does not fit: version ${version} ${why}`);

/** Goes through a plan by the kept steps as the interpreter will, without evaluating anything. */
class Walk {
  readonly #version: string;
  /** By what stands before the name in their keys: the task around them, an item's number, the way into a catch. */
  readonly #lists: Map<string, JournalStep[]>;
  /** Those of the items of a loop, by the loop's key. */
  readonly #items: Map<string, string[]>;

  constructor(version: string, kept: JournalStep[]) {
    this.#version = version;
    this.#lists = Map.groupBy(kept, ({ key }) => key.slice(0, key.lastIndexOf("/") + 1));
    this.#items = Map.groupBy(this.#lists.keys(), enclosing);
  }

  /** A list of tasks until the first one that is not done yet; all that is kept of it must stand before that. */
  through({ tasks, position }: Block, prefix: string, round: string): void {
    const rows = (this.#lists.get(prefix) ?? []).filter((step) => step.round === round);
    const left = new Map(rows.map((step) => [step.key, step]));
    const visits = new Map<string, number>();
    let before: JournalStep | undefined;
    let index: number | undefined = 0;
    while (index !== undefined && index < tasks.length) {
      const task: PlanTask = tasks[index]!;
      const visit = (visits.get(task.name) ?? 0) + 1;
      visits.set(task.name, visit);
      const step = left.get(`${prefix}${task.name}#${visit}`);
      if (!step) return this.#checkLeft(left, `comes to ${task.name} before it`);
      left.delete(step.key);
      // The number of a step that was tried again is that of its first try.
      if (before && step.number < before.number && step.attempt === 1)
        throw doesNotFit(step, this.#version, `comes to ${before.name} before it`);
      before = step;
      if (isStepOpen(step.status)) this.#into(task, step);
      index = this.#next(step, task, index, position);
    }
    this.#checkLeft(left, "does not come to it");
  }

  #checkLeft(left: Map<string, JournalStep>, why: string): void {
    for (const step of left.values()) throw doesNotFit(step, this.#version, why);
  }

  /** Undefined: the list is left, or not done further. */
  #next(step: JournalStep, task: PlanTask, index: number, position: Block["position"]): number | undefined {
    if (step.status !== "completed" && step.status !== "skipped") return undefined;
    const then = step.status === "skipped" ? "continue" : (step.state.then ?? task.then);
    if (then === "continue") return index + 1;
    if (then === "exit" || then === "end") return undefined;
    const next = position.get(then);
    if (next === undefined) throw doesNotFit(step, this.#version, `has no task ${then} to go on at`);
    return next;
  }

  #into({ body }: PlanTask, { key, round, state }: JournalStep): void {
    if (body.is === "do") this.through(body.block, `${key}/`, round);
    else if (body.is === "fork") {
      for (const branch of body.branches) {
        const step = this.#lists.get(`${key}/`)?.find((one) => one.name === branch.name && one.round === round);
        if (step && isStepOpen(step.status)) this.#into(branch, step);
      }
    } else if (body.is === "for" || body.is === "each") {
      for (const prefix of this.#items.get(key) ?? []) this.through(body.block, prefix, round);
    } else if (body.is === "try") {
      if (state.caught === undefined) this.through(body.block, `${key}/`, `${round}${state.try}.`);
      else if (body.catch.block) this.through(body.catch.block, `${key}/catch/`, round);
    }
  }
}
