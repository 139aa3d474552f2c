/** Where a step's key leads in a program. */
import { blocksOf, type Block, type Program, type ProgramTask } from "../../definition/program.ts";
import { keyOfTask, leadsInto } from "./step-keys.ts";

/** The task that a key (`fetch#1`, `loop#1/2/greet#1`, `try#1/catch/tell#1`) names; undefined: there is none. */
export function taskAt(program: Program, key: string): ProgramTask | undefined {
  let block: Block | undefined = program.block;
  let task: ProgramTask | undefined;
  for (const part of key.split("/")) {
    const name = /^(.*)#\d+$/.exec(part)?.[1];
    if (name === undefined) {
      block = task && blockInto(task, part);
      continue;
    }
    block ??= task && blockInto(task, "");
    // By position: a list may contain all tasks of a definition, and this is asked for each step.
    task = block?.tasks[block.position.get(name) ?? -1];
    if (!task) return undefined;
    block = undefined;
  }
  return task;
}

/** JSON pointer to the task that a step executes; for one of a task's own steps, to that task. */
export function taskPathOf(program: Program, key: string): string {
  const task = taskAt(program, keyOfTask(key));
  if (!task) throw new Error(`the step ${key} is of no task of its program`);
  return task.reference;
}

const blockInto = ({ body }: ProgramTask, part: string): Block | undefined =>
  blocksOf(body).find(({ way }) => leadsInto(part, way));
