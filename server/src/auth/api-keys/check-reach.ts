/** The projects and agents that a new API key is narrowed to. */
import { badInput, notFound, type FieldCode, type Refusal } from "../../lib/errors.ts";
import type { AgentId, OrganizationId, ProjectId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Database } from "../../storage/database.ts";
import type { Scope } from "../scopes.ts";

type Wanted = { projectIds?: readonly ProjectId[] | undefined; agentIds?: readonly AgentId[] | undefined };

/**
 * Throws NOT_FOUND; BAD_USER_INPUT for an empty list, which may have been meant to reach nothing, for the scope `admin`,
 * which is for the whole organization, and for an agent of one of the projects: anyone who names both may mean this agent
 * alone, and the key would reach all agents of the project.
 */
export async function checkReach(
  database: Database,
  { organizationId }: { organizationId: OrganizationId },
  { projectIds, agentIds }: Wanted,
  scopes: readonly Scope[],
): Promise<void> {
  if (!projectIds && !agentIds) return;
  if (projectIds?.length === 0) throw refused("projectIds", "too_few", "must name a project, or be left out");
  if (agentIds?.length === 0) throw refused("agentIds", "too_few", "must name an agent, or be left out");
  if ((projectIds?.length ?? 0) + (agentIds?.length ?? 0) > LIMITS.keyReachIds) {
    const which = agentIds ? "agentIds" : "projectIds";
    throw refused(which, "too_many", `must be at most ${LIMITS.keyReachIds}, projects and agents together`);
  }
  if (scopes.includes("admin"))
    throw refused("scopes", "not_a_choice", "must not have admin for a key that is narrowed to projects or agents");
  const projects = await readProjectsOf(database, organizationId, [...(projectIds ?? []), ...(agentIds ?? [])]);
  if (projectIds?.some((id) => projects.get(id) !== id)) throw notFound("Project");
  for (const id of agentIds ?? []) {
    const project = projects.get(id);
    if (project === undefined || project === id) throw notFound("Agent");
    if (projectIds?.some((one) => one === project))
      throw refused(
        "agentIds",
        "repeated",
        "must not name an agent of one of the projects: the key would reach them all",
      );
  }
}

const refused = (name: "projectIds" | "agentIds" | "scopes", code: FieldCode, message: string): Refusal =>
  badInput("invalid_input", `input.${name} ${message}`, [{ path: `input.${name}`, code, message }]);

/** The project of each agent; of a project, itself. What the organization does not have is left out. */
async function readProjectsOf(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly (ProjectId | AgentId)[],
): Promise<Map<string, string>> {
  const rows = await database.query(
    `select id, id as project_id from projects where organization_id = $1 and id = any ($2::uuid[])
     union all select id, project_id from agents where organization_id = $1 and id = any ($2::uuid[])`,
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row.id as string, row.project_id as string]));
}
