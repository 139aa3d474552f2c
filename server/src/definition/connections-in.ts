/** The model connections that a checked definition names, with their places. */
import type { Json, JsonObject } from "../lib/json/json.ts";
import type { Workflow } from "./profile/workflow.ts";
import { KINDS, kindOf } from "./tasks/kinds.ts";
import { valueAt, type Path } from "./text/problem.ts";

export type NamedConnection = { name: string; path: Path };

export function connectionsIn(workflow: Workflow): NamedConnection[] {
  const found: NamedConnection[] = [];
  const walk = (list: JsonObject[], path: Path): void => {
    for (const [index, item] of list.entries()) {
      const [name, task] = Object.entries(item)[0] as [string, JsonObject];
      const at = [...path, index, name];
      const kind = kindOf(task)!;
      const connection = kind === "llm" ? valueAt(task, ["with", "connection"]) : undefined;
      if (typeof connection === "string") found.push({ name: connection, path: [...at, "with", "connection"] });
      for (const inner of Object.values(KINDS[kind].blocks)) {
        const below: Json | undefined = valueAt(task, inner.at);
        if (below !== undefined) walk(below as JsonObject[], [...at, ...inner.at]);
      }
    }
  };
  walk(workflow.do, ["do"]);
  return found;
}
