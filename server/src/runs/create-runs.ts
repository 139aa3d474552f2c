/** Makes the room's handle, and what tells watchers and relatives about the runs that are advanced. */
import { createExecutions } from "../execution/executions.ts";
import type { Surroundings } from "../execution/shared.ts";
import { LIMITS } from "../lib/limits.ts";
import { Feeds } from "../realtime/feed.ts";
import { Hub } from "../realtime/hub.ts";
import { tellEnd } from "./commit-cancel.ts";
import { createBadgeCounts } from "./handle/badge-counts.ts";
import { createChangedRows } from "./handle/changed-rows.ts";
import { createEstimates } from "./read/count-runs.ts";
import { readForm, startChild } from "./children.ts";
import { readPinnedOperation } from "../agents/pinned-operations.ts";
import { escalateApproval, remindApproval } from "./late-approvals.ts";
import { pinOperation } from "./pin-operation.ts";
import { pinTools } from "./pin-tools.ts";
import { whoDecides } from "./starters.ts";
import type { Change } from "../execution/journal/loaded-run.ts";
import type { ApprovalId, OrganizationId, RunId } from "../lib/ids.ts";
import { allOf } from "../lib/reach.ts";
import { Waits } from "./handle/waits.ts";
import { lookAgain } from "./watch/look-again.ts";
import { afterEnd, cancelLeft, releaseNext } from "./families.ts";
import { KEYS } from "./idempotency-key.ts";
import { usageOfRun } from "./read/model-usage.ts";
import { readPayloads } from "./read/read-payloads.ts";
import { readRun } from "./read/read.ts";
import { countChange, createRunFigures } from "./handle/run-figures.ts";
import { DRAFT_TEXTS } from "./run-draft-texts.ts";
import { publish, tellChanged, type Runs, type RunsOptions } from "./handle/runs.ts";

export function createRuns(options: RunsOptions): Runs {
  const { database, agents, engine, clock, log, notices, hasSpace, usage, parts, slotFreed = () => {} } = options;
  const { approvalNews = async () => () => {} } = options;
  const changes: Runs["changes"] = new Hub();
  const approvals: Runs["approvals"] = new Hub();
  const most = LIMITS.changesWaiting;
  const executions = createExecutions({
    ...options,
    parts: { guards: [KEYS, ...(parts?.guards ?? [])], followers: [DRAFT_TEXTS, ...(parts?.followers ?? [])] },
    surroundings: surroundingsOf(() => runs),
  });
  const runs: Runs = {
    database,
    agents,
    engine,
    clock,
    log,
    notices,
    hasSpace,
    usage,
    slotFreed,
    approvalNews,
    executions,
    watching: { notices, clock, rounds: executions.rounds },
    hub: new Hub(),
    changes,
    approvals,
    feeds: {
      runs: new Feeds({ hub: changes, keyOf: ({ runId }) => runId, most }),
      approvals: new Feeds({ hub: approvals, keyOf: (id) => id, most }),
      agents: new Feeds({ hub: agents.changes, keyOf: (id) => id, most }),
    },
    changedRows: createChangedRows(database),
    badgeCounts: createBadgeCounts(database),
    figures: createRunFigures(),
    estimates: createEstimates(database, clock),
    waits: new Waits(),
    mended: false,
  };
  listen(runs);
  return runs;
}

/** Reacts to what other processes do. */
function listen(runs: Runs): void {
  const { notices, hub, changes, engine, executions } = runs;
  // A signal that a run in memory waits for.
  const notify = (id: ApprovalId | RunId): void => {
    for (const { branches } of executions.loaded.values()) branches.notify(id);
  };
  const change = (organizationId: OrganizationId, runId: RunId): void => {
    hub.publish(runId, "changed");
    changes.publish(organizationId, { runId });
  };
  notices.on("changed", change);
  notices.on("wake", (organizationId, id) => {
    executions.loaded.get(id)?.branches.hear();
    engine.wake(id, { organizationId });
  });
  notices.on("cancelled", (organizationId, id) => {
    notify(id);
    engine.interrupt(id);
    change(organizationId, id);
  });
  notices.on("approval", (organizationId, id) => {
    notify(id);
    runs.approvals.publish(organizationId, id);
  });
  notices.onMissed(() => void lookAgain(runs));
}

/** A retry keeps steps that an earlier run ended. */
function countSteps({ usage }: Runs, { head, steps }: Change): void {
  let ended = 0;
  for (const { status, finished_at } of steps) {
    if ((status === "completed" || status === "failed") && finished_at! >= head.createdAt) ended++;
  }
  if (ended > 0) usage.steps(head.organizationId, ended);
}

/** `room` is a function because it is made later than what gets this. */
const surroundingsOf = (room: () => Runs): Surroundings => ({
  programOf: async ({ organizationId, agentId, version }) =>
    (await room().agents.cache.compiled(organizationId, agentId, version))?.program,
  onCommit(change, left) {
    publish(room(), change);
    countSteps(room(), change);
    countChange(room().figures, change);
    if (left.length > 0) void cancelLeft(room(), change.head.organizationId, left);
  },
  onLostAnswer(organizationId, id) {
    // No other process tells its watchers or its relatives.
    room().mended = false;
    tellChanged(room(), organizationId, id);
  },
  onEnd(head) {
    if (head.parent || head.limited) void afterEnd(room(), head);
    else releaseNext(room(), head);
  },
  async onFailure(end) {
    tellEnd(room(), end);
    await afterEnd(room(), end.run);
  },
  startChild: (request, signal) => startChild(room(), request, signal),
  readChild: (organizationId, id) => readRun(room(), allOf(organizationId), id),
  readChildUsage: (organizationId, id) => usageOfRun(room(), organizationId, id),
  readForm: (...asked) => readForm(room(), ...asked),
  pinTools: (...asked) => pinTools(room(), ...asked),
  readOperation: (head, name) => readPinnedOperation(room().agents, head, name),
  pinOperation: (...asked) => pinOperation(room(), ...asked),
  whoDecides: (head, asked) => whoDecides(room().database, head, asked),
  remindApproval: (...asked) => remindApproval(room(), ...asked),
  escalateApproval: (...asked) => escalateApproval(room(), ...asked),
  readChildEnd: async (organizationId, id, column) =>
    (await readPayloads(room(), organizationId, [{ of: "run", id, column }]))[0],
});
