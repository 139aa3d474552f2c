import { record } from "../../audit/record.ts";
import { actorOf, whoOf, type Acting } from "../../auth/caller.ts";
import { conflict, notFound } from "../../lib/errors.ts";
import type { AgentId } from "../../lib/ids.ts";
import { isStorable, shortenedTo } from "../../lib/text.ts";
import type { Agent } from "../agent.ts";
import type { Agents } from "../agents.ts";
import { readAgentRow } from "../store.ts";
import { acceptChanges, type AcceptedTool } from "./pin-store.ts";

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
    for (const [version, ofVersion] of Map.groupBy(tools, (tool) => tool.version))
      await record(query, whoOf(caller), now, {
        action: "agent_tools_trusted",
        subject,
        detail: { version, ...detailOf(ofVersion) },
      });
  }, organizationId);
  return agent;
}

/** Names and servers are in an author's hands: an event has a line of them. */
const MAX_NAMED_CHARACTERS = 1_000;

/** Enough of a hash to tell what was accepted from anything else that a server said. */
const HASH_CHARACTERS = 16;

const detailOf = (tools: readonly AcceptedTool[]) => ({
  count: tools.length,
  tools: lineOf(tools.map(({ name, hash }) => `${name} (${hash.slice(0, HASH_CHARACTERS)})`)),
  servers: lineOf([...new Set(tools.map(({ server }) => server))]),
});

const lineOf = (words: readonly string[]): string => shortenedTo(words.join(", "), MAX_NAMED_CHARACTERS).toWellFormed();
