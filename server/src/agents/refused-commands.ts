/** The commands that a definition would start as MCP servers and that the operator does not allow. */
import { tasksIn } from "../definition/tasks-in.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { valueAt, type Finding, type Path } from "../definition/text/problem.ts";
import { expressionIn } from "../expressions/template.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { whyRefused, type AllowedCommand } from "../lib/mcp/allowed-commands.ts";

export function refusedCommands(allowed: readonly AllowedCommand[], workflow: Workflow): Finding[] {
  const found: Finding[] = [];
  for (const { command, path } of commandsIn(workflow)) {
    const { arguments: given = [], environment = {} } = command;
    const words = given as string[];
    const message = whyRefused(allowed, {
      command: command["command"] as string,
      // An expression in them is looked at when it has a value.
      arguments: words.every((word) => expressionIn(word) === undefined) ? words : undefined,
      variables: Object.keys(environment as { [name: string]: Json }),
    });
    if (message !== undefined) found.push({ path, at: "value", message });
  }
  return found;
}

/** The objects with a `command`, of tasks and of assistants' tools. */
function commandsIn(workflow: Workflow): { command: JsonObject; path: Path }[] {
  return [...tasksIn(workflow)].flatMap(({ kind, task, path }) => {
    const tools = kind === "assistant" ? valueAt(task, ["with", "tools"]) : undefined;
    const places = [
      ...(kind === "mcp" ? [["with", "transport", "stdio"]] : []),
      ...(Array.isArray(tools) ? tools.map((_, index) => ["with", "tools", index, "mcp"]) : []),
    ];
    return places.flatMap((place) => {
      const command = valueAt(task, place);
      return isObject(command) && Object.hasOwn(command, "command") ? [{ command, path: [...path, ...place] }] : [];
    });
  });
}
