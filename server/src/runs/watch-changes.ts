/** `runsChanged` and `approvalsChanged`: what changes in an organization, each entity at most once in 250 ms. */
import type { AgentId, ApprovalId, OrganizationId, ProjectId, RunId } from "../lib/ids.ts";
import { until } from "../lib/clock.ts";
import type { Hub } from "../realtime/hub.ts";
import { Door, stream } from "../realtime/stream.ts";
import { runOf, type Head } from "./loaded-run.ts";
import { readApproval, readRun } from "./read.ts";
import type { Approval, Run } from "./run.ts";
import type { Runs } from "./runs.ts";

const UPDATE_MS = 250;

/** Undefined fields match everything. */
export type ChangeFilter = { projectId?: ProjectId; agentId?: AgentId };

/** The changed runs, each in its newest state. */
export const watchRuns = (
  runs: Runs,
  organizationId: OrganizationId,
  filter: ChangeFilter,
  signal: AbortSignal,
): AsyncIterableIterator<Run> =>
  watch(runs, runs.changes, organizationId, signal, {
    key: ({ runId }) => runId,
    show: async ({ runId, head }: { runId: RunId; head?: Head }) => {
      if (head && !fits(head, filter)) return undefined;
      const run = head ? runOf(head) : await readRun(runs, organizationId, runId);
      return run && fits(run, filter) ? run : undefined;
    },
  });

/** The approvals that were asked for, decided, expired or withdrawn. */
export const watchApprovals = (
  runs: Runs,
  organizationId: OrganizationId,
  filter: ChangeFilter,
  signal: AbortSignal,
): AsyncIterableIterator<Approval> =>
  watch(runs, runs.approvals, organizationId, signal, {
    key: (id) => id,
    show: async (id: ApprovalId) => {
      const approval = await readApproval(runs, organizationId, id);
      return approval && fits(approval, filter) ? approval : undefined;
    },
  });

const fits = (of: { projectId: ProjectId; agentId: AgentId }, { projectId, agentId }: ChangeFilter): boolean =>
  (projectId === undefined || of.projectId === projectId) && (agentId === undefined || of.agentId === agentId);

function watch<Message, Shown>(
  runs: Runs,
  hub: Hub<Message>,
  organizationId: OrganizationId,
  signal: AbortSignal,
  { key, show }: { key: (message: Message) => string; show: (message: Message) => Promise<Shown | undefined> },
): AsyncIterableIterator<Shown> {
  const door = new Door();
  let newest = new Map<string, Message>();
  const subscription = hub.subscribe(organizationId, (message) => {
    newest.set(key(message), message);
    door.knock();
  });
  return stream(signal, subscription, async function* (ended) {
    while (await door.pass(ended)) {
      const messages = newest.values();
      newest = new Map();
      for (const message of messages) {
        const shown = await show(message);
        if (shown !== undefined) yield shown;
      }
      await until(runs.clock, runs.clock.now() + UPDATE_MS, ended).catch(() => {});
    }
  });
}
