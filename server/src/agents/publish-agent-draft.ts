import type { Acting } from "../auth/caller.ts";
import { conflict, notFound } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { readDraftText } from "./draft-store.ts";
import { publishAgent } from "./publish-agent.ts";
import { readAgentRow } from "./store.ts";

/** Publishes the agent's draft. Throws NOT_FOUND, CONFLICT without a draft, and what a publish throws. */
export async function publishAgentDraft(
  agents: Agents,
  caller: Acting,
  { agentId, signal }: { agentId: AgentId; signal?: AbortSignal },
): Promise<Agent> {
  const agent = await readAgentRow(agents.database, caller, agentId);
  if (!agent) throw notFound("Agent");
  const definition = await readDraftText(agents.database.query, caller.organizationId, agentId);
  if (definition === undefined) throw conflict("wrong_state", `the agent ${agent.handle} has no draft: save one first`);
  return publishAgent(agents, caller, { projectId: agent.projectId, definition, signal });
}
