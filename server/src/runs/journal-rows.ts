/** What a commit makes of the run and its steps: rows for write.ts. */
import { heldBytes } from "../lib/held-bytes.ts";
import type { Json } from "../lib/json.ts";
import type { Head, JournalStep } from "./loaded-run.ts";
import type { StartRow, StepWrite } from "./rows.ts";

/** What a step's row weighs without its payloads, about. */
const STEP_BYTES = 200;

/** What of the run itself is written with a commit, as JSON text. */
export type Payload = { output: string | null; error: string | null; state: string | null };

const text = (value: Json | undefined): string | null => (value === undefined ? null : JSON.stringify(value));

export function stepWrite(head: Head, step: JournalStep): StepWrite {
  const state = JSON.stringify(step.state);
  return {
    run_id: head.id,
    number: step.number,
    organization_id: head.organizationId,
    key: step.key,
    name: step.name,
    kind: step.kind,
    status: step.status,
    round: step.round,
    attempt: step.attempt,
    state: state === "{}" ? null : state,
    input: text(step.input),
    output: text(step.output),
    error: step.error && JSON.stringify(step.error),
    started_at: step.startedAt,
    finished_at: step.finishedAt,
    revision: step.revision,
  };
}

export const weigh = (row: StepWrite): number =>
  STEP_BYTES +
  (row.input?.length ?? 0) +
  (row.output?.length ?? 0) +
  (row.state?.length ?? 0) +
  (row.error?.length ?? 0);

/** A step in memory without its payloads, about. */
const STEP_HELD_BYTES = 1_000;

/** About what the row takes in memory when it is loaded; `isAnswer`: its state is a text that is read when there is room. */
export const heldBytesOf = (row: StepWrite, isAnswer: boolean): number =>
  STEP_HELD_BYTES +
  held(row.input) +
  held(row.output) +
  (isAnswer ? 2 * row.state!.length : held(row.state)) +
  held(row.error);

const held = (json: string | null): number => (json === null ? 0 : heldBytes(json));

export function startRow(
  head: Head,
  payload: Payload,
): Omit<StartRow, "owner" | "wake_at" | "key" | "body_hash" | "input" | "held_bytes"> {
  return {
    id: head.id,
    organization_id: head.organizationId,
    project_id: head.projectId,
    agent_id: head.agentId,
    version: head.version,
    status: head.status,
    started_by_kind: head.startedBy.kind,
    started_by_id: head.startedBy.id,
    ...payload,
    // Nothing of it is committed yet, whatever the journal takes for changed.
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
  };
}
