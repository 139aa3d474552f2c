/** Agents and versions as lists. */
import type { Caller } from "../auth/caller.ts";
import { isPlainText } from "../auth/names.ts";
import { readProject } from "../auth/projects.ts";
import { notFound } from "../lib/errors.ts";
import type { AgentId, OrganizationId, ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Agent, AgentVersion } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { listAgentRows, pageOfAgentRows, pageOfVersionRows, readAgentRows, type PageFilter } from "./store.ts";

/** By name, without archived ones, at most `LIMITS.agentsListed`. Throws NOT_FOUND for the project. */
export async function listAgents(
  agents: Agents,
  caller: Caller,
  { projectId }: { projectId?: ProjectId | undefined } = {},
): Promise<Agent[]> {
  await checkProject(agents, caller, projectId);
  return listAgentRows(agents.database, caller.organizationId, {
    projectId,
    most: LIMITS.agentsListed,
  });
}

/** Newest first, archived ones too unless the filter says otherwise; `after` is an agent's id. Throws NOT_FOUND. */
export async function pageOfAgents(
  agents: Agents,
  caller: Caller,
  request: PageRequest,
  filter: PageFilter = {},
): Promise<Page<Agent>> {
  const page = checkPage(request);
  await checkProject(agents, caller, filter.projectId);
  return pageOf(await pageOfAgentRows(agents.database, caller.organizationId, page, filter), page.first);
}

async function checkProject(agents: Agents, caller: Caller, projectId: ProjectId | undefined): Promise<void> {
  if (projectId !== undefined && !(await readProject(agents, caller.organizationId, projectId)))
    throw notFound("Project");
}

/** Newest first; `after` is a version's text, after which nothing comes when the agent has no such version. */
export async function listVersions(
  agents: Agents,
  organizationId: OrganizationId,
  agentId: AgentId,
  request: PageRequest,
): Promise<Page<AgentVersion>> {
  const page = checkPage(request);
  if (page.after !== undefined && !isPlainText(page.after)) return { items: [], hasNextPage: false };
  return pageOf(await pageOfVersionRows(agents.database, organizationId, agentId, page), page.first);
}

/** Those of `ids` that the organization has, for a loader. */
export async function readAgents(
  agents: Agents,
  organizationId: OrganizationId,
  ids: readonly AgentId[],
): Promise<Map<AgentId, Agent>> {
  const found = await readAgentRows(agents.database, organizationId, ids);
  return new Map(found.map((agent) => [agent.id, agent]));
}
