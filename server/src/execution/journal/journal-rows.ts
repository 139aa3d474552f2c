/** What a commit makes of the run and its steps: rows for write.ts. */
import { heldBytes } from "../../lib/sharing/held-bytes.ts";
import type { Json } from "../../lib/json/json.ts";
import type { Head, JournalStep } from "./loaded-run.ts";
import type { KeyRow, StartRow, StepRow } from "./rows.ts";

/** About what a step's row weighs without its payloads. */
const STEP_BYTES = 200;

/** What a commit writes of the run itself, as JSON text. */
export type Payload = { output: string | null; error: string | null; state: string | null };

const text = (value: Json | undefined): string | null => (value === undefined ? null : JSON.stringify(value));

export function stepRow(head: Head, step: JournalStep): StepRow {
  const state = JSON.stringify(step.state);
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
    input: text(step.input),
    output: step.outputText ?? text(step.output),
    error: step.error && JSON.stringify(step.error),
    response: step.response && JSON.stringify(step.response),
    started_at: step.startedAt,
    finished_at: step.finishedAt,
    revision: step.revision,
  };
}

export const weigh = (row: StepRow): number =>
  STEP_BYTES +
  (row.input?.length ?? 0) +
  (row.output?.length ?? 0) +
  (row.state?.length ?? 0) +
  (row.error?.length ?? 0) +
  (row.response?.length ?? 0);

/** About what a step takes in memory without its payloads. */
const STEP_HELD_BYTES = 1_000;

/** About what the row takes in memory once loaded; `isAnswer`: its state is a text, read when there is room. */
export const heldBytesOf = (row: StepRow, isAnswer: boolean): number =>
  STEP_HELD_BYTES +
  held(row.input) +
  held(row.output) +
  (isAnswer ? 2 * row.state!.length : held(row.state)) +
  held(row.error) +
  held(row.response);

const held = (json: string | null): number => (json === null ? 0 : heldBytes(json));

export function startRow(head: Head, payload: Payload): Omit<StartRow, "owner" | "wake_at" | "input" | "held_bytes"> {
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
    queued: false,
  };
}

export const keyRow = (head: Head, key: Pick<KeyRow, "key" | "body_hash">): KeyRow => ({
  ...key,
  run_id: head.id,
  organization_id: head.organizationId,
  agent_id: head.agentId,
  created_at: head.createdAt,
});
