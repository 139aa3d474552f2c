import { isPlainText } from "../auth/names.ts";
import type { Caller } from "../auth/caller.ts";
import { notFound } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { publishWorkflow } from "./publish-agent.ts";
import { readAgentRow } from "./store.ts";

/**
 * Makes a version that the agent has the published one again, as publishing its text would. Throws NOT_FOUND for the
 * agent and the version, CONFLICT when the agent is archived.
 */
export async function publishVersion(
  agents: Agents,
  caller: Caller,
  { agentId, version }: { agentId: AgentId; version: string },
): Promise<Agent> {
  const agent = await readAgentRow(agents.database, caller.organizationId, agentId);
  if (!agent) throw notFound("Agent");
  const compiled = isPlainText(version)
    ? await agents.cache.compiled(caller.organizationId, agentId, version)
    : undefined;
  if (!compiled) throw notFound("Version");
  const { source: definition, workflow } = compiled;
  return publishWorkflow(agents, caller, { projectId: agent.projectId, definition, workflow });
}
