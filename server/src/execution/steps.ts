/** Step rows: reaching one, failing it, and a task's own steps. */
import type { ProgramTask } from "../definition/program.ts";
import type { WorkflowError } from "../definition/workflow-error.ts";
import type { Json } from "../lib/json/json.ts";
import { asWorkflowError, measure } from "./evaluate.ts";
import type { Execution } from "./execution.ts";
import type { Frame } from "./frame.ts";
import { asRunError, asThrown, type JournalStep } from "./journal/loaded-run.ts";
import { enter, inside, type Left } from "./scope.ts";
import { ownKey } from "./journal/step-keys.ts";

/** Returns the row of this round, or a new one. */
export function reachStep(
  { journal, shared }: Execution,
  key: string,
  what: Pick<ProgramTask, "name" | "kind" | "reference">,
  round: string,
): JournalStep {
  const step = journal.step(key);
  return step && step.round === round ? step : journal.open(key, what, round, shared.clock.now());
}

/** Fails a step, and cancels what is open below it. An error without a place was raised by this step's task. */
export function failStep(execution: Execution, step: JournalStep, reason: WorkflowError, reference: string): never {
  throw closeFailed(execution, step, reason, reference);
}

function closeFailed(execution: Execution, step: JournalStep, reason: WorkflowError, reference: string): WorkflowError {
  const error = reason.at(reference, step.number);
  const now = execution.now();
  execution.journal.closeBelow(step.key, "cancelled", now);
  if (step.state.approvalId && step.status === "paused")
    execution.journal.changeApproval(step.state.approvalId, "withdrawn", now);
  step.error = asRunError(error);
  execution.journal.close(step, "failed", now);
  return error;
}

/** `key`: its place among the task's own steps, if that is not the name with the visit. */
type Own = { name: string; kind: string; key?: string };
/** The output of a task's own step, or the error that it failed with. */
export type OwnOutcome = { step: JournalStep } & ({ output: Json; error?: undefined } | { error: WorkflowError });

/**
 * Runs `work` as a step below the task's step and returns what became of it; if the step is over already, returns what its row
 * contains. The frame that `work` gets belongs to the new step: for an effect, a question, or further steps. `within`: the
 * branch that it runs in, if that is not the task's.
 */
export type OwnStep = (what: Own, work: (frame: Frame) => Promise<Json>, within?: Left) => Promise<OwnOutcome>;

/**
 * For a task that does several things, each of which is to be journalled. When the run is resumed, the task runs from its
 * beginning and gets what became of the steps that are over. So which steps it takes may depend only on its input and on
 * their outputs. `keeps`: whether a step that an earlier try of an enclosing `try` has finished is this try's, too.
 */
export function ownSteps(frame: Frame, keeps: (before: JournalStep) => boolean = () => false): OwnStep {
  const { execution, scope, step, task } = frame;
  const { journal } = execution;
  const prefix = ownKey(step.key);
  const here = inside(scope, prefix, { progress: () => {} });
  return async ({ name, kind, key }, work, { signal, deadline } = scope) => {
    // Before anything is awaited: steps that run side by side have the keys of the order in which they were asked for.
    const place = key === undefined ? enter(here, name) : prefix + key;
    const within = { ...here, signal, deadline };
    const breath = execution.breathe(within, task.reference);
    if (breath) await breath;
    const before = journal.step(place);
    if (before && before.round !== scope.round && keeps(before)) {
      before.round = scope.round;
      journal.touch(before);
    }
    const own = reachStep(execution, place, { name, kind, reference: task.reference }, scope.round);
    if (own.status === "completed") return { step: own, output: own.output ?? null };
    if (own.status === "failed") return { step: own, error: asThrown(own.error!) };
    try {
      const output = await work({ ...frame, step: own, scope: within });
      journal.keep(own, output, measure(output));
      journal.close(own, "completed", execution.now());
      return { step: own, output };
    } catch (reason) {
      const error = asWorkflowError(reason);
      if (!error) throw reason;
      const failed = closeFailed(execution, own, error, task.reference);
      if (failed.endsRun) throw failed;
      return { step: own, error: failed };
    }
  };
}
