/**
 * `runsChanged`, `approvalsChanged` and `agentsChanged`: what changes in an organization, each entity at most once in 250 ms. For a slow
 * reader the newest state of each is kept, up to a limit; beyond it the subscription ends with UNAVAILABLE.
 */
import type { Agent } from "../../agents/agent.ts";
import type { AgentId, ProjectId } from "../../lib/ids.ts";
import { reaches, type Within } from "../../lib/reach.ts";
import { runOf } from "../../execution/journal/loaded-run.ts";
import type { Approval, Run } from "../../execution/run/run.ts";
import type { Runs } from "../handle/runs.ts";
import { watchFeed } from "../../realtime/watch-feed.ts";

/** Undefined fields match everything. */
export type ChangeFilter = { projectId?: ProjectId; agentId?: AgentId };

/** The changed runs, each in its newest state. */
export const watchRuns = (
  runs: Runs,
  within: Within,
  filter: ChangeFilter,
  signal: AbortSignal,
): AsyncIterableIterator<Run> =>
  watchFeed(runs.watching, runs.feeds.runs, within.organizationId, signal, {
    fits: ({ head }) => !head || fits(head.deref(), filter, within),
    show: async ({ runId, head: ref }) => {
      const head = ref?.deref();
      const run = head
        ? runOf(head)
        : await runs.changedRows.runs.add({ organizationId: within.organizationId, id: runId });
      return run && fits(run, filter, within) ? run : undefined;
    },
  });

/** Approvals that were requested, decided, expired or withdrawn. */
export const watchApprovals = (
  runs: Runs,
  within: Within,
  filter: ChangeFilter,
  signal: AbortSignal,
): AsyncIterableIterator<Approval> =>
  watchFeed(runs.watching, runs.feeds.approvals, within.organizationId, signal, {
    fits: () => true,
    show: async (id) => {
      const approval = await runs.changedRows.approvals.add({ organizationId: within.organizationId, id });
      return approval && fits(approval, filter, within) ? approval : undefined;
    },
  });

/** Agents that were made, published or changed. */
export const watchAgents = (
  runs: Runs,
  within: Within,
  filter: Pick<ChangeFilter, "projectId">,
  signal: AbortSignal,
): AsyncIterableIterator<Agent> =>
  watchFeed(runs.watching, runs.feeds.agents, within.organizationId, signal, {
    fits: () => true,
    show: async (id) => {
      const agent = await runs.agents.cache.agent(within.organizationId, id);
      return agent && fits({ projectId: agent.projectId, agentId: id }, filter, within) ? agent : undefined;
    },
  });

/** Whether a vanished one matches is known only after a read. */
export const fits = (
  of: { projectId: ProjectId; agentId: AgentId } | undefined,
  { projectId, agentId }: ChangeFilter,
  within: Within,
): boolean =>
  !of ||
  (reaches(within, of) &&
    (projectId === undefined || of.projectId === projectId) &&
    (agentId === undefined || of.agentId === agentId));
