/** Where a step's key leads in a plan. */
import type { Block, Plan, PlanTask } from "../definition/plan.ts";
import { singleCall } from "./try-task.ts";

/** The kind of the task that a key (`fetch#1`, `loop#1/2/greet#1`, `try#1/catch/tell#1`) names; undefined: there is none. */
export function kindAt(plan: Plan, key: string): string | undefined {
  let block: Block | undefined = plan.block;
  let task: PlanTask | undefined;
  for (const part of key.split("/")) {
    const name = /^(.*)#\d+$/.exec(part)?.[1];
    if (name === undefined) {
      // The number of an item, or the way into a catch.
      if (part === "catch") block = task?.body.is === "try" ? task.body.catch.block : undefined;
      continue;
    }
    // By its position: a list has as many tasks as a definition may have, and each of its steps asks.
    task = block?.tasks[block.position.get(name) ?? -1];
    if (!task) return undefined;
    block = blockOf(task);
  }
  return task && shownKind(task);
}

function blockOf({ body }: PlanTask): Block | undefined {
  if (body.is === "do" || body.is === "for" || body.is === "try" || body.is === "each") return body.block;
  if (body.is === "fork") {
    return { tasks: body.branches, position: new Map(body.branches.map(({ name }, index) => [name, index])) };
  }
  return undefined;
}

/** A `try` around one call is shown as that call. */
const shownKind = (task: PlanTask): string =>
  (task.body.is === "try" && singleCall(task.body.block)?.kind) || task.kind;
