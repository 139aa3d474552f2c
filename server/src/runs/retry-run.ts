/**
 * `retryRun`: a new run, linked to the old one, that keeps the results and approvals before a step and continues from
 * there, on the same version or on another one with the same tasks up to that step.
 */
import { setImmediate as othersFirst } from "node:timers/promises";
import { actorOf, type Caller } from "../auth/caller.ts";
import { badInput, conflict, notFound, Refusal } from "../lib/errors.ts";
import type { RunId } from "../lib/ids.ts";
import { checkFit } from "../execution/journal/check-fit.ts";
import { readJournalSteps } from "../execution/journal/read-journal.ts";
import { startOnce, type IdempotencyKey } from "./idempotency-key.ts";
import { contextOf, firstStep, keep, numberOf } from "../execution/journal/kept-steps.ts";
import { runOf, type RunState } from "../execution/journal/loaded-run.ts";
import { neededBytes } from "../execution/memory.ts";
import { insertRun, newHead } from "./insert-run.ts";
import { keepApprovals } from "./keep-approvals.ts";
import { keepAttempts } from "./keep-attempts.ts";
import { prepareRun } from "./prepare-run.ts";
import { readWholeRun } from "./read/read.ts";
import type { Run, WholeRun } from "../execution/run/run.ts";
import type { Runs } from "./handle/runs.ts";
import { isFinal } from "../execution/run/states.ts";

type RetryRequest = {
  runId: RunId;
  /** The first step to run again; by default the one that failed. */
  fromStep?: number;
  /** The same, by its task's name. */
  fromTask?: string;
  /** Another version than the old run's. */
  version?: string;
  /** As for `startRun`. */
  idempotencyKey?: string | undefined;
};

/** Throws NOT_FOUND; CONFLICT if the run is open, if it is completed and no step is named, or if the version no longer has a step, which it names; BAD_USER_INPUT. */
export async function retryRun(runs: Runs, caller: Caller, request: RetryRequest): Promise<Run> {
  if (request.fromStep !== undefined && request.fromTask !== undefined) throw bothGiven();
  const old = await readWholeRun(runs, caller, request.runId);
  if (!old) throw notFound("Run");
  const key = keyOf(old.run, request);
  if (!key) return startAgain(runs, caller, request, old, key);
  return startOnce(runs, key, { start: () => startAgain(runs, caller, request, old, key), known: (run) => run });
}

function bothGiven(): Refusal {
  const message = "fromStep and fromTask say the same in two ways: give one of them";
  return badInput("invalid_input", message, [{ path: "input.fromTask", code: "repeated", message }]);
}

function keyOf({ organizationId, agentId }: WholeRun, request: RetryRequest): IdempotencyKey | undefined {
  const { idempotencyKey: text, runId, fromStep, fromTask, version } = request;
  if (text === undefined) return undefined;
  return { organizationId, agentId, text, body: ["retryRun", runId, fromStep ?? fromTask ?? null, version ?? null] };
}

async function startAgain(
  runs: Runs,
  caller: Caller,
  request: RetryRequest,
  { run, state, heldBytes }: { run: WholeRun; state: RunState; heldBytes: number },
  key: IdempotencyKey | undefined,
): Promise<Run> {
  if (!isFinal(run.status)) throw conflict("wrong_state", `the run is ${run.status}: cancel it first`);
  if (run.status === "completed" && request.fromStep === undefined && request.fromTask === undefined)
    throw conflict(
      "wrong_state",
      "the run is completed: say with fromStep or fromTask where to start, or use rerunRun",
    );
  const prepared = await prepareRun(runs, caller, {
    agentId: run.agentId,
    input: run.input,
    version: request.version ?? run.version,
  });
  using charge = runs.executions.memory.open(caller.organizationId);
  if (!charge.tryHold(neededBytes(heldBytes))) {
    throw new Refusal("UNAVAILABLE", "the run's steps don't fit into the server's memory next to what it runs", {
      retryAfter: 5,
    });
  }
  const steps = await readJournalSteps(runs.database, run);
  const { error } = run;
  const old = { steps, failed: steps.find(({ number }) => number === error?.stepNumber) };
  // With 10,000 steps each of these takes 20 to 50 ms of the thread.
  await othersFirst();
  const from = request.fromTask === undefined ? request.fromStep : numberOf(steps, request.fromTask);
  const kept = keep(old, firstStep(old, from), runs.clock.now());
  await othersFirst();
  checkFit(prepared.version.program, prepared.version.version, kept);
  const { deadline: _deadline, context: _context, ...keptState } = state;
  const head = newHead(runs, prepared, {
    organizationId: caller.organizationId,
    startedBy: actorOf(caller),
    retryOf: run.id,
    state: { ...keptState, ...contextOf(kept) },
  });
  await othersFirst();
  await keepAttempts(runs.database, run, kept, head.id);
  const keptApprovals = await keepApprovals(runs.database, run, kept, head.id);
  return runOf(await insertRun(runs, head, { ...prepared, key, kept, keptApprovals }));
}
