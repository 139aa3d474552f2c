import type { Project } from "../projects/project.ts";
import { findProject, readProject } from "../projects/projects.ts";
import { notFound } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import type { ProjectId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import { quote, type Finding, type Problem } from "../definition/text/problem.ts";
import { placeInSlices } from "../definition/read-document.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { knownNames } from "../secrets/store.ts";
import { readChecked, type Agents } from "./agents.ts";
import { missingAgents } from "./missing-agents.ts";
import { refusedCommands } from "./refused-commands.ts";
import { refusedInputs } from "./refused-inputs.ts";
import { unknownConnections } from "./unknown-connections.ts";
import { noProject } from "./publish-agent.ts";

type Validation = { valid: boolean; problems: Problem[] };

/**
 * Every problem of a definition with its place: path, line and column from 1, and one sentence; errors before warnings. With a
 * project, its namespace must be that project's handle; without, it is a warning if there is no project of that handle yet, and so is
 * a secret that is not set or an agent that is not published yet; a trigger whose calls must be signed with one needs it, as `createTrigger` does. Throws NOT_FOUND for the project.
 */
export async function validateDefinition(
  agents: Agents,
  within: Within,
  { definition, projectId, signal }: { definition: string; projectId?: ProjectId | undefined; signal?: AbortSignal },
): Promise<Validation> {
  const project = projectId && (await readProject(agents, within, projectId));
  if (projectId && !project) throw notFound("Project");
  const { problems, warnings, workflow } = await readChecked(agents, within.organizationId, definition, {
    project: project?.handle,
    signal,
  });
  const missing = workflow ? await whatIsMissing(agents, within, { definition, workflow, project, signal }) : [];
  const isError = ({ severity }: Problem): boolean => severity === "error";
  const errors = [...problems, ...missing.filter(isError)];
  const all = [...errors, ...warnings, ...missing.filter((one) => !isError(one))];
  return { valid: errors.length === 0, problems: all.slice(0, LIMITS.definitionProblems) };
}

/** The project that the definition is for, or secrets of it. The text is as good without: all come in any order. */
async function whatIsMissing(
  agents: Agents,
  within: Within,
  {
    definition,
    workflow,
    project: given,
    signal,
  }: { definition: string; workflow: Workflow; project: Project | undefined; signal: AbortSignal | undefined },
): Promise<Problem[]> {
  const { namespace } = workflow.document;
  const project = given ?? (await findProject(agents, within, namespace));
  const findings = project
    ? [
        ...(await agents.triggers.checkIn(agents, within, project.id, workflow)),
        ...(await unknownConnections(agents, within, project.id, workflow)),
        ...refusedCommands(agents.mcpCommands, workflow),
        ...(await refusedInputs(agents, within, workflow)),
        ...(await missingSecrets(agents, within, project, workflow.use?.secrets ?? [])),
        ...(await missingAgents(agents, within, workflow)),
      ]
    : [warning(["document", "namespace"], noProject(namespace))];
  if (findings.length === 0) return [];
  return agents.reading.run(within.organizationId, () => placeInSlices(definition, findings), signal);
}

async function missingSecrets(
  { database }: Agents,
  { organizationId }: Within,
  { id, handle }: Project,
  names: readonly string[],
): Promise<Finding[]> {
  if (names.length === 0) return [];
  const known = await knownNames(database, organizationId, id, names);
  return [...names.entries()].flatMap(([index, name]) => {
    if (known.has(name)) return [];
    const message = `the secret ${quote(name)} is not set in the project ${handle}; calls that need it will fail`;
    return [warning(["use", "secrets", index], message)];
  });
}

const warning = (path: Finding["path"], message: string): Finding => ({
  path,
  at: "value",
  message,
  severity: "warning",
});
