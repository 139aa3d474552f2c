import { record } from "../../audit/record.ts";
import { actorOf, whoOf, type Acting } from "../../auth/caller.ts";
import { conflict, notFound } from "../../lib/errors.ts";
import type { AgentId } from "../../lib/ids.ts";
import { isStorable, shortenedTo } from "../../lib/text.ts";
import type { Agent } from "../agent.ts";
import type { Agents } from "../agents.ts";
import { readAgentRow } from "../store.ts";
import { acceptChanges } from "./pin-store.ts";
import type { PinnedTool } from "./pinned-tool.ts";

/** `changes`: the hashes of what the caller has seen. */
type TrustRequest = { agentId: AgentId; changes: readonly string[] };

/**
 * Accepts how servers describe tools now, for lists from then on: all of the changes, or none. Throws NOT_FOUND, or CONFLICT if a
 * server describes one of the tools in yet another way, or somebody else has accepted it.
 */
export async function trustTools(agents: Agents, caller: Acting, { agentId, changes }: TrustRequest): Promise<Agent> {
  const { organizationId } = caller;
  const agent = await readAgentRow(agents.database, caller, agentId);
  if (!agent) throw notFound("Agent");
  if (changes.length === 0) return agent;
  const now = agents.clock.now();
  await agents.database.transaction(async (query) => {
    const by = actorOf(caller);
    // PostgreSQL compares no text with NUL in it, and no hash has one.
    const hashes = changes.filter(isStorable);
    const tools = await acceptChanges(query, { organizationId, agentId, hashes }, { by, now });
    if (tools.length < changes.length)
      throw conflict("changed_meanwhile", "a tool is not what it was when you looked: look at its change again");
    const subject = { kind: "agent", id: agentId, name: agent.name } as const;
    await record(query, whoOf(caller), now, { action: "agent_tools_trusted", subject, detail: detailOf(tools) });
  }, organizationId);
  return agent;
}

/** Names and servers are in an author's hands: an event has a line of them. */
const MAX_NAMED_CHARACTERS = 1_000;

const detailOf = (tools: readonly PinnedTool[]) => ({
  version: tools[0]!.version,
  count: tools.length,
  tools: shortenedTo(tools.map(({ name, server }) => `${name} of ${server}`).join(", "), MAX_NAMED_CHARACTERS),
});
