/** The commands that a definition would start as MCP servers and that the operator does not allow. */
import { tasksIn } from "../definition/tasks-in.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { valueAt, type Finding } from "../definition/text/problem.ts";
import { expressionIn } from "../expressions/template.ts";
import { isObject, type Json } from "../lib/json/json.ts";
import { whyRefused, type AllowedCommand } from "../lib/mcp/allowed-commands.ts";

export function refusedCommands(allowed: readonly AllowedCommand[], workflow: Workflow): Finding[] {
  const found: Finding[] = [];
  for (const { kind, task, path } of tasksIn(workflow)) {
    const stdio = kind === "mcp" ? valueAt(task, ["with", "transport", "stdio"]) : undefined;
    if (!isObject(stdio)) continue;
    const { command, arguments: given = [], environment = {} } = stdio;
    const words = given as string[];
    const message = whyRefused(allowed, {
      command: command as string,
      // An expression in them is looked at when it has a value.
      arguments: words.every((word) => expressionIn(word) === undefined) ? words : undefined,
      variables: Object.keys(environment as { [name: string]: Json }),
    });
    if (message !== undefined) found.push({ path: [...path, "with", "transport", "stdio"], at: "value", message });
  }
  return found;
}
