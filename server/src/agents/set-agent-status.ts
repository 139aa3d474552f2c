import type { Caller } from "../auth/caller.ts";
import { conflict, notFound } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import type { AgentStatus } from "../storage/schema.ts";
import { statusProblem, type Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { readAgentRow, updateStatus } from "./store.ts";

/** Setting the current status changes nothing. Throws NOT_FOUND, or CONFLICT with what to do instead. */
export async function setAgentStatus(
  agents: Agents,
  caller: Caller,
  { agentId, status }: { agentId: AgentId; status: AgentStatus },
): Promise<Agent> {
  const agent = await readAgentRow(agents.database, caller, agentId);
  if (!agent) throw notFound("Agent");
  if (agent.status === status) return agent;
  const problem = statusProblem(agent, status);
  if (problem !== undefined) throw conflict("wrong_state", problem);
  const changed = await updateStatus(agents.database, agent, status, agents.clock.now());
  if (!changed) throw conflict("changed_meanwhile", "the agent was published at this moment: try again");
  agents.cache.invalidate(caller.organizationId, agentId);
  return changed;
}
