/**
 * About what a run weighs while it is advanced: its step rows in the database, and in memory its input, its state and its
 * steps, also what they have received that no row has yet. So a run never grows past its limits, nor takes memory that it
 * was not given.
 */
import { heldBytes } from "../../lib/json/held-bytes.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Head, JournalStep } from "./loaded-run.ts";
import type { ApprovalRow, AttemptRow, StepRow } from "./columns.ts";

const MAX_INT4 = 2 ** 31 - 1;

/** A row without its payloads. */
const STEP_BYTES = 200;

/** About how many bytes the row has in the database. */
export const weighStep = (row: StepRow): number =>
  STEP_BYTES +
  (row.input?.length ?? 0) +
  (row.output?.length ?? 0) +
  (row.state?.length ?? 0) +
  (row.error?.length ?? 0) +
  (row.response?.length ?? 0);

const weighAttempt = ({ error, response }: AttemptRow): number =>
  STEP_BYTES + (error?.length ?? 0) + (response?.length ?? 0);

export const weighApproval = ({ question, context, form, answer }: ApprovalRow): number =>
  STEP_BYTES + question.length + (context?.length ?? 0) + (form?.length ?? 0) + (answer?.length ?? 0);

/** A step in memory without its payloads. */
const STEP_HELD_BYTES = 1_000;

/** About what the row takes in memory once loaded; `isAnswer`: its state is a text, read when there is room. */
const heldBytesOf = (row: StepRow, isAnswer: boolean): number =>
  STEP_HELD_BYTES +
  held(row.input) +
  held(row.output) +
  (isAnswer ? 2 * row.state!.length : held(row.state)) +
  held(row.error) +
  held(row.response);

const held = (json: string | null): number => (json === null ? 0 : heldBytes(json));

type Loaded = {
  head: Pick<Head, "state">;
  steps?: JournalStep[];
  /** Known for a run in the database. */
  heldBytes?: number;
  /** For a run that is not in the database yet. */
  start?: { input: string } | undefined;
};

/** An output's weight. */
export type Kept = { bytes: number; heldBytes: number; text?: string };

export class Weight {
  /** The bytes of the step rows in the database. */
  #rowBytes = 0;
  /** Input, state and step rows in memory, as the last commit left them. */
  #heldBytes: number;
  #stateHeldBytes: number;
  /** The outputs since the last commit. */
  #keptBytes = 0;
  #keptHeldBytes = 0;
  /** The failed tries since the last commit, of which there may be thousands. */
  #attemptBytes = 0;
  /** The bytes that all steps have received or made and that no row counts. */
  carriedBytes = 0;

  constructor({ head, steps, heldBytes: known, start }: Loaded) {
    this.#stateHeldBytes = heldBytes(JSON.stringify(head.state));
    this.#heldBytes = known ?? heldBytes(start?.input ?? "") + this.#stateHeldBytes;
    if (!steps) return;
    for (const step of steps) this.#rowBytes += step.bytes;
    // The memory of each step is unknown: it takes the same share of the total as its share of the text.
    const part = this.#rowBytes === 0 ? 0 : this.#heldBytes / this.#rowBytes;
    if (!start) for (const step of steps) step.heldBytes = step.bytes * part;
  }

  /** The memory that the run takes, with what is kept for the next commit. */
  get heldBytes(): number {
    return this.#heldBytes + this.#keptHeldBytes + this.#attemptBytes;
  }

  /** The same as the run's row will have it. */
  get writtenHeldBytes(): number {
    return Math.min(MAX_INT4, Math.ceil(this.#heldBytes));
  }

  get attemptBytes(): number {
    return this.#attemptBytes;
  }

  /** The step rows have reached the bytes that a process must be able to hold. */
  get isFull(): boolean {
    return this.#rowBytes + this.#keptBytes > LIMITS.runBytes;
  }

  /** Enough for a commit has gathered. */
  get isDue(): boolean {
    return this.#keptBytes + this.#attemptBytes > LIMITS.batchBytes;
  }

  /** Counts what a step has received or made, until its row does. */
  carry(step: JournalStep, heldBytes: number): void {
    step.carriedBytes += heldBytes;
    this.carriedBytes += heldBytes;
  }

  keep(step: JournalStep, { bytes, heldBytes, text }: Kept): void {
    this.#settle(step);
    this.#keptBytes += bytes;
    this.#keptHeldBytes += heldBytes + (text === undefined ? 0 : text.length);
  }

  keepAttempt(attempt: AttemptRow): void {
    this.#attemptBytes += weighAttempt(attempt);
  }

  /** The step's next row is about to be written. */
  write(step: JournalStep, row: StepRow): void {
    const bytes = weighStep(row);
    const held = heldBytesOf(row, step.state.answer !== undefined);
    this.#rowBytes += bytes - step.bytes;
    this.#heldBytes += held - step.heldBytes;
    step.bytes = bytes;
    step.heldBytes = held;
    this.#settle(step);
  }

  /** The run's state is about to be written. */
  writeState(text: string): void {
    const held = heldBytes(text);
    this.#heldBytes += held - this.#stateHeldBytes;
    this.#stateHeldBytes = held;
  }

  /** The rows of a commit are made: they count all that was kept. */
  startCommit(): void {
    this.#keptBytes = this.#keptHeldBytes = this.#attemptBytes = 0;
  }

  #settle(step: JournalStep): void {
    this.carriedBytes -= step.carriedBytes;
    step.carriedBytes = 0;
  }
}
