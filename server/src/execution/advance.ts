/** The engine calls this: it claims the run and walks its program until it ends or waits. */
import { WorkflowError } from "../definition/workflow-error.ts";
import type { Advance, Call, Outcome } from "../engine/engine.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Charge } from "../fairness/fair-pool.ts";
import { commitEnd } from "./journal/commit-end.ts";
import { Execution } from "./execution.ts";
import type { Executions } from "./executions.ts";
import { execute } from "./interpreter.ts";
import { Journal, LostRun } from "./journal/journal.ts";
import { asRunError, type Head } from "./journal/loaded-run.ts";
import { LEAST_HELD_BYTES, neededBytes, tooLarge } from "./memory.ts";
import { isReadAtOnce, type ClaimedRun } from "./journal/claimed-run.ts";
import { readWhole } from "./journal/read-journal.ts";
import { releaseClaim } from "./journal/release-claim.ts";

/** How often a run may be blamed for the end of the process without making progress. */
const MAX_BLAMED = 5;

export const createAdvance =
  (executions: Executions): Advance<ClaimedRun> =>
  (call) =>
    watchOutcome(executions, call, advanceCalled(executions, call));

/** Also for the first stretch, which the start has begun (begin-run.ts). */
export async function watchOutcome(
  { surroundings }: Executions,
  { organizationId, runId }: Pick<Call<unknown>, "organizationId" | "runId">,
  advancing: Promise<Outcome>,
): Promise<Outcome> {
  let outcome: Outcome | undefined;
  try {
    outcome = await advancing;
    return outcome;
  } finally {
    if (!outcome || outcome.kind === "lost") surroundings.onLostAnswer(organizationId, runId);
  }
}

/** Before the claim, waits for the memory that the run is known to need. */
async function advanceCalled(executions: Executions, call: Call<ClaimedRun>): Promise<Outcome> {
  const { runId, organizationId, signal } = call;
  const { memory, needs } = executions;
  using charge = memory.open(organizationId);
  if (!(await charge.hold(needs.get(runId) ?? LEAST_HELD_BYTES, signal))) return { kind: "lost" };
  needs.delete(runId);
  const claimed = executions.draining ? undefined : await call.claim();
  if (!claimed) return { kind: "lost" };
  // Its unexpected error would come again: the run fails without a look at its journal.
  if (call.throws >= LIMITS.internalTries) return await failRun(executions, claimed.head, neverAdvanced());
  return await advanceClaimed(executions, claimed, charge, signal);
}

async function advanceClaimed(
  executions: Executions,
  { head, heldBytes, blamed }: ClaimedRun,
  charge: Charge,
  signal: AbortSignal,
): Promise<Outcome> {
  const { database, journals, surroundings, memory, needs } = executions;
  const needed = neededBytes(heldBytes);
  if (!charge.tryHold(needed)) {
    // It is claimed again when there is room. A run that will never have room fails.
    if (needed > memory.most) return failRun(executions, head, tooLarge(heldBytes));
    needs.set(head.id, needed);
    await releaseClaim(database, head);
    return { kind: "yield" };
  }
  const steps = isReadAtOnce(heldBytes) ? await journals.add(head, heldBytes) : await readWhole(database, head);
  if (!steps) return { kind: "lost" };
  surroundings.onCommit({ head: { ...head }, steps: [], approvals: [] }, []);
  const journal = new Journal({
    head,
    steps,
    heldBytes,
    writer: executions.writer,
    published: surroundings.onCommit,
  });
  const program = await surroundings.programOf(head);
  if (!program) throw new Error(`version ${head.version} of agent ${head.agentId} is gone`);
  const execution = new Execution({ journal, program, shared: executions, signal, charge });
  return advanceLoaded(executions, execution, blamed);
}

export async function advanceLoaded(executions: Executions, execution: Execution, blamed = 0): Promise<Outcome> {
  const { loaded, tasks } = executions;
  const { id } = execution.journal.head;
  loaded.set(id, execution);
  try {
    return await (blamed >= MAX_BLAMED ? execution.finish({ error: crashed(blamed) }) : execute(execution, tasks));
  } catch (reason) {
    if (reason instanceof LostRun) return { kind: "lost" };
    throw reason;
  } finally {
    if (loaded.get(id) === execution) loaded.delete(id);
  }
}

const crashed = (times: number): WorkflowError =>
  WorkflowError.of("crashed", `the process ended ${times} times while it advanced this run`);

const neverAdvanced = (): WorkflowError =>
  WorkflowError.of("internal", "the server could not advance this run: its log names the run's id and the reason");

/** Ends a claimed run whose journal is not in memory. */
async function failRun(
  executions: Executions,
  run: Pick<Head, "id" | "organizationId" | "epoch">,
  error: WorkflowError,
): Promise<Outcome> {
  const end = await commitEnd(executions, run, { status: "failed", error: asRunError(error) });
  if (!end.changed) return { kind: "lost" };
  await executions.surroundings.onFailure(end);
  return { kind: "done" };
}
