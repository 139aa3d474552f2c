/** Checks whether a version would come to the steps that a retried run keeps. */
import { blocksOf, type Block, type Program, type ProgramTask } from "../../definition/program.ts";
import { conflict } from "../../lib/errors.ts";
import type { JournalStep } from "./loaded-run.ts";
import { taskAt } from "./program-path.ts";
import { isStepOpen } from "../run/states.ts";
import { enclosing, isOwn, isWithin, keyInside, leadsInto, partAfter, roundInside } from "./step-keys.ts";

/** Throws CONFLICT, naming the first step that does not fit. */
export function checkFit(program: Program, version: string, kept: JournalStep[]): void {
  for (const step of kept) {
    // A task's own steps fit if the task does: only its kind knows them.
    if (isOwn(step.key)) continue;
    const task = taskAt(program, step.key);
    // The row of a `try` around a single effect may say `try`, if the effect was never reached.
    if (task?.kind === step.kind || task?.body.is === step.kind) continue;
    throw doesNotFit(step, version, task ? `has a task of kind ${task.kind} there` : "has no such task");
  }
  new Walk(version, kept).through(program.block, "", "");
}

const doesNotFit = ({ number, name, kind }: JournalStep, version: string, why: string): Error =>
  conflict("does_not_fit", `step ${number} (${name}, ${kind}) does not fit: version ${version} ${why}`);

/** Walks a program along the kept steps as the interpreter will, without evaluating anything. */
class Walk {
  readonly #version: string;
  /** By what precedes the name in their keys: the enclosing task, and an item's number or `catch`. */
  readonly #lists: Map<string, JournalStep[]>;
  /** These beginnings of keys, by the key of the enclosing task. */
  readonly #prefixes: Map<string, string[]>;

  constructor(version: string, kept: JournalStep[]) {
    this.#version = version;
    this.#lists = Map.groupBy(kept, ({ key }) => key.slice(0, key.lastIndexOf("/") + 1));
    this.#prefixes = Map.groupBy(this.#lists.keys(), enclosing);
  }

  /** Walks a list up to the first task that is not done; all kept steps of the list must come before it. */
  through({ tasks, position }: Block, prefix: string, round: string): void {
    const rows = (this.#lists.get(prefix) ?? []).filter((step) => step.round === round);
    const left = new Map(rows.map((step) => [step.key, step]));
    const visits = new Map<string, number>();
    let before: JournalStep | undefined;
    let index: number | undefined = 0;
    while (index !== undefined && index < tasks.length) {
      const task: ProgramTask = tasks[index]!;
      const visit = (visits.get(task.name) ?? 0) + 1;
      visits.set(task.name, visit);
      const step = left.get(`${prefix}${task.name}#${visit}`);
      if (!step) return this.#checkLeft(left, `comes to ${task.name} before it`);
      left.delete(step.key);
      // A step that was tried again has the number of its first try.
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

  /** Undefined: the list is left, or ends here for now. */
  #next(step: JournalStep, task: ProgramTask, index: number, position: Block["position"]): number | undefined {
    if (step.status !== "completed" && step.status !== "skipped") return undefined;
    const then = step.status === "skipped" ? "continue" : (step.state.then ?? task.then);
    if (then === "continue") return index + 1;
    if (then === "exit" || then === "end") return undefined;
    const next = position.get(then);
    if (next === undefined) throw doesNotFit(step, this.#version, `has no task ${then} to go on at`);
    return next;
  }

  #into({ body }: ProgramTask, step: JournalStep): void {
    for (const block of blocksOf(body)) {
      if (!isWithin(step, block.way)) continue;
      if (block.way === "branches") this.#intoBranches(block, step);
      else {
        for (const prefix of this.#prefixes.get(step.key) ?? []) {
          if (leadsInto(partAfter(step.key, prefix), block.way))
            this.through(block, prefix, roundInside(step, block.way));
        }
      }
    }
  }

  #intoBranches({ tasks, way }: Block, { key, round }: JournalStep): void {
    const steps = this.#lists.get(keyInside(key, way)) ?? [];
    for (const branch of tasks) {
      const step = steps.find((one) => one.name === branch.name && one.round === round);
      if (step && isStepOpen(step.status)) this.#into(branch, step);
    }
  }
}
