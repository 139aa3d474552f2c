/** Step rows: reaching one, failing it, and a task's own steps. */
import type { ProgramTask } from "../definition/program.ts";
import type { WorkflowError } from "../definition/workflow-error.ts";
import type { Json } from "../lib/json/json.ts";
import { asWorkflowError, measure } from "./evaluate.ts";
import type { Execution } from "./execution.ts";
import type { Frame } from "./frame.ts";
import { asRunError, asThrown, type JournalStep } from "./journal/loaded-run.ts";
import { enter, inside } from "./scope.ts";
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
  const error = reason.at(reference, step.number);
  const now = execution.now();
  execution.journal.closeBelow(step.key, "cancelled", now);
  if (step.state.approvalId && step.status === "paused")
    execution.journal.changeApproval(step.state.approvalId, "withdrawn", now);
  step.error = asRunError(error);
  execution.journal.close(step, "failed", now);
  throw error;
}

/**
 * Runs `work` as a step below the task's step and returns its output; if the step is over already, returns what its row
 * contains. The frame that `work` gets belongs to the new step: for an effect, a question, or further steps.
 */
type OwnStep = (what: { name: string; kind: string }, work: (frame: Frame) => Promise<Json>) => Promise<Json>;

/**
 * For a task that does several things, each of which is to be journalled. When the run is resumed, the task runs from its
 * beginning and gets the results of the steps that are over. So which steps it takes may depend only on its input and on
 * their outputs.
 */
export function ownSteps(frame: Frame): OwnStep {
  const { execution, scope, step, task } = frame;
  const { journal } = execution;
  const within = inside(scope, ownKey(step.key), { progress: () => {} });
  return async ({ name, kind }, work) => {
    const breath = execution.breathe(within, task.reference);
    if (breath) await breath;
    const own = reachStep(execution, enter(within, name), { name, kind, reference: task.reference }, scope.round);
    if (own.status === "completed") return own.output ?? null;
    if (own.status === "failed") throw asThrown(own.error!);
    try {
      const output = await work({ ...frame, step: own, scope: within });
      journal.keep(own, output, measure(output));
      journal.close(own, "completed", execution.now());
      return output;
    } catch (reason) {
      const error = asWorkflowError(reason);
      if (!error) throw reason;
      return failStep(execution, own, error, task.reference);
    }
  };
}
