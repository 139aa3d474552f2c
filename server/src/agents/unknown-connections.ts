/** The model connections that a definition names and its project does not have. */
import { connectionsIn } from "../definition/connections-in.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { quote, type Finding } from "../definition/text/problem.ts";
import type { ProjectId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import type { Agents } from "./agents.ts";

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
