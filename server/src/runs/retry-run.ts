/**
 * `retryRun`: a new run, linked to the old, that keeps the results and approvals before a step and goes on from there, on
 * the same version or another that has the same tasks up to it.
 */
import { setImmediate as othersFirst } from "node:timers/promises";
import type { Caller } from "../auth/caller.ts";
import { conflict, notFound, Refusal } from "../lib/errors.ts";
import type { RunId } from "../lib/ids.ts";
import { wakeNew } from "./admit-runs.ts";
import { checkFit } from "./check-fit.ts";
import { readJournalSteps } from "./claim.ts";
import { dueAt } from "./due.ts";
import { keyColumns, startOnce, type IdempotencyKey } from "./idempotency-key.ts";
import { Journal } from "./journal.ts";
import { contextOf, firstStep, keep } from "./kept-steps.ts";
import { runOf, type RunState } from "./loaded-run.ts";
import { neededBytes } from "./memory.ts";
import { newHead, prepareRun } from "./new-run.ts";
import { readWholeRun } from "./read.ts";
import type { Run, WholeRun } from "./run.ts";
import { publish, type Runs } from "./runs.ts";
import { starterOf } from "./start-run.ts";
import { isFinal } from "./states.ts";

export type RetryRequest = {
  runId: RunId;
  /** The first step that is done again; the one that failed by default. */
  fromStep?: number;
  /** Another version than the old run's. */
  version?: string;
  /** As for `startRun`. */
  idempotencyKey?: string;
};

/** Throws NOT_FOUND; CONFLICT while the run is open, or naming the step that the version has no more; BAD_USER_INPUT. */
export async function retryRun(runs: Runs, caller: Caller, request: RetryRequest): Promise<Run> {
  const old = await readWholeRun(runs, caller.organizationId, request.runId);
  if (!old) throw notFound("Run");
  const key = keyOf(old.run, request);
  return startOnce(runs, key, { start: () => startAgain(runs, caller, request, old, key), known: (run) => run });
}

function keyOf({ organizationId, agentId }: WholeRun, request: RetryRequest): IdempotencyKey | undefined {
  const { idempotencyKey: text, runId, fromStep, version } = request;
  if (text === undefined) return undefined;
  return { organizationId, agentId, text, body: ["retryRun", runId, fromStep ?? null, version ?? null] };
}

async function startAgain(
  runs: Runs,
  caller: Caller,
  request: RetryRequest,
  { run, state, heldBytes }: { run: WholeRun; state: RunState; heldBytes: number },
  key: IdempotencyKey | undefined,
): Promise<Run> {
  if (!isFinal(run.status)) throw conflict(`the run is ${run.status}: cancel it first`);
  const prepared = await prepareRun(runs, caller.organizationId, {
    agentId: run.agentId,
    input: run.input,
    version: request.version ?? run.version,
  });
  using charge = runs.memory.open(caller.organizationId);
  if (!charge.tryHold(neededBytes(heldBytes))) {
    throw new Refusal("UNAVAILABLE", "the run's steps don't fit into the server's memory beside what it runs", {
      retryAfter: 5,
    });
  }
  const steps = await readJournalSteps(runs.database, run);
  const { error } = run;
  const old = { steps, hasFailed: error !== null, failed: steps.find(({ number }) => number === error?.step) };
  // Of 10,000 steps each of these takes 20 to 50 ms of the thread.
  await othersFirst();
  const kept = keep(old, firstStep(old, request.fromStep), runs.clock.now());
  await othersFirst();
  checkFit(prepared.version.plan, prepared.version.version, kept);
  const { deadline: _deadline, context: _context, ...keptState } = state;
  const head = newHead(runs, prepared, {
    organizationId: caller.organizationId,
    startedBy: starterOf(caller),
    retryOf: run.id,
    state: { ...keptState, ...contextOf(kept) },
  });
  const journal = new Journal({
    head,
    writer: runs.writer,
    published: (change) => publish(runs, change),
    steps: kept,
    start: { input: prepared.inputText, owner: null, wake_at: dueAt(head), ...keyColumns(key) },
  });
  await othersFirst();
  for (const step of kept) journal.touch(step);
  await othersFirst();
  await journal.commit(runs.clock.now());
  await wakeNew(runs, head);
  return runOf(journal.committed);
}
