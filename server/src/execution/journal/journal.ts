/**
 * The journal of one run while it is advanced: its current rows, which changes are not committed yet, and `commit`, which
 * writes them all in one fenced statement. The database's rows are the truth; each unload discards this.
 */
import type { ProgramTask } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { ApprovalId, EventId, RunId } from "../../lib/ids.ts";
import { inSlices } from "../../fairness/slices.ts";
import type { Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { ApprovalStatus, RunStatus, StepStatus } from "../../storage/schema.ts";
import { attemptRow, startRow, type StartOfRow, stepRow, textsOf, type Payload, type Texts } from "./make-rows.ts";
import {
  isBetweenTries,
  type Change,
  type Head,
  type JournalStep,
  type Listening,
  type RunState,
  type StepState,
} from "./loaded-run.ts";
import type {
  ApprovalRow,
  ApprovalChange,
  AttemptRow,
  ListenerRow,
  ModelCallRow,
  StepRow,
  UnheardRow,
  UnlistenedRow,
} from "./columns.ts";
import { Numbers } from "./numbers.ts";
import { OpenSteps } from "./open-steps.ts";
import { enclosing } from "./step-keys.ts";
import type { RunError } from "../run/run.ts";
import { changed, isFinal, isStepOpen } from "../run/states.ts";
import type { Brought, Write } from "./part.ts";
import { weighApproval, Weight, type Kept } from "./weight.ts";
import type { Writer, Written } from "./write.ts";

/** The run was fenced: cancelled, or advanced elsewhere. Nothing more can be written. */
export class LostRun extends Error {}

/** A start that something which came with it refused (`Guard` in part.ts): it would be a repeat, or its time has not come. */
export class RefusedStart extends Error {}

/** A start that may be refused: somebody has locked what decides it. */
export class UndecidedStart extends Error {}

export type JournalOptions = {
  head: Head;
  writer: Writer;
  /** Called after each commit, never before; `left`: children that no step awaits any longer. */
  published: (change: Change, left: readonly RunId[]) => void;
  steps?: JournalStep[];
  /** About what all of it takes in memory; known for a run in the database. */
  heldBytes?: number;
  /** The row of a run that is not in the database yet: it goes with the first commit. */
  start?: StartOfRow & { brought?: readonly Brought[] | undefined };
};

type ListeningRows = { listeners: ListenerRow[]; unlistened: UnlistenedRow[]; unheard: UnheardRow[] };

const STATE_FIELDS = ["context", "input", "deadline", "depth"] as const satisfies (keyof RunState)[];

export class Journal {
  readonly head: Head;
  readonly #writer: Writer;
  readonly #published: JournalOptions["published"];
  readonly #steps = new Map<string, JournalStep>();
  readonly #numbers: Numbers;
  readonly #open = new OpenSteps();
  readonly #weight: Weight;
  #committedStatus: RunStatus;
  #committedState: RunState;
  #start: JournalOptions["start"];
  #committed: Head | undefined;
  #firstWrite: Promise<void> | undefined;
  #dirty = new Set<JournalStep>();
  #attempts: AttemptRow[] = [];
  #newApprovals: ApprovalRow[] = [];
  #approvalChanges: ApprovalChange[] = [];
  /** Most runs ask no model. */
  #modelCalls: ModelCallRow[] | undefined;
  /** Few runs listen. */
  #listening: ListeningRows | undefined;
  #left: RunId[] = [];
  #hasOutcome = false;
  #woken = false;
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
      this.#open.note(step);
    }
    this.#numbers = new Numbers(options.steps ?? []);
    this.#weight = new Weight(options);
  }

  /** Whether the run's row is written, or about to be. */
  get isStarted(): boolean {
    return this.#start === undefined;
  }

  /** The run is `paused` in the database, or about to be. */
  get isPaused(): boolean {
    return this.#committedStatus === "paused";
  }

  /** Resolves with the first commit; makes it if nothing has asked for one yet. */
  async started(now: number): Promise<void> {
    await (this.#firstWrite ?? this.commit(now));
  }

  /** The run's own row as the last commit left it. */
  get committed(): Head {
    return this.#committed ?? this.head;
  }

  /** About what the run takes in memory: input, state, step rows, and what is kept for the next commit. */
  get heldBytes(): number {
    return this.#weight.heldBytes;
  }

  /** The bytes that all steps have received or made and that no row counts. */
  get carriedBytes(): number {
    return this.#weight.carriedBytes;
  }

  /** This run's step rows have reached the bytes that a process must be able to hold. */
  get isFull(): boolean {
    return this.#weight.isFull;
  }

  /** Enough has gathered, or a child that no step awaits any longer is to be cancelled. */
  get isDue(): boolean {
    return this.#weight.isDue || this.#left.length > 0;
  }

  /** An effect, a child run or a question to a person has ended, and no row says so yet. */
  get hasOutcome(): boolean {
    return this.#hasOutcome;
  }

  get steps(): Iterable<JournalStep> {
    return this.#steps.values();
  }

  step(key: string): JournalStep | undefined {
    return this.#steps.get(key);
  }

  /** How many steps the run may still have, if `wanted` below this one do not fit anyway: those that are there already are its own. */
  stepsLeft(key: string, wanted: number): number {
    const left = LIMITS.stepsPerRun - this.#steps.size;
    if (wanted <= left) return left;
    let own = 0;
    for (const one of this.#steps.keys()) if (one.startsWith(`${key}/`)) own++;
    return left + own;
  }

  /** A new step, or a new attempt of the same one when an enclosing `try` reaches it again. */
  open(
    key: string,
    { name, kind, reference }: Pick<ProgramTask, "name" | "kind" | "reference">,
    round: string,
    now: number,
  ): JournalStep {
    const before = this.#steps.get(key);
    if (before) {
      // A caught error ended the attempt, whatever came of `catch.do`. A pause before another try is no attempt.
      if (!isBetweenTries(before.state)) this.recordAttempt(before, before.state.caught ?? before.error, now);
      const { conversation } = before.state;
      const state = conversation ? { conversation } : {};
      Object.assign(before, { status: "running", round, state, error: null, startedAt: now, finishedAt: null });
      before.input = before.output = before.outputText = undefined;
      return this.#opened(before);
    }
    if (this.#steps.size >= LIMITS.stepsPerRun)
      throw WorkflowError.overLimit(`a run has at most ${LIMITS.stepsPerRun} steps`).at(reference);
    const parent = this.#steps.get(enclosing(key));
    const step: JournalStep = {
      number: this.#numbers.next(key, parent),
      parentNumber: parent?.number ?? null,
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
      response: null,
      startedAt: now,
      finishedAt: null,
      revision: 0,
      bytes: 0,
      heldBytes: 0,
      carriedBytes: 0,
      unsaved: undefined,
      outputText: undefined,
    };
    this.#steps.set(key, step);
    return this.#opened(step);
  }

  #opened(step: JournalStep): JournalStep {
    this.touch(step);
    return step;
  }

  /** Marks a step as changed, for the next commit. */
  touch(step: JournalStep): void {
    this.#dirty.add(step);
    this.#open.note(step);
  }

  /** Counts what a step has received or made, until its row does. */
  carry(step: JournalStep, heldBytes: number): void {
    this.#weight.carry(step, heldBytes);
  }

  /** `weight.text`: the output as JSON, if already made. */
  keep(step: JournalStep, output: Json, weight: Kept): void {
    step.output = output;
    step.outputText = weight.text;
    this.#weight.keep(step, weight);
  }

  close(step: JournalStep, status: StepStatus, now: number): void {
    if (step.state.awaits) this.#left.push(step.state.childId!);
    if (step.state.listening) this.#unlisten(step, step.state.listening, status);
    if (step.state.answer !== undefined) delete step.state.answer;
    step.unsaved = undefined;
    this.#hasOutcome ||= isOutside(step.state);
    step.status = status;
    step.finishedAt = now;
    this.touch(step);
  }

  /** Closes what is open below a step that is left early: withdraws its open approvals, cancels its children. */
  closeBelow(key: string, status: StepStatus, now: number): void {
    for (const step of this.#open.below(key)) {
      if (step.state.approvalId) this.changeApproval(step.state.approvalId, "withdrawn", now);
      this.close(step, status, now);
    }
  }

  /** Keeps an attempt that did not succeed; the step's row is always its newest. */
  recordAttempt(step: JournalStep, error: RunError | null, now: number): void {
    if (step.attempt >= LIMITS.attemptsPerStep) {
      throw WorkflowError.of("runtime", `a step has at most ${LIMITS.attemptsPerStep} attempts`);
    }
    const attempt = attemptRow(this.head, step, error, now);
    this.#attempts.push(attempt);
    this.#weight.keepAttempt(attempt);
    step.attempt++;
    step.response = null;
    this.touch(step);
  }

  openApproval(row: ApprovalRow): void {
    this.#newApprovals.push(row);
  }

  /** From the next commit on, events with these keys are heard. A filter's place is that of its key. */
  async listen(step: JournalStep, keys: readonly string[], now: number): Promise<void> {
    // One statement can't delete a row and write it again.
    if (this.#listening?.unlistened.some(({ step_number: number }) => number === step.number)) await this.commit(now);
    const { id: run_id, organizationId: organization_id, projectId: project_id, agentId: agent_id } = this.head;
    const of = { organization_id, run_id, step_number: step.number, project_id, agent_id };
    for (const [place, key] of keys.entries()) this.#heard.listeners.push({ ...of, place, key });
    this.touch(step);
  }

  /** The step has looked at this event. */
  unhear(step: JournalStep, event_id: EventId): void {
    const { id: run_id, organizationId: organization_id } = this.head;
    this.#heard.unheard.push({ organization_id, run_id, step_number: step.number, event_id });
  }

  #unlisten(step: JournalStep, { taken, ended }: Listening, status: StepStatus): void {
    const { id: run_id, organizationId: organization_id } = this.head;
    this.#heard.unlistened.push({ organization_id, run_id, step_number: step.number });
    // A run that retries this one goes on with what a step has taken that failed.
    if (status !== "completed") return;
    step.state.taken = [...taken, ...ended].map(({ id }) => id);
    delete step.state.listening;
  }

  get #heard(): ListeningRows {
    return (this.#listening ??= { listeners: [], unlistened: [], unheard: [] });
  }

  /** Written with the step. */
  countModelCall(step: JournalStep, row: ModelCallRow): void {
    (this.#modelCalls ??= []).push(row);
    this.touch(step);
  }

  changeApproval(id: ApprovalId, status: ApprovalStatus, now: number): void {
    const { id: runId, organizationId } = this.head;
    this.#approvalChanges.push({ run_id: runId, organization_id: organizationId, id, status, decided_at: now });
  }

  /**
   * Commits all changes; concurrent calls share one statement. Throws `LostRun` if the run was fenced, `RefusedStart` if
   * the start is a repeat, `UndecidedStart` if that is not known yet.
   */
  commit(now: number): Promise<void> {
    this.#next ??= this.#inFlight.then(() => {
      this.#next = undefined;
      return (this.#inFlight = this.#write(now, undefined));
    });
    return this.#next;
  }

  /** The last commit of this advance: releases the claim. Returns whether somebody woke the run since the claim. */
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
    const isMuch = release === undefined && this.carriedBytes > LIMITS.batchBytes;
    const texts = isMuch ? await this.#textsOfParts() : undefined;
    const left = this.#left;
    this.#left = [];
    const write = this.#take(now, release, texts);
    const head = { ...this.head };
    this.#check(await this.#writer.add(write));
    this.#committed = head;
    const approvals = [...write.approvals, ...write.approvalChanges].map(({ id }) => id);
    this.#published({ head, steps: write.steps, approvals }, left);
  }

  /** The steps' payloads may be 64 MB: their JSON is made in slices. */
  #textsOfParts(): Promise<Texts> {
    return inSlices(textsOf(this.#dirty));
  }

  #check(written: Written): void {
    if (written.kind === "lost") throw new LostRun();
    if (written.kind === "refused") throw new RefusedStart();
    if (written.kind === "locked") throw new UndecidedStart();
    // The head keeps the claim's number, so the release sees what was decided after the journal was read.
    if (written.wakeSeq !== this.head.wakeSeq) this.#woken = true;
  }

  #take(now: number, release: { wakeAt: number | null } | undefined, texts: Texts | undefined): Write {
    const { head } = this;
    let moved = false;
    let bytes = 0;
    let outputText: string | undefined;
    const rows: StepRow[] = [];
    for (const step of this.#dirty) {
      const isOpen = isStepOpen(step.status);
      moved ||= step.revision === 0 || !isOpen;
      step.revision = ++head.revision;
      const row = stepRow(head, step, texts);
      this.#weight.write(step, row);
      bytes += step.bytes;
      rows.push(row);
      if (head.status === "completed" && step.output === head.output) outputText = row.output ?? undefined;
      // This advance does not need it again.
      step.outputText = undefined;
      if (!isOpen) step.input = step.output = undefined;
    }
    head.revision++;
    head.currentStep = this.#currentStep();
    const payload = this.#payload(outputText);
    for (const approval of this.#newApprovals) bytes += weighApproval(approval);
    const write: Write = {
      runId: head.id,
      organizationId: head.organizationId,
      steps: rows,
      attempts: this.#attempts,
      approvals: this.#newApprovals,
      approvalChanges: this.#approvalChanges,
      bytes: bytes + this.#weight.attemptBytes + (payload.output?.length ?? 0) + (payload.state?.length ?? 0),
    };
    if (this.#start) {
      const { brought } = this.#start;
      write.start = startRow(head, payload, this.#start, this.#weight.writtenHeldBytes);
      if (brought) write.brought = brought;
      if (isFinal(head.status)) write.start.owner = null;
      if (release) Object.assign(write.start, { owner: null, wake_at: release.wakeAt });
      write.bytes += write.start.input.length;
      if (brought) for (const row of brought) write.bytes += row.bytes;
    } else write.update = this.#update(now, payload, release, moved);
    if (this.#modelCalls) write.modelCalls = this.#modelCalls;
    this.#modelCalls = undefined;
    if (this.#listening) Object.assign(write, this.#listening);
    this.#listening = undefined;
    this.#start = undefined;
    this.#committedStatus = head.status;
    this.#dirty = new Set();
    this.#hasOutcome = false;
    this.#attempts = [];
    this.#newApprovals = [];
    this.#approvalChanges = [];
    this.#weight.startCommit();
    return write;
  }

  /** `outputText`: the run's output as JSON, if a step's row has it. */
  #payload(outputText: string | undefined): Payload {
    const { head } = this;
    const { state } = head;
    // By identity: `$context` is replaced, never changed, and writing 1 MB of it as text at each commit costs 2 ms.
    const isChanged = STATE_FIELDS.some((name) => state[name] !== this.#committedState[name]);
    const text = isChanged ? JSON.stringify(state) : null;
    if (text !== null) {
      this.#committedState = { ...state };
      this.#weight.writeState(text);
    }
    return {
      output: head.status === "completed" ? (outputText ?? JSON.stringify(head.output)) : null,
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
      held_bytes: this.#weight.writtenHeldBytes,
    };
  }

  /** The lowest running number, the approval's when paused, the last one otherwise; null before the first step. */
  #currentStep(): number | null {
    const wanted = this.head.status === "paused" ? "paused" : "running";
    const lowest = isFinal(this.head.status) ? null : this.#open.lowest(wanted);
    return lowest ?? (this.#numbers.highest || null);
  }
}

/** Whether the step had an effect, started a run or asked a person: none of these may be repeated. */
const isOutside = (state: StepState): boolean =>
  "sent" in state || state.childId !== undefined || state.approvalId !== undefined;
