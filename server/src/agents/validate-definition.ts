import type { Project } from "../projects/project.ts";
import { findProject, readProject } from "../projects/projects.ts";
import { notFound } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import type { ProjectId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import { quote, type Finding, type Problem } from "../definition/problem.ts";
import { placeInSlices } from "../definition/read-document.ts";
import type { Workflow } from "../definition/workflow.ts";
import { knownNames } from "../secrets/store.ts";
import { readChecked, type Agents } from "./agents.ts";

export type Validation = { valid: boolean; problems: Problem[] };

/**
 * Every problem of a definition with its place: path, line and column from 1, and one sentence; errors before warnings. With a
 * project, its namespace must be that project's handle. A secret that is not set yet is a warning. Throws NOT_FOUND for the
 * project.
 */
export async function validateDefinition(
  agents: Agents,
  within: Within,
  { definition, projectId }: { definition: string; projectId?: ProjectId | undefined },
): Promise<Validation> {
  const project = projectId && (await readProject(agents, within, projectId));
  if (projectId && !project) throw notFound("Project");
  const { problems, warnings, workflow } = await readChecked(
    agents,
    within.organizationId,
    definition,
    project?.handle,
  );
  const missing = workflow ? await missingSecrets(agents, within, { definition, workflow, project }) : [];
  const all = [...problems, ...warnings, ...missing];
  return { valid: problems.length === 0, problems: all.slice(0, LIMITS.definitionProblems) };
}

/** Of the project that the definition is for. Whether it may be published does not depend on it: both come in any order. */
async function missingSecrets(
  agents: Agents,
  within: Within,
  { definition, workflow, project }: { definition: string; workflow: Workflow; project: Project | undefined },
): Promise<Problem[]> {
  const names = workflow.use?.secrets ?? [];
  if (names.length === 0) return [];
  const { id, handle } = project ?? (await findProject(agents, within, workflow.document.namespace)) ?? {};
  if (id === undefined) return [];
  const known = await knownNames(agents.database, within.organizationId, id, names);
  const findings = [...names.entries()].flatMap(([index, name]): Finding[] => {
    if (known.has(name)) return [];
    const message = `the secret ${quote(name)} is not set in the project ${handle}; calls that need it will fail`;
    return [{ path: ["use", "secrets", index], at: "value", message, severity: "warning" }];
  });
  if (findings.length === 0) return [];
  return agents.reading.run(within.organizationId, () => placeInSlices(definition, findings));
}
