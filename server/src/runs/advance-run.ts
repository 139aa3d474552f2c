/** What the engine calls: claims the run, walks its plan until it ends or waits. */
import { WorkflowError } from "../definition/workflow-error.ts";
import type { Advance, Outcome } from "../engine/engine.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Charge } from "../lib/run-memory.ts";
import { startChild } from "./children.ts";
import { isReadAtOnce, readWhole, unclaim, type Claimed } from "./claim.ts";
import { commitFailure } from "./commit-cancel.ts";
import { Execution, type ExecutionParts } from "./execution.ts";
import { execute } from "./interpreter.ts";
import { afterEnd, cancelLeft } from "./families.ts";
import { Journal, LostRun, type JournalOptions } from "./journal.ts";
import { asRunError, type Head } from "./loaded-run.ts";
import { LEAST_HELD_BYTES, neededBytes, remember, tooLarge } from "./memory.ts";
import { readPayloads } from "./read-payloads.ts";
import { readRun, readWholeApproval } from "./read.ts";
import { publish, type Runs } from "./runs.ts";

/** So often may a run be blamed for the end of the process without having moved. */
const MOST_BLAMED = 5;

export const advanceRun =
  (runs: Runs): Advance =>
  async (runId, signal, organizationId, throws = 0) => {
    const begun = runs.begun.get(runId);
    runs.begun.delete(runId);
    let outcome: Outcome | undefined;
    try {
      if (begun) outcome = await begun.follow(signal);
      else if (throws >= LIMITS.internalTries) outcome = await failInternally(runs, organizationId, runId);
      else outcome = await advanceInMemory(runs, runId, organizationId, signal);
      return outcome;
    } finally {
      // Its end may be committed although the answer was lost; its relatives don't know then.
      if (!outcome || outcome.kind === "lost") runs.mended = false;
    }
  };

/** What it throws is nobody's error and comes again: whatever its journal holds, it is not looked at any more. */
async function failInternally(runs: Runs, organizationId: OrganizationId, id: RunId): Promise<Outcome> {
  const why = "the server could not advance this run: its log names the run's id and the reason";
  return failRun(runs, organizationId, id, WorkflowError.of("internal", why));
}

/** Ends a run whose journal is not in memory. */
async function failRun(runs: Runs, organizationId: OrganizationId, id: RunId, error: WorkflowError): Promise<Outcome> {
  const { run, changed } = await commitFailure(runs, organizationId, id, asRunError(error, null));
  if (!changed) return { kind: "lost" };
  await afterEnd(runs, run);
  return { kind: "done" };
}

/** Waits for what it needs before it is claimed: as far as that is known. */
async function advanceInMemory(
  runs: Runs,
  runId: RunId,
  organizationId: OrganizationId,
  signal: AbortSignal,
): Promise<Outcome> {
  using charge = runs.memory.open(organizationId);
  if (!(await charge.hold(runs.needs.get(runId) ?? LEAST_HELD_BYTES, signal))) return { kind: "lost" };
  runs.needs.delete(runId);
  return await advanceClaimed(runs, { id: runId, organizationId }, charge, signal);
}

/** It is claimed, and there is no room for it: again when there is. One that there never will be room for fails. */
async function turnAway(runs: Runs, { head, heldBytes }: Claimed): Promise<Outcome> {
  const needed = neededBytes(heldBytes);
  if (needed > runs.memory.mostBytes) return failRun(runs, head.organizationId, head.id, tooLarge(heldBytes));
  remember(runs.needs, head.id, needed);
  await unclaim(runs.database, head);
  return { kind: "yield" };
}

async function advanceClaimed(
  runs: Runs,
  run: Pick<Head, "id" | "organizationId">,
  charge: Charge,
  signal: AbortSignal,
): Promise<Outcome> {
  const { id: runId } = run;
  const claimed = runs.draining ? undefined : await runs.claimer.add(run);
  if (!claimed) {
    // It may have ended in a commit whose answer was lost: nobody else tells those who watch it.
    runs.hub.publish(runId, "changed");
    return { kind: "lost" };
  }
  if (!charge.tryHold(neededBytes(claimed.heldBytes))) return turnAway(runs, claimed);
  if (!isReadAtOnce(claimed.heldBytes)) {
    const steps = await readWhole(runs.database, claimed);
    if (!steps) return { kind: "lost" };
    claimed.steps = steps;
  }
  publish(runs, { head: { ...claimed.head }, steps: [], approvals: [] });
  const journal = new Journal({ ...claimed, writer: runs.writer, published: committed(runs) });
  const { head } = journal;
  const version = await runs.agents.cache.compiled(head.organizationId, head.agentId, head.version);
  if (!version) throw new Error(`version ${head.version} of agent ${head.agentId} is gone`);
  const execution = new Execution({ journal, plan: version.plan, parts: executionParts(runs), signal, charge });
  runs.loaded.set(runId, execution);
  try {
    if (claimed.blamed >= MOST_BLAMED) return await execution.finish({ error: crashed(claimed) });
    return await execute(execution);
  } catch (reason) {
    if (reason instanceof LostRun) return { kind: "lost" };
    throw reason;
  } finally {
    if (runs.loaded.get(runId) === execution) runs.loaded.delete(runId);
  }
}

/** After each commit of a run that is advanced here. */
export const committed =
  (runs: Runs): JournalOptions["published"] =>
  (change, left) => {
    publish(runs, change);
    if (left.length > 0) void cancelLeft(runs, change.head.organizationId, left);
  };

const crashed = (claimed: Claimed): WorkflowError =>
  WorkflowError.of("crashed", `the process ended ${claimed.blamed} times while it advanced this run`);

export const executionParts = (runs: Runs): ExecutionParts => ({
  expressions: runs.expressions,
  calls: runs.calls,
  clock: runs.clock,
  random: runs.random,
  turns: runs.turns,
  contended: (organizationId) => runs.places.contended(organizationId),
  draining: () => runs.draining,
  signals: runs.signals,
  readApproval: (organizationId, id) => readWholeApproval(runs, organizationId, id),
  startChild: (request, signal) => startChild(runs, request, signal),
  readRun: (organizationId, id) => readRun(runs, organizationId, id),
  readEnd: async (organizationId, id, column) =>
    (await readPayloads(runs, organizationId, [{ of: "run", id, column }]))[0],
  memoryWanted: () => runs.memory.isWanted,
  mostHeldBytes: runs.memory.mostBytes,
  // Twice as much as it had: a run that grows is read again a few times, not at each step.
  turnedAway: (id, bytes) => remember(runs.needs, id, Math.min(2 * bytes, runs.memory.mostBytes)),
  ended: ({ head }) => {
    if (head.parent || head.limited) void afterEnd(runs, head);
  },
});
