/** The room's handle: what its operations share. Every operation takes it as its first parameter. */
import type { Agents } from "../../agents/agents.ts";
import type { Expressions } from "../../expressions/expressions.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Executions } from "../../execution/executions.ts";
import type { TaskTable } from "../../execution/frame.ts";
import type { Change, Head } from "../../execution/journal/loaded-run.ts";
import type { OtherParts } from "../../execution/journal/part.ts";
import type { Clock } from "../../lib/clock.ts";
import type { FreshCache } from "../../lib/fresh-cache.ts";
import type { AgentId, ApprovalId, OrganizationId, RunId, TriggerId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Places } from "../../fairness/places.ts";
import type { Feeds } from "../../realtime/feed.ts";
import type { Hub } from "../../realtime/hub.ts";
import type { Notices } from "../../realtime/notices.ts";
import type { Database, Query } from "../../storage/database.ts";
import type { BadgeCounts } from "./badge-counts.ts";
import type { ChangedRows } from "./changed-rows.ts";
import type { Waits } from "./waits.ts";
import type { RunFigures } from "./run-figures.ts";
import type { FeedWatching } from "../../realtime/watch-feed.ts";

export type RunsOptions = {
  database: Database;
  agents: Agents;
  engine: Engine;
  expressions: Expressions;
  tasks: TaskTable;
  clock: Clock;
  random: () => number;
  log: Log;
  /** In memory, for runs; the engine's too. */
  places: Places;
  notices: Notices;
  /** Whether the disk has room for another run. */
  hasSpace: () => boolean;
  usage: RunUsage;
  /** The parts that the rooms above have written with runs. */
  parts?: OtherParts | undefined;
  /** Tells of what happens to approvals after they were requested. If left out, nobody hears of it. */
  approvalNews?: ApprovalNews | undefined;
  /** Called after the end of each run that a trigger started: another run of the trigger may wait for its slot. */
  slotFreed?: SlotFreed | undefined;
};

/** In the transaction that makes it true. Returns what is called after its commit. */
export type ApprovalNews = (
  query: Query,
  news: {
    organizationId: OrganizationId;
    event: "approval.reminded" | "approval.escalated" | "approval.reassigned";
    subjectId: ApprovalId;
    at: Date;
  },
) => Promise<() => void>;

export type SlotFreed = (organizationId: OrganizationId, triggerId: TriggerId) => void;

/** Receives what is done for an organization. */
type RunUsage = {
  run(organizationId: OrganizationId): void;
  /** Steps that completed or failed. */
  steps(organizationId: OrganizationId, count: number): void;
};

/** A commit of this process, or a notice that a run changed and must be read again. */
type RunChange = Change | "changed";

export type Runs = Omit<
  RunsOptions,
  "expressions" | "tasks" | "random" | "places" | "parts" | "slotFreed" | "approvalNews"
> & {
  slotFreed: SlotFreed;
  approvalNews: ApprovalNews;
  executions: Executions;
  /** By run id. */
  hub: Hub<RunChange>;
  /**
   * Changed runs and approvals, by organization; without `head` the change must be read. Changes that wait for a slow
   * reader hold no inputs and outputs in memory.
   */
  changes: Hub<{ runId: RunId; head?: WeakRef<Head> }>;
  approvals: Hub<ApprovalId>;
  /** The reads of subscriptions to changes, of these and of the agents' changes. */
  feeds: {
    runs: Feeds<{ runId: RunId; head?: WeakRef<Head> }>;
    approvals: Feeds<ApprovalId>;
    agents: Feeds<AgentId>;
  };
  /** The needs of each subscription to changes. */
  watching: FeedWatching;
  changedRows: ChangedRows;
  badgeCounts: BadgeCounts;
  figures: RunFigures;
  /** How many runs match a filter, by what was asked (count-runs.ts). */
  estimates: FreshCache<string, number>;
  /** Requests that wait for a run to end or pause. */
  waits: Waits;
  /** Whether each run's end has been told to its relatives, as far as this process knows (families.ts). */
  mended: boolean;
};

type Telling = Pick<Runs, "hub" | "changes" | "approvals" | "notices">;

/** After a commit of this process: tells all who watch the run, here and in other processes. */
export function publish(runs: Telling, change: Change): void {
  const { id, organizationId } = change.head;
  runs.hub.publish(id, change);
  if (runs.changes.hasListeners(organizationId)) {
    runs.changes.publish(organizationId, { runId: id, head: new WeakRef(change.head) });
  }
  runs.notices.send({ kind: "changed", organizationId, id });
  for (const approvalId of change.approvals) tellApproval(runs, organizationId, approvalId);
}

/** A statement other than the journal's changed a run: it must be read again. */
export function tellChanged(runs: Telling, organizationId: OrganizationId, id: RunId): void {
  runs.hub.publish(id, "changed");
  runs.changes.publish(organizationId, { runId: id });
  runs.notices.send({ kind: "changed", organizationId, id });
}

export function tellApproval(runs: Telling, organizationId: OrganizationId, id: ApprovalId): void {
  runs.approvals.publish(organizationId, id);
  runs.notices.send({ kind: "approval", organizationId, id });
}
