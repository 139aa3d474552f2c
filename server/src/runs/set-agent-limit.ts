import type { Agent } from "../agents/agent.ts";
import { updateLimit } from "../agents/store.ts";
import { record } from "../audit/record.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import { badInput, notFound } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import { reachesAgent } from "../lib/reach.ts";
import { unparkRuns, limitLoaded, limitRuns } from "./unpark-runs.ts";
import type { Runs } from "./handle/runs.ts";

/** `concurrency`: how many of the agent's runs may have begun and not ended at the same time; null: any number. */
type LimitRequest = { agentId: AgentId; concurrency: number | null };

/**
 * Applies to open runs too, but stops none that has begun; runs over the limit queue. Another process may start runs
 * without it for 5 s (agents/agent-cache.ts). Throws NOT_FOUND, BAD_USER_INPUT.
 */
export async function setAgentLimit(
  runs: Runs,
  caller: Acting,
  { agentId, concurrency }: LimitRequest,
): Promise<Agent> {
  const { organizationId } = caller;
  if (concurrency !== null && concurrency < 1) throw tooLow();
  const now = runs.clock.now();
  const agent = await runs.database.transaction(async (query) => {
    const changed = await updateLimit(query, organizationId, agentId, concurrency, now);
    if (!changed || !reachesAgent(caller, changed.agent)) throw notFound("Agent");
    if (concurrency !== null) await limitRuns(query, organizationId, agentId);
    const subject = { kind: "agent", id: agentId, name: changed.agent.name } as const;
    const detail = { from: changed.from, to: concurrency };
    if (changed.from !== concurrency)
      await record(query, whoOf(caller), now, { action: "agent_limit_set", subject, detail });
    return changed.agent;
  }, organizationId);
  runs.agents.cache.invalidate(organizationId, agentId);
  if (concurrency !== null) limitLoaded(runs, agentId);
  await unparkRuns(runs, organizationId, agentId);
  return agent;
}

function tooLow(): Error {
  const message = "must be at least 1, or null for no limit; to refuse new runs pause the agent";
  return badInput("invalid_input", `input.concurrency ${message}`, [
    { path: "input.concurrency", code: "out_of_range", message },
  ]);
}
