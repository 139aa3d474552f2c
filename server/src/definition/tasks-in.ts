/** Every task of a checked definition with its place, those inside others too. */
import type { JsonObject } from "../lib/json/json.ts";
import type { Workflow } from "./profile/workflow.ts";
import { KINDS, kindOf, type KindName } from "./tasks/kinds.ts";
import { valueAt, type Path } from "./text/problem.ts";

export type FoundTask = { kind: KindName; task: JsonObject; path: Path };

/** Those of functions once, however often they are called. */
export function* tasksIn({ use, do: tasks }: Workflow): Generator<FoundTask> {
  for (const [name, task] of Object.entries(use?.functions ?? {}))
    yield* taskAndInner(task, ["use", "functions", name]);
  yield* walk(tasks, ["do"]);
}

function* walk(list: JsonObject[], path: Path): Generator<FoundTask> {
  for (const [index, item] of list.entries()) {
    const [name, task] = Object.entries(item)[0] as [string, JsonObject];
    yield* taskAndInner(task, [...path, index, name]);
  }
}

function* taskAndInner(task: JsonObject, path: Path): Generator<FoundTask> {
  const kind = kindOf(task)!;
  yield { kind, task, path };
  for (const { at } of Object.values(KINDS[kind].blocks)) {
    const below = at && valueAt(task, at);
    if (below !== undefined) yield* walk(below as JsonObject[], [...path, ...at!]);
  }
}
