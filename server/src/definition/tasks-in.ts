/** Every task of a checked definition with its place, those inside others too. */
import type { JsonObject } from "../lib/json/json.ts";
import type { Workflow } from "./profile/workflow.ts";
import { KINDS, kindOf, type KindName } from "./tasks/kinds.ts";
import { valueAt, type Path } from "./text/problem.ts";

export type FoundTask = { kind: KindName; task: JsonObject; path: Path };

export const tasksIn = (workflow: Workflow): Iterable<FoundTask> => walk(workflow.do, ["do"]);

function* walk(list: JsonObject[], path: Path): Generator<FoundTask> {
  for (const [index, item] of list.entries()) {
    const [name, task] = Object.entries(item)[0] as [string, JsonObject];
    const at = [...path, index, name];
    const kind = kindOf(task)!;
    yield { kind, task, path: at };
    for (const inner of Object.values(KINDS[kind].blocks)) {
      const below = valueAt(task, inner.at);
      if (below !== undefined) yield* walk(below as JsonObject[], [...at, ...inner.at]);
    }
  }
}
