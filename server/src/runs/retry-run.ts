/**
 * `retryRun`: a new run, linked to the old, that keeps the results and approvals before a step and goes on from there, on
 * the same version or another that has the same tasks up to it.
 */
import type { Caller } from "../auth/caller.ts";
import type { Plan } from "../definition/plan.ts";
import { badInput, conflict, notFound } from "../lib/errors.ts";
import type { RunId } from "../lib/ids.ts";
import { wakeNew } from "./admit-runs.ts";
import { readJournalSteps } from "./claim.ts";
import { dueAt } from "./due.ts";
import { keyColumns, startOnce, type IdempotencyKey } from "./idempotency-key.ts";
import { Journal } from "./journal.ts";
import { runOf, type JournalStep, type RunState } from "./loaded-run.ts";
import { newHead, prepareRun } from "./new-run.ts";
import { kindAt } from "./plan-path.ts";
import { readRunState } from "./read.ts";
import type { Run } from "./run.ts";
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
  const old = await readRunState(runs, caller.organizationId, request.runId);
  if (!old) throw notFound("Run");
  const key = keyOf(old.run, request);
  return startOnce(runs, key, { start: () => startAgain(runs, caller, request, old, key), known: (run) => run });
}

function keyOf({ organizationId, agentId }: Run, request: RetryRequest): IdempotencyKey | undefined {
  const { idempotencyKey: text, runId, fromStep, version } = request;
  if (text === undefined) return undefined;
  return { organizationId, agentId, text, body: ["retryRun", runId, fromStep ?? null, version ?? null] };
}

async function startAgain(
  runs: Runs,
  caller: Caller,
  request: RetryRequest,
  { run, state }: { run: Run; state: RunState },
  key: IdempotencyKey | undefined,
): Promise<Run> {
  if (!isFinal(run.status)) throw conflict(`the run is ${run.status}: cancel it first`);
  const prepared = await prepareRun(runs, caller.organizationId, {
    agentId: run.agentId,
    input: run.input,
    version: request.version ?? run.version,
  });
  const steps = await readJournalSteps(runs.database, run);
  const kept = keep(steps, firstStep(steps, request.fromStep), runs.clock.now());
  checkFit(prepared.version.plan, prepared.version.version, kept);
  const { deadline: _deadline, ...keptState } = state;
  const head = newHead(runs, prepared, {
    organizationId: caller.organizationId,
    startedBy: starterOf(caller),
    retryOf: run.id,
    state: keptState,
  });
  const journal = new Journal({
    head,
    writer: runs.writer,
    published: (change) => publish(runs, change),
    steps: kept,
    start: { input: prepared.inputText, owner: null, wake_at: dueAt(head), ...keyColumns(key) },
  });
  for (const step of kept) journal.touch(step);
  await journal.commit(runs.clock.now());
  await wakeNew(runs, head);
  return runOf(journal.committed);
}

function firstStep(steps: JournalStep[], wanted: number | undefined): JournalStep {
  const found =
    wanted === undefined
      ? (deepest(steps.filter(({ status }) => status === "failed" || status === "cancelled")) ?? steps[0])
      : steps.find(({ number }) => number === wanted);
  if (!found) {
    const message = wanted === undefined ? "the run has no steps: start it anew" : `the run has no step ${wanted}`;
    throw badInput(message, [{ path: "input.fromStep", code: "unknown_step", message }]);
  }
  return found;
}

/** The first of them that encloses none of the others: composite tasks fail with what is in them. */
const deepest = (steps: JournalStep[]): JournalStep | undefined =>
  steps.find(({ key }) => !steps.some((other) => other.key.startsWith(`${key}/`)));

/** The steps before it, as copies; those that enclose it are open again. */
function keep(steps: JournalStep[], from: JournalStep, now: number): JournalStep[] {
  return steps
    .filter(({ number }) => number < from.number)
    .map((step) => {
      const copy = { ...step, state: { ...step.state } };
      if (!from.key.startsWith(`${step.key}/`)) return copy;
      const { deadline: _deadline, caught, ...state } = copy.state;
      const catching = from.key.startsWith(`${step.key}/catch/`);
      return {
        ...copy,
        status: "running" as const,
        state: catching && caught ? { ...state, caught } : state,
        output: undefined,
        error: null,
        startedAt: now,
        finishedAt: null,
      };
    });
}

function checkFit(plan: Plan, version: string, kept: JournalStep[]): void {
  for (const step of kept) {
    const kind = kindAt(plan, step.key);
    if (kind === step.kind) continue;
    const differs = kind === undefined ? "has no such task" : `has a task of kind ${kind} there`;
    throw conflict(`step ${step.number} (${step.name}, ${step.kind}) does not fit: version ${version} ${differs}`);
  }
}
