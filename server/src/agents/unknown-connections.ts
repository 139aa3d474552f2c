/** The model connections that a definition names and its project does not have. */
import { tasksIn } from "../definition/tasks-in.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { quote, valueAt, type Finding, type Path } from "../definition/text/problem.ts";
import type { ProjectId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import type { Agents } from "./agents.ts";

/** The kinds of task that ask a model. */
const ASKING: ReadonlySet<string> = new Set(["llm", "assistant"]);

type NamedConnection = { name: string; path: Path };

function connectionsIn(workflow: Workflow): NamedConnection[] {
  const found: NamedConnection[] = [];
  for (const { kind, task, path } of tasksIn(workflow)) {
    const connection = ASKING.has(kind) ? valueAt(task, ["with", "connection"]) : undefined;
    if (typeof connection === "string") found.push({ name: connection, path: [...path, "with", "connection"] });
  }
  return found;
}

export async function unknownConnections(
  { modelConnections }: Agents,
  { organizationId }: Within,
  projectId: ProjectId,
  workflow: Workflow,
): Promise<Finding[]> {
  const named = connectionsIn(workflow);
  if (named.length === 0) return [];
  const known = await modelConnections(organizationId, projectId);
  return named
    .filter(({ name }) => !known.has(name))
    .map(({ name, path }) => ({
      path,
      at: "value",
      message: `the project has no model connection ${quote(name)}: make it with \`createModelConnection\`, or leave it out for the default`,
    }));
}
