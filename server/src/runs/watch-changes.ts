/**
 * `runsChanged` and `approvalsChanged`: what changes in an organization, each entity at most once in 250 ms. For a reader
 * that is slow the newest state of each is kept, up to a number: beyond it the subscription ends with UNAVAILABLE.
 */
import type { AgentId, OrganizationId, ProjectId } from "../lib/ids.ts";
import { until } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Hub } from "../realtime/hub.ts";
import { Door, stream } from "../realtime/stream.ts";
import { runOf } from "./loaded-run.ts";
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
    fits: ({ head }) => !head || fits(head.deref(), filter),
    show: async ({ runId, head: ref }) => {
      const head = ref?.deref();
      const run = head ? runOf(head) : await runs.changedRows.runs.add({ organizationId, id: runId });
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
    fits: () => true,
    show: async (id) => {
      const approval = await runs.changedRows.approvals.add({ organizationId, id });
      return approval && fits(approval, filter) ? approval : undefined;
    },
  });

/** What is gone must be read to know. */
const fits = (
  of: { projectId: ProjectId; agentId: AgentId } | undefined,
  { projectId, agentId }: ChangeFilter,
): boolean =>
  !of || ((projectId === undefined || of.projectId === projectId) && (agentId === undefined || of.agentId === agentId));

type Watched<Message, Shown> = {
  key: (message: Message) => string;
  /** False when it is known already that it will not be shown. */
  fits: (message: Message) => boolean;
  show: (message: Message) => Promise<Shown | undefined>;
};

function watch<Message, Shown>(
  runs: Runs,
  hub: Hub<Message>,
  organizationId: OrganizationId,
  signal: AbortSignal,
  { key, fits: mayFit, show }: Watched<Message, Shown>,
): AsyncIterableIterator<Shown> {
  const door = new Door();
  const waiting = new Map<string, Message>();
  let isTooSlow = false;
  const subscription = hub.subscribe(organizationId, (message) => {
    if (!mayFit(message)) return;
    waiting.set(key(message), message);
    isTooSlow = waiting.size > LIMITS.changesWaiting;
    if (isTooSlow) {
      subscription[Symbol.dispose]();
      waiting.clear();
    }
    door.knock();
  });
  return stream(signal, subscription, async function* (ended) {
    while (await door.pass(ended)) {
      // What changes again meanwhile goes to the end, and waits for the next time.
      for (const [id, message] of waiting.entries().take(waiting.size)) {
        waiting.delete(id);
        const shown = await show(message);
        if (shown === undefined) continue;
        // 250 subscriptions with 3,000 changes each had the thread for 1.5 s in one stretch.
        const turn = runs.turns.next(organizationId);
        if (turn) await turn;
        yield shown;
      }
      if (isTooSlow) throw tooSlow();
      await until(runs.clock, runs.clock.now() + UPDATE_MS, ended).catch(() => {});
    }
  });
}

const tooSlow = (): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    `more than ${LIMITS.changesWaiting} changes wait to be read: subscribe again, then read the list`,
    { retryAfter: 1 },
  );
