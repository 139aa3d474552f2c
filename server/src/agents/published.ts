/** The parts of an agent that starting and showing a run needs: from memory after the first call. */
import { isPlainText } from "../lib/mail/email-address.ts";
import type { AgentId } from "../lib/ids.ts";
import { reachedAgent, type Within } from "../lib/reach.ts";
import type { Compiled } from "./agent-cache.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";

export type Published = { agent: Agent } & Compiled;

export async function readAgent(agents: Agents, within: Within, id: AgentId): Promise<Agent | undefined> {
  return reachedAgent(within, await agents.cache.agent(within.organizationId, id));
}

/**
 * The agent with its published version, or with `version`. Undefined if there is no such agent, no
 * such version, or none published.
 */
export async function published(
  agents: Agents,
  within: Within,
  id: AgentId,
  version?: string,
): Promise<Published | undefined> {
  const agent = await readAgent(agents, within, id);
  const wanted = version ?? agent?.publishedVersion;
  if (!agent || !wanted || !isPlainText(wanted)) return undefined;
  const compiled = await agents.cache.compiled(within.organizationId, id, wanted);
  if (!compiled) return undefined;
  const { source, workflow, inputSchema, program } = compiled;
  return { agent, version: compiled.version, source, workflow, inputSchema, program };
}
