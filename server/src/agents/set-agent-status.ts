import { record } from "../audit/record.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import { conflict, notFound } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import type { AgentStatus } from "../storage/schema.ts";
import { statusProblem, type Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { readAgentRow, updateStatus } from "./store.ts";

/** Setting the current status changes nothing. Throws NOT_FOUND, or CONFLICT with what to do instead. */
export async function setAgentStatus(
  agents: Agents,
  caller: Acting,
  { agentId, status }: { agentId: AgentId; status: AgentStatus },
): Promise<Agent> {
  const agent = await readAgentRow(agents.database, caller, agentId);
  if (!agent) throw notFound("Agent");
  if (agent.status === status) return agent;
  const problem = statusProblem(agent, status);
  if (problem !== undefined) throw conflict("wrong_state", problem);
  const now = agents.clock.now();
  const changed = await agents.database.transaction(async (query) => {
    const updated = await updateStatus(query, agent, status, now);
    if (!updated) throw conflict("changed_meanwhile", "the agent was published at this moment: try again");
    const subject = { kind: "agent", id: agentId, name: agent.name } as const;
    const detail = { from: agent.status, to: status };
    await record(query, whoOf(caller), now, { action: "agent_status_set", subject, detail });
    return updated;
  }, caller.organizationId);
  agents.cache.invalidate(caller.organizationId, agentId);
  return changed;
}
