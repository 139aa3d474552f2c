/** The room's handle: what its operations share. Every operation takes it first. */
import type { Agents } from "../agents/agents.ts";
import type { Expressions } from "../definition/expressions/expressions.ts";
import type { Engine, Outcome } from "../engine/engine.ts";
import type { Clock } from "../lib/clock.ts";
import type { ApprovalId, InstanceId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import type { Places } from "../lib/places.ts";
import type { RunMemory } from "../lib/run-memory.ts";
import { Hub } from "../realtime/hub.ts";
import type { Notice as RunNotice, Notices } from "../realtime/notices.ts";
import type { Database } from "../storage/database.ts";
import type { Calls } from "../tasks/task.ts";
import { createClaimer, type Claimer } from "./claim.ts";
import { createChangedRows, type ChangedRows } from "./changed-rows.ts";
import { createMemory } from "./memory.ts";
import type { Execution } from "./execution.ts";
import type { Change, Head } from "./loaded-run.ts";
import { createSignals, type Signals } from "./signals.ts";
import { Turns } from "./turns.ts";
import { createWriter, type Writer } from "./write.ts";

export type RunsOptions = {
  database: Database;
  agents: Agents;
  engine: Engine;
  expressions: Expressions;
  calls: Calls;
  clock: Clock;
  random: () => number;
  log: Log;
  instanceId: InstanceId;
  /** In memory, for runs; the engine's too. */
  places: Places;
  notices: Pick<Notices, "send">;
  /** Whether the disk has room for another run. */
  hasSpace: () => boolean;
};

/** A commit of this process, or the word that a run changed: read it again. */
export type Notice = Change | "changed";

/** A run that its start has begun; `follow` is its first advance. */
export type Begun = { follow(signal: AbortSignal): Promise<Outcome> };

export type Runs = RunsOptions & {
  writer: Writer;
  claimer: Claimer;
  signals: Signals;
  turns: Turns;
  /** What the runs in memory hold. */
  memory: RunMemory;
  /** What runs need that were turned away for want of memory, until they are claimed again. */
  needs: Map<RunId, number>;
  /** By run id. */
  hub: Hub<Notice>;
  /**
   * Changed runs and approvals, by organization; without `head` it must be read. What waits for a slow reader does not
   * hold inputs and outputs in memory.
   */
  changes: Hub<{ runId: RunId; head?: WeakRef<Head> }>;
  approvals: Hub<ApprovalId>;
  changedRows: ChangedRows;
  /** Runs that their start has claimed and begun already. */
  begun: Map<RunId, Begun>;
  /** Runs in the memory of this process. */
  loaded: Map<RunId, Execution>;
  /** Set when the process ends: no new work. */
  draining: boolean;
  /** Whether each run's end has been told to its relatives, as far as this process knows (families.ts). */
  mended: boolean;
};

export const createRuns = (options: RunsOptions): Runs => ({
  ...options,
  writer: createWriter(options.database),
  claimer: createClaimer(options.database, options.instanceId, options.clock),
  signals: createSignals(options.database),
  turns: new Turns(options.clock),
  memory: createMemory(),
  needs: new Map(),
  hub: new Hub(),
  changes: new Hub(),
  approvals: new Hub(),
  changedRows: createChangedRows(options.database),
  begun: new Map(),
  loaded: new Map(),
  draining: false,
  mended: false,
});

type Telling = Pick<Runs, "hub" | "changes" | "approvals" | "notices">;

/** After a commit of this process: to whoever watches the run, here and in other processes. */
export function publish(runs: Telling, change: Change): void {
  const { id, organizationId } = change.head;
  runs.hub.publish(id, change);
  if (runs.changes.hasListeners(organizationId)) {
    runs.changes.publish(organizationId, { runId: id, head: new WeakRef(change.head) });
  }
  runs.notices.send({ kind: "changed", organizationId, id });
  for (const approvalId of change.approvals) tellApproval(runs, organizationId, approvalId);
}

/** A run was changed by another statement than its journal's: it must be read again. */
export function tellChanged(runs: Telling, organizationId: OrganizationId, id: RunId): void {
  runs.hub.publish(id, "changed");
  runs.changes.publish(organizationId, { runId: id });
  runs.notices.send({ kind: "changed", organizationId, id });
}

export function tellApproval(runs: Telling, organizationId: OrganizationId, id: ApprovalId): void {
  runs.approvals.publish(organizationId, id);
  runs.notices.send({ kind: "approval", organizationId, id });
}

/** Word from another process. */
export function receive(runs: Runs, { kind, organizationId, id }: RunNotice): void {
  // What a run in memory waits for: of its child only a cancel comes from there, all else is done by the executor.
  if (kind === "approval" || kind === "cancelled")
    for (const { branches } of runs.loaded.values()) branches.knock(id as ApprovalId | RunId);
  if (kind === "approval") return runs.approvals.publish(organizationId, id as ApprovalId);
  const runId = id as RunId;
  if (kind === "wake") return runs.engine.wake(runId, { organizationId });
  if (kind === "cancelled") runs.engine.interrupt(runId);
  runs.hub.publish(runId, "changed");
  runs.changes.publish(organizationId, { runId });
}
