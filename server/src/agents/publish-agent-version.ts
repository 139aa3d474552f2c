import { isPlainText } from "../lib/mail/email-address.ts";
import type { Acting } from "../auth/caller.ts";
import { notFound } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { publishWorkflow } from "./publish-agent.ts";
import { readAgentRow } from "./store.ts";
import { versionNotFound } from "./versions.ts";

/**
 * Publishes an existing version of the agent again, as publishing its text would. Throws NOT_FOUND for the agent and the
 * version, CONFLICT if the agent is archived.
 */
export async function publishAgentVersion(
  agents: Agents,
  caller: Acting,
  { agentId, version }: { agentId: AgentId; version: string },
): Promise<Agent> {
  const agent = await readAgentRow(agents.database, caller, agentId);
  if (!agent) throw notFound("Agent");
  const compiled = isPlainText(version)
    ? await agents.cache.compiled(caller.organizationId, agentId, version)
    : undefined;
  if (!compiled) throw await versionNotFound(agents, caller.organizationId, agentId);
  const { source: definition, workflow } = compiled;
  return publishWorkflow(agents, caller, { projectId: agent.projectId, definition, workflow });
}
