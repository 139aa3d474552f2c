/**
 * The journal of one run while it is advanced: the rows as they are, what of them is not committed yet, and `commit`,
 * which writes all of it in one statement behind the fence. The truth is the rows; this is thrown away at each unload.
 */
import type { PlanTask } from "../definition/plan.ts";
import { WorkflowError, type ErrorFields } from "../definition/workflow-error.ts";
import type { ApprovalId, RunId } from "../lib/ids.ts";
import { heldBytes } from "../lib/held-bytes.ts";
import type { Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { ApprovalStatus, RunStatus, StepStatus } from "../storage/schema.ts";
import { heldBytesOf, startRow, stepWrite, weigh, type Payload } from "./journal-rows.ts";
import type { Change, Head, JournalStep, RunState } from "./loaded-run.ts";
import type { ApprovalRow, ApprovalChange, AttemptRow, StartRow, StepWrite } from "./rows.ts";
import { OpenSteps } from "./open-steps.ts";
import { changed, isFinal, isStepOpen } from "./states.ts";
import type { Write, Writer, Written } from "./write.ts";

/** The run was fenced: cancelled, or advanced elsewhere. Nothing more can be written. */
export class LostRun extends Error {}
const MOST_INT4 = 2 ** 31 - 1;

/** A start whose idempotency key is taken. */
export class DuplicateStart extends Error {}

export type JournalOptions = {
  head: Head;
  writer: Writer;
  /** Called after each commit, never before; `left`: children that no step awaits any more. */
  published: (change: Change, left: readonly RunId[]) => void;
  steps?: JournalStep[];
  /** About what all of it takes in memory; known of a run that is in the database. */
  heldBytes?: number;
  /** The row of a run that is not in the database yet: it goes with the first commit. */
  start?: Pick<StartRow, "input" | "owner" | "wake_at" | "key" | "body_hash">;
};

const STATE_FIELDS = ["context", "input", "deadline", "depth"] as const satisfies (keyof RunState)[];

export class Journal {
  readonly head: Head;
  readonly #writer: Writer;
  readonly #published: JournalOptions["published"];
  readonly #steps = new Map<string, JournalStep>();
  readonly #open = new OpenSteps();
  #committedStatus: RunStatus;
  #committedState: RunState;
  #start: JournalOptions["start"];
  #committed: Head | undefined;
  #firstWrite: Promise<void> | undefined;
  #dirty = new Set<JournalStep>();
  #attempts: AttemptRow[] = [];
  #newApprovals: ApprovalRow[] = [];
  #approvalChanges: ApprovalChange[] = [];
  #left: RunId[] = [];
  #woken = false;
  #bytes = 0;
  #heldBytes: number;
  #stateHeldBytes: number;
  /** What was kept since the last commit, about. */
  keptBytes = 0;
  #keptHeldBytes = 0;
  /** What all steps carry. */
  carriedBytes = 0;
  #inFlight: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(options: JournalOptions) {
    this.head = options.head;
    this.#writer = options.writer;
    this.#published = options.published;
    this.#start = options.start;
    this.#committedStatus = options.head.status;
    this.#committedState = { ...options.head.state };
    for (const step of options.steps ?? []) {
      this.#steps.set(step.key, step);
      this.#bytes += step.bytes;
      this.#open.note(step);
    }
    this.#stateHeldBytes = heldBytes(JSON.stringify(options.head.state));
    this.#heldBytes = options.heldBytes ?? heldBytes(options.start?.input ?? "") + this.#stateHeldBytes;
    // What each takes is not known: a like part of all for a like part of the text.
    const part = this.#bytes === 0 ? 0 : this.#heldBytes / this.#bytes;
    if (!options.start) for (const step of this.#steps.values()) step.heldBytes = step.bytes * part;
  }

  /** Whether the run's row is written, or about to be. */
  get isStarted(): boolean {
    return this.#start === undefined;
  }

  /** The run is `paused` in the database, or about to be. */
  get isPaused(): boolean {
    return this.#committedStatus === "paused";
  }

  /** Resolves with the first commit; makes it when nothing has asked for one yet. */
  async started(now: number): Promise<void> {
    await (this.#firstWrite ?? this.commit(now));
  }

  /** The run's own row as the last commit left it. */
  get committed(): Head {
    return this.#committed ?? this.head;
  }

  /** About what the run takes in memory: its input, its state, the rows of its steps, and what is kept for the next commit. */
  get heldBytes(): number {
    return this.#heldBytes + this.#keptHeldBytes;
  }

  /** The rows of this run's steps are as many bytes as a process can be asked to hold. */
  get isFull(): boolean {
    return this.#bytes + this.keptBytes > LIMITS.runBytes;
  }

  /** Enough has gathered, or a child is to be cancelled that no step awaits any more. */
  get isDue(): boolean {
    return this.keptBytes > LIMITS.batchBytes || this.#left.length > 0;
  }

  get steps(): Iterable<JournalStep> {
    return this.#steps.values();
  }

  step(key: string): JournalStep | undefined {
    return this.#steps.get(key);
  }

  /** A new step, or a new attempt of the same one when an enclosing `try` has come round to it again. */
  open(
    key: string,
    { name, kind, reference }: Pick<PlanTask, "name" | "kind" | "reference">,
    round: string,
    now: number,
  ): JournalStep {
    const before = this.#steps.get(key);
    if (before) {
      this.recordAttempt(before, before.error, before.startedAt, now);
      Object.assign(before, { status: "running", round, state: {}, error: null, startedAt: now, finishedAt: null });
      before.input = before.output = undefined;
      return this.#opened(before);
    }
    if (this.#steps.size >= LIMITS.stepsPerRun)
      throw WorkflowError.overLimit(`a run has at most ${LIMITS.stepsPerRun} steps`).at(reference);
    const number = this.#steps.size + 1;
    const step: JournalStep = {
      number,
      key,
      name,
      kind,
      status: "running",
      round,
      attempt: 1,
      state: {},
      input: undefined,
      output: undefined,
      error: null,
      startedAt: now,
      finishedAt: null,
      revision: 0,
      bytes: 0,
      heldBytes: 0,
      carriedBytes: 0,
      unsaved: undefined,
    };
    this.#steps.set(key, step);
    return this.#opened(step);
  }

  #opened(step: JournalStep): JournalStep {
    this.touch(step);
    return step;
  }

  /** Says that a step has changed; it goes with the next commit. */
  touch(step: JournalStep): void {
    this.#dirty.add(step);
    this.#open.note(step);
  }

  /** Counts what a step has got or made, until its row does. */
  carry(step: JournalStep, heldBytes: number): void {
    step.carriedBytes += heldBytes;
    this.carriedBytes += heldBytes;
  }

  #settle(step: JournalStep): void {
    this.carriedBytes -= step.carriedBytes;
    step.carriedBytes = 0;
  }

  keep(step: JournalStep, output: Json, { bytes, heldBytes }: { bytes: number; heldBytes: number }): void {
    step.output = output;
    this.#settle(step);
    this.keptBytes += bytes;
    this.#keptHeldBytes += heldBytes;
  }

  close(step: JournalStep, status: StepStatus, now: number): void {
    if (step.state.awaits) this.#left.push(step.state.childId!);
    if (step.state.answer !== undefined) delete step.state.answer;
    step.unsaved = undefined;
    step.status = status;
    step.finishedAt = now;
    this.touch(step);
  }

  /** Closes what is open below a step that is left early; its open approvals are withdrawn, its children cancelled. */
  closeBelow(key: string, status: StepStatus, now: number): void {
    for (const step of this.#open.below(key)) {
      if (step.state.approvalId) this.changeApproval(step.state.approvalId, "withdrawn", now);
      this.close(step, status, now);
    }
  }

  /** Keeps an attempt that did not succeed; the step's row is always its newest. */
  recordAttempt(step: JournalStep, error: ErrorFields | null, startedAt: number, now: number): void {
    if (step.attempt >= LIMITS.attemptsPerStep) {
      throw WorkflowError.of("runtime", `a step has at most ${LIMITS.attemptsPerStep} attempts`);
    }
    this.#attempts.push({
      run_id: this.head.id,
      number: step.number,
      attempt: step.attempt,
      organization_id: this.head.organizationId,
      status: error ? "failed" : isStepOpen(step.status) ? "completed" : step.status,
      error: error && JSON.stringify(error),
      started_at: startedAt,
      finished_at: step.finishedAt ?? now,
    });
    step.attempt++;
    this.touch(step);
  }

  openApproval(row: ApprovalRow): void {
    this.#newApprovals.push(row);
  }

  changeApproval(id: ApprovalId, status: ApprovalStatus, now: number): void {
    const { id: runId, organizationId } = this.head;
    this.#approvalChanges.push({ run_id: runId, organization_id: organizationId, id, status, decided_at: now });
  }

  /**
   * Commits all that has changed; calls that meet share one statement. Throws `LostRun` behind the fence, `DuplicateStart`
   * when the start's idempotency key is taken.
   */
  commit(now: number): Promise<void> {
    this.#next ??= this.#inFlight.then(() => {
      this.#next = undefined;
      return (this.#inFlight = this.#write(now, undefined));
    });
    return this.#next;
  }

  /** The last commit of this advance: gives the claim back. Answers whether somebody woke the run since the claim. */
  async release(now: number, wakeAt: number | null): Promise<boolean> {
    await (this.#next ?? this.#inFlight);
    await (this.#inFlight = this.#write(now, { wakeAt }));
    return this.#woken;
  }

  #write(now: number, release: { wakeAt: number | null } | undefined): Promise<void> {
    const written = this.#writeTaken(now, release);
    this.#firstWrite ??= written;
    return written;
  }

  async #writeTaken(now: number, release: { wakeAt: number | null } | undefined): Promise<void> {
    const left = this.#left;
    this.#left = [];
    const write = this.#take(now, release);
    const head = { ...this.head };
    this.#check(await this.#writer.add(write));
    this.#committed = head;
    const approvals = [...write.approvals, ...write.approvalChanges].map(({ id }) => id);
    this.#published({ head, steps: write.steps, approvals }, left);
  }

  #check(written: Written): void {
    if (written.kind === "lost") throw new LostRun();
    if (written.kind === "duplicate") throw new DuplicateStart();
    // The head keeps the number of the claim: what was decided after the journal was read is seen at the release.
    if (written.wakeSeq !== this.head.wakeSeq) this.#woken = true;
  }

  #take(now: number, release: { wakeAt: number | null } | undefined): Write {
    const { head } = this;
    let moved = false;
    let bytes = 0;
    const rows: StepWrite[] = [];
    for (const step of this.#dirty) {
      const isOpen = isStepOpen(step.status);
      moved ||= step.revision === 0 || !isOpen;
      step.revision = ++head.revision;
      const row = stepWrite(head, step);
      this.#hold(step, row);
      bytes += step.bytes;
      rows.push(row);
      // Nothing asks for it again in this advance.
      if (!isOpen) step.input = step.output = undefined;
    }
    this.keptBytes = this.#keptHeldBytes = 0;
    head.revision++;
    head.currentStep = this.#currentStep();
    const payload = this.#payload();
    const write: Write = {
      runId: head.id,
      organizationId: head.organizationId,
      steps: rows,
      attempts: this.#attempts,
      approvals: this.#newApprovals,
      approvalChanges: this.#approvalChanges,
      bytes: bytes + (payload.output?.length ?? 0),
    };
    if (this.#start) {
      write.start = { ...startRow(head, payload), ...this.#start, held_bytes: this.#writtenHeldBytes };
      if (isFinal(head.status)) write.start.owner = null;
      if (release) Object.assign(write.start, { owner: null, wake_at: release.wakeAt });
      write.bytes += write.start.input.length;
    } else write.update = this.#update(now, payload, release, moved);
    this.#start = undefined;
    this.#committedStatus = head.status;
    this.#dirty = new Set();
    this.#attempts = [];
    this.#newApprovals = [];
    this.#approvalChanges = [];
    return write;
  }

  #hold(step: JournalStep, row: StepWrite): void {
    const bytes = weigh(row);
    const held = heldBytesOf(row, step.state.answer !== undefined);
    this.#bytes += bytes - step.bytes;
    this.#heldBytes += held - step.heldBytes;
    step.bytes = bytes;
    step.heldBytes = held;
    this.#settle(step);
  }

  #payload(): Payload {
    const { head } = this;
    const { state } = head;
    // By identity: to write a `$context` of 1 MB as text at each commit costs 2 ms, and it is replaced, never changed.
    const isChanged = STATE_FIELDS.some((name) => state[name] !== this.#committedState[name]);
    const text = isChanged ? JSON.stringify(state) : null;
    if (text !== null) {
      this.#committedState = { ...state };
      const held = heldBytes(text);
      this.#heldBytes += held - this.#stateHeldBytes;
      this.#stateHeldBytes = held;
    }
    return {
      output: head.status === "completed" ? JSON.stringify(head.output) : null,
      error: head.error && JSON.stringify(head.error),
      state: text,
    };
  }

  #update(
    now: number,
    payload: Payload,
    release: { wakeAt: number | null } | undefined,
    moved: boolean,
  ): NonNullable<Write["update"]> {
    const { head } = this;
    return {
      id: head.id,
      epoch: head.epoch,
      from_status: this.#committedStatus,
      status: changed(this.#committedStatus, head.status),
      ...payload,
      now,
      started_at: head.startedAt,
      finished_at: head.finishedAt,
      revision: head.revision,
      current_step: head.currentStep,
      progress: head.progress,
      release: release !== undefined || isFinal(head.status),
      wake_at: release?.wakeAt ?? null,
      wake_seq: head.wakeSeq,
      exact: this.#approvalChanges.length > 0,
      moved,
      held_bytes: this.#writtenHeldBytes,
    };
  }

  get #writtenHeldBytes(): number {
    return Math.min(MOST_INT4, Math.ceil(this.#heldBytes));
  }

  /** The lowest running number, the approval's when paused, the last one otherwise; null before the first step. */
  #currentStep(): number | null {
    const wanted = this.head.status === "paused" ? "paused" : "running";
    const lowest = isFinal(this.head.status) ? null : this.#open.lowest(wanted);
    return lowest ?? (this.#steps.size || null);
  }
}
