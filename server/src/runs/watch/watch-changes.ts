/**
 * `runsChanged`, `approvalsChanged` and `agentsChanged`: what changes in an organization, each entity at most once in 250 ms. For a slow
 * reader the newest state of each is kept, up to a limit; beyond it the subscription ends with UNAVAILABLE.
 */
import type { Agent } from "../../agents/agent.ts";
import type { AgentId, OrganizationId, ProjectId } from "../../lib/ids.ts";
import { reaches, type Within } from "../../lib/reach.ts";
import { until } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Feeds } from "../../realtime/feed.ts";
import { Door, stream } from "../../realtime/stream.ts";
import { runOf } from "../../execution/journal/loaded-run.ts";
import type { Approval, Run } from "../../execution/run.ts";
import type { Runs } from "../runs.ts";

const UPDATE_MS = 250;

/** Undefined fields match everything. */
export type ChangeFilter = { projectId?: ProjectId; agentId?: AgentId };

/** The changed runs, each in its newest state. */
export const watchRuns = (
  runs: Runs,
  within: Within,
  filter: ChangeFilter,
  signal: AbortSignal,
): AsyncIterableIterator<Run> =>
  watchFeed(runs, runs.feeds.runs, within.organizationId, signal, {
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
  watchFeed(runs, runs.feeds.approvals, within.organizationId, signal, {
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
  watchFeed(runs, runs.feeds.agents, within.organizationId, signal, {
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

export type Watched<Message, Shown> = {
  /** False if it is already known that it will not be shown. */
  fits: (message: Message) => boolean;
  show: (message: Message) => Promise<Shown | undefined>;
};

/** What comes in a feed from now on. */
export function watchFeed<Message, Shown>(
  runs: Runs,
  feeds: Feeds<Message>,
  organizationId: OrganizationId,
  signal: AbortSignal,
  { fits: mayFit, show }: Watched<Message, Shown>,
): AsyncIterableIterator<Shown> {
  const door = new Door();
  let ending: Refusal | undefined;
  const sources = new DisposableStack();
  const endWith = (reason: Refusal): void => {
    ending = reason;
    sources.dispose();
    door.knock();
  };
  const reader = sources.use(feeds.open(organizationId, { knock: () => door.knock(), lose: () => endWith(tooSlow()) }));
  // What has changed meanwhile nobody knows.
  sources.use(runs.notices.onMissed(() => endWith(missed())));
  /** 250 subscriptions with 3,000 changes each held the thread for 1.5 s at a stretch. */
  const turn = (): Promise<void> | undefined => runs.executions.rounds.next(organizationId);
  return stream(signal, sources, async function* (ended) {
    while (await door.pass(ended)) {
      await turn();
      // What changes again meanwhile goes to the end, for the next round.
      for (const message of reader.round()) {
        if (ending) break;
        const shown = mayFit(message) ? await show(message) : undefined;
        if (shown === undefined) continue;
        await turn();
        yield shown;
      }
      if (ending) throw ending;
      await until(runs.clock, runs.clock.now() + UPDATE_MS, ended).catch(() => {});
    }
  });
}

const again = (why: string): Refusal =>
  new Refusal("UNAVAILABLE", `${why}: subscribe again, then read the list`, { retryAfter: 1 });

const tooSlow = (): Refusal => again(`more than ${LIMITS.changesWaiting} changes wait to be read`);
const missed = (): Refusal => again("changes that another process made may have been missed");
