/** Makes a commit's rows of the run and its steps, for write.ts. */
import { withoutResponse } from "../../definition/workflow-error.ts";
import type { Steps } from "../../fairness/slices.ts";
import { isScalar, type Json } from "../../lib/json/json.ts";
import type { Head, JournalStep, StepState } from "./loaded-run.ts";
import type { RunError } from "../run/run.ts";
import { isStepOpen } from "../run/states.ts";
import type { AttemptRow, StartRow, StepRow } from "./columns.ts";

/** The run's own part of a commit, as JSON text. */
export type Payload = { output: string | null; error: string | null; state: string | null };

/** The JSON of large values, by the value: made before the commit, with pauses. */
export type Texts = Map<Json, string>;

const text = (value: Json | undefined, texts: Texts | undefined): string | null =>
  value === undefined ? null : (texts?.get(value) ?? JSON.stringify(value));

/** The parts of a step that may be large, as far as they have no text yet. */
function* partsOf({ input, output, outputText, state }: JournalStep): Generator<Json> {
  for (const part of [
    input,
    outputText === undefined ? output : undefined,
    state.items,
    state.taskInput,
    state.context,
  ])
    if (part !== undefined && !isScalar(part)) yield part;
}

/** The set may grow during this; a late step has no text yet, and gets one with the commit. */
export function* textsOf(steps: ReadonlySet<JournalStep>): Steps<Texts> {
  const texts: Texts = new Map();
  for (const step of steps) {
    for (const part of partsOf(step)) {
      texts.set(part, JSON.stringify(part));
      yield;
    }
  }
  return texts;
}

/** Inserts the parts that have a text as they are. */
function stateText(state: StepState, texts: Texts | undefined): string {
  if (!texts || texts.size === 0) return JSON.stringify(state);
  const parts = Object.entries(state).flatMap(([name, value]) => {
    const part = (value !== undefined && texts.get(value)) ?? JSON.stringify(value);
    return part === undefined ? [] : [`"${name}":${part}`];
  });
  return `{${parts.join(",")}}`;
}

export function stepRow(head: Head, step: JournalStep, texts?: Texts): StepRow {
  const state = stateText(step.state, texts);
  return {
    run_id: head.id,
    number: step.number,
    organization_id: head.organizationId,
    parent_number: step.parentNumber,
    key: step.key,
    name: step.name,
    kind: step.kind,
    status: step.status,
    round: step.round,
    attempt: step.attempt,
    state: state === "{}" ? null : state,
    input: text(step.input, texts),
    output: step.outputText ?? text(step.output, texts),
    error: step.error && JSON.stringify(step.error),
    response: step.response && JSON.stringify(step.response),
    started_at: step.startedAt,
    finished_at: step.finishedAt,
    revision: step.revision,
  };
}

/** An attempt that did not succeed, as the step's next one begins. */
export const attemptRow = (head: Head, step: JournalStep, error: RunError | null, now: number): AttemptRow => ({
  run_id: head.id,
  number: step.number,
  attempt: step.attempt,
  organization_id: head.organizationId,
  status: error ? "failed" : isStepOpen(step.status) ? "completed" : step.status,
  error: error && JSON.stringify(withoutResponse(error)),
  response: step.response && JSON.stringify(step.response),
  started_at: step.state.tryStartedAt ?? step.startedAt,
  finished_at: step.state.caughtAt ?? step.finishedAt ?? now,
});

/** The part that the head does not have. */
export type StartOfRow = Pick<StartRow, "input" | "owner" | "wake_at"> & Partial<Pick<StartRow, "queued">>;

export function startRow(
  head: Head,
  payload: Payload,
  { input, owner, wake_at, queued = false }: StartOfRow,
  heldBytes: number,
): StartRow {
  return {
    id: head.id,
    organization_id: head.organizationId,
    project_id: head.projectId,
    agent_id: head.agentId,
    version: head.version,
    status: head.status,
    started_by_kind: head.startedBy.kind,
    started_by_id: head.startedBy.id,
    // One by one: what follows a spread in a literal is defined by the runtime.
    output: payload.output,
    error: payload.error,
    // Nothing of it is committed yet, whatever the journal considers changed.
    state: Object.keys(head.state).length > 0 ? JSON.stringify(head.state) : null,
    created_at: head.createdAt,
    started_at: head.startedAt,
    finished_at: head.finishedAt,
    revision: head.revision,
    current_step: head.currentStep,
    progress: head.progress,
    epoch: head.epoch,
    wake_seq: head.wakeSeq,
    run_at: head.runAt,
    parent_run_id: head.parent?.runId ?? null,
    parent_awaits: head.parent?.awaits ?? null,
    retry_of: head.retryOf,
    limited: head.limited,
    queued,
    input,
    owner,
    wake_at,
    held_bytes: heldBytes,
  };
}
