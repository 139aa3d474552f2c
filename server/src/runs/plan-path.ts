/** Where a step's key leads in a plan. */
import type { Block, Plan, PlanTask } from "../definition/plan.ts";
import { singleCall } from "./try-task.ts";

/** The key of the step around a key (`loop#1` of `loop#1/2/greet#1`); empty: there is none. */
export function enclosing(key: string): string {
  let end = key.lastIndexOf("/");
  // The number of an item, or the way into a catch.
  while (end > 0 && !key.slice(key.lastIndexOf("/", end - 1) + 1, end).includes("#"))
    end = key.lastIndexOf("/", end - 1);
  return key.slice(0, Math.max(0, end));
}

/** The kind of the task that a key (`fetch#1`, `loop#1/2/greet#1`, `try#1/catch/tell#1`) names; undefined: there is none. */
export function kindAt(plan: Plan, key: string): string | undefined {
  let blocks: Block[] = [plan.block];
  let task: PlanTask | undefined;
  for (const part of key.split("/")) {
    const name = /^(.*)#\d+$/.exec(part)?.[1];
    if (name === undefined) {
      // The number of an item, or the way into a catch.
      if (part === "catch") blocks = task?.body.is === "try" && task.body.catch.block ? [task.body.catch.block] : [];
      continue;
    }
    task = blocks.flatMap(({ tasks }) => tasks).find((candidate) => candidate.name === name);
    if (!task) return undefined;
    blocks = blocksOf(task);
  }
  return task && shownKind(task);
}

function blocksOf({ body }: PlanTask): Block[] {
  if (body.is === "do" || body.is === "for" || body.is === "try" || body.is === "each") return [body.block];
  if (body.is === "fork") return [{ tasks: body.branches, position: new Map() }];
  return [];
}

/** A `try` around one call is shown as that call. */
const shownKind = (task: PlanTask): string =>
  (task.body.is === "try" && singleCall(task.body.block)?.kind) || task.kind;
