/** What starting and showing a run needs to know of an agent: from memory after the first call. */
import { isPlainText } from "../auth/names.ts";
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import type { Compiled } from "./agent-cache.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";

export type Published = { agent: Agent } & Compiled;

export const readAgent = (agents: Agents, organizationId: OrganizationId, id: AgentId): Promise<Agent | undefined> =>
  agents.cache.agent(organizationId, id);

/**
 * The agent with its published version, or with `version`. Undefined when there is no such agent in the organization,
 * no such version, or none published.
 */
export async function published(
  agents: Agents,
  organizationId: OrganizationId,
  id: AgentId,
  version?: string,
): Promise<Published | undefined> {
  const agent = await agents.cache.agent(organizationId, id);
  const wanted = version ?? agent?.publishedVersion;
  if (!agent || !wanted || !isPlainText(wanted)) return undefined;
  const compiled = await agents.cache.compiled(organizationId, id, wanted);
  return compiled && { agent, ...compiled };
}
