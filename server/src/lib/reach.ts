/**
 * The part of an organization that a caller reaches: all of it, or, with a narrowed API key, some projects and agents. Whatever is
 * read, listed, counted, watched or changed for a caller goes through the functions here. What is reached once stays so:
 * an agent never changes its project, nor a run, an approval or a version its agent.
 */
import type { AgentId, OrganizationId, ProjectId } from "./ids.ts";

export type Reach = {
  /** With all their agents, future ones too. */
  projectIds: readonly ProjectId[];
  agentIds: readonly AgentId[];
  /** The projects of these agents are shown, as each agent names its own, but nothing else in them. */
  shownProjectIds: readonly ProjectId[];
};

/** Undefined is the whole organization. Not optional, so that nobody leaves it out by mistake. */
export type Within = { organizationId: OrganizationId; reach: Reach | undefined };

/** For what the server does by itself. */
export const allOf = (organizationId: OrganizationId): Within => ({ organizationId, reach: undefined });

/** Whatever belongs to an agent. */
type Placed = { projectId: ProjectId; agentId: AgentId };

export const reaches = ({ reach }: Pick<Within, "reach">, { projectId, agentId }: Placed): boolean =>
  reach === undefined || reach.agentIds.includes(agentId) || reach.projectIds.includes(projectId);

export const reachesAgent = (within: Pick<Within, "reach">, agent: { id: AgentId; projectId: ProjectId }): boolean =>
  within.reach === undefined || reaches(within, { projectId: agent.projectId, agentId: agent.id });

export const showsProject = ({ reach }: Pick<Within, "reach">, id: ProjectId): boolean =>
  reach === undefined || reach.projectIds.includes(id) || reach.shownProjectIds.includes(id);

/** Undefined for what is not reached, as for what is not there. */
export const reached = <Item extends Placed>(within: Pick<Within, "reach">, item: Item | undefined): Item | undefined =>
  item && reaches(within, item) ? item : undefined;

export const reachedAgent = <Agent extends { id: AgentId; projectId: ProjectId }>(
  within: Pick<Within, "reach">,
  agent: Agent | undefined,
): Agent | undefined => (agent && reachesAgent(within, agent) ? agent : undefined);

/** `among`: a condition besides all others. */
type Filter = { projectId?: readonly ProjectId[]; agentId?: readonly AgentId[]; among?: Reach };

/**
 * The filter, such that it selects nothing that is not reached. Where it can, it names ids of one kind, which lists are
 * read by along one index; `among` is left for a reach of both kinds, and for what was filtered by the other one.
 */
export function narrowed<Wanted extends Filter>(filter: Wanted, { reach }: Pick<Within, "reach">): Wanted {
  if (!reach) return filter;
  const { projectId, agentId } = filter;
  if (agentId?.every((id) => reach.agentIds.includes(id))) return filter;
  if (projectId?.every((id) => reach.projectIds.includes(id))) return filter;
  if (!agentId && reach.projectIds.length === 0) return { ...filter, agentId: reach.agentIds };
  if (!projectId && reach.agentIds.length === 0) return { ...filter, projectId: reach.projectIds };
  return { ...filter, among: reach };
}
