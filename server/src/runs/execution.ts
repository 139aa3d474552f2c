/**
 * One advance of one run: what its tasks share while they run in memory. Tasks wait here; when the last live branch
 * waits, the run is committed and unloaded (`Suspended`), and the next advance walks to the same place by the journal.
 */
import type { Expressions, Variables } from "../definition/expressions/expressions.ts";
import type { Template } from "../definition/expressions/template.ts";
import type { Plan } from "../definition/plan.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import type { RunStatus } from "../storage/schema.ts";
import type { Outcome } from "../engine/engine.ts";
import { until, type Clock } from "../lib/clock.ts";
import type { ApprovalId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import type { JsonText } from "../lib/json-text.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Charge } from "../lib/run-memory.ts";
import type { Calls } from "../tasks/task.ts";
import { Branches, type Rest, type Wait } from "./branches.ts";
import { AT_ONCE } from "./due.ts";
import { LostRun, type Journal } from "./journal.ts";
import { heldBytesOf, neededBytes, tooLarge } from "./memory.ts";
import { asRunError, type Head, type JournalStep } from "./loaded-run.ts";
import type { Run, WholeApproval } from "./run.ts";
import type { Left, Scope } from "./scope.ts";
import type { Signals } from "./signals.ts";
import type { Turns } from "./turns.ts";

export type ExecutionParts = {
  expressions: Expressions;
  calls: Calls;
  clock: Clock;
  /** 0 to 1, for jitter. */
  random: () => number;
  /** Others wait for the place that a run of this organization has: it gives it back at the next chance. */
  contended: (organizationId: OrganizationId) => boolean;
  turns: Turns;
  /** There was no memory for so many bytes of this run, which is unloaded for it: they are waited for before it is claimed. */
  turnedAway: (id: RunId, bytes: number) => void;
  /** Other runs wait for memory. */
  memoryWanted: () => boolean;
  /** What this process can ever hold of one run. */
  mostHeldBytes: number;
  /** The process is ending: no new step. */
  draining: () => boolean;
  signals: Signals;
  readApproval: (organizationId: OrganizationId, id: ApprovalId) => Promise<WholeApproval | undefined>;
  /** Starts a child. Throws WorkflowError. */
  startChild: (request: ChildRequest, signal: AbortSignal) => Promise<RunStatus>;
  readRun: (organizationId: OrganizationId, id: RunId) => Promise<Child | undefined>;
  /** What was too large to come with it. */
  readEnd: (organizationId: OrganizationId, id: RunId, what: "output" | "error") => Promise<JsonText | undefined>;
  /** Called after the commit of the run's end. */
  ended: (journal: Journal) => void;
};

/** What a step needs of the run that it started. */
export type Child = Pick<Run, "id" | "status" | "output" | "error">;

/** A run that a step starts. */
export type ChildRequest = {
  /** Committed with the step before: a repeat finds the child that is there. */
  id: RunId;
  parent: Head;
  /** Handles of the project and the agent. */
  namespace: string;
  name: string;
  version?: string;
  input: Json;
  awaits: boolean;
};

/** Thrown through all tasks when the run is unloaded. */
export class Suspended extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super("suspended");
    this.outcome = outcome;
  }
}

/** After this long between steps a run goes behind the others, if there are any. */
const TURN_MS = 30_000;
/**
 * Others wait for the place, but to give it back and claim it again costs more than to sit out a short wait: 2,000 runs of
 * thirty waits of 100 ms took twice the CPU. Both together are the longest that another organization's run waits for it.
 */
const SHORT_WAIT_MS = 200;
const SHORT_TURN_MS = 500;
/** A run of 100 steps stays in memory for two seconds when all of it waits, one of 10,000 for 200; a smaller one doesn't. */
const REST_BYTES_PER_MS = 50;
const LEAST_REST_BYTES = 100_000;
/** A branch that there is no memory for looks again after so long, while others of its run go on. */
const MEMORY_PAUSE_MS = 500;

/** A text longer than there can be, or a value too deep to go into: the data's doing. */
function dataFailed(error: unknown): never {
  throw error instanceof RangeError ? WorkflowError.of("expression", error.message) : error;
}

export class Execution {
  readonly journal: Journal;
  readonly plan: Plan;
  readonly parts: ExecutionParts;
  readonly signal: AbortSignal;
  /** What this run may hold. */
  readonly #charge: Charge;
  /** The end of a run that needs nothing from outside is written together with its start. */
  readonly #startAndEndTogether: boolean;
  readonly #since: number;
  /** An answer is in the database alone: the run is unloaded as soon as it can be. */
  #isLeaving = false;
  /** Of the run as a whole. */
  readonly deadline = undefined;
  /** Live and waiting branches. */
  readonly branches: Branches;

  constructor(options: {
    journal: Journal;
    plan: Plan;
    parts: ExecutionParts;
    signal: AbortSignal;
    charge: Charge;
    startAndEndTogether?: boolean;
  }) {
    this.journal = options.journal;
    this.plan = options.plan;
    this.parts = options.parts;
    this.signal = options.signal;
    this.#charge = options.charge;
    this.#startAndEndTogether = options.startAndEndTogether ?? false;
    this.#since = options.parts.clock.now();
    this.branches = new Branches(options.parts.clock, {
      stays: (rest) => this.#stays(rest),
      commit: ({ person }) => {
        this.journal.head.status = person ? "paused" : "running";
        return this.commit();
      },
      unload: ({ wakeAt, person }) => this.#unload(wakeAt, person),
      goesOn: () => (this.journal.head.status = "running"),
    });
  }

  now(): number {
    return this.parts.clock.now();
  }

  commit(): Promise<void> {
    return this.journal.commit(this.now());
  }

  get #isContended(): boolean {
    return this.parts.contended(this.journal.head.organizationId);
  }

  /**
   * Whether there is memory for all that the run holds and `step` carries. Where there never is for both, one step at a
   * time may go over it.
   */
  #hasRoom(step: JournalStep): boolean {
    if (this.#isLeaving) return false;
    const most = this.parts.mostHeldBytes;
    const held = this.journal.heldBytes + this.journal.carriedBytes;
    const needed = neededBytes(held);
    if (needed <= most) return this.#charge.tryHold(needed);
    return neededBytes(held - step.carriedBytes) <= most && this.#charge.tryHold(most);
  }

  /** Counts what the step has got, until its row does. False: there is no memory for it. */
  holds(step: JournalStep, heldBytes: number): boolean {
    this.journal.carry(step, heldBytes);
    return this.#hasRoom(step);
  }

  /** Counts a value that the step's next row will have as text. */
  async holdRow(step: JournalStep, value: Json): Promise<void> {
    if (!this.holds(step, heldBytesOf(value))) await this.untilRoom(step);
  }

  /** Waits for memory for what the step carries; most often the run is unloaded for it. */
  async untilRoom(step: JournalStep): Promise<void> {
    while (!this.#hasRoom(step)) {
      if (step.unsaved !== undefined) this.#save(step, step.unsaved);
      await this.#pauseForMemory(this);
    }
  }

  /**
   * What a call has brought. Undefined: the step carries it. Else there is no memory to go on with it: it is written into
   * the step's row, from where it is taken when the run is read again, and the caller lets go of it.
   */
  holdAnswer(step: JournalStep, answer: Json): Promise<void> | undefined {
    if (this.holds(step, heldBytesOf(answer))) {
      step.unsaved = answer;
      return undefined;
    }
    this.#save(step, answer);
    // Nothing touches the step any more but what closes it.
    return this.commit().then(() => void (step.state.answer = ""));
  }

  #save(step: JournalStep, answer: Json): void {
    step.state.answer = JSON.stringify(answer);
    step.state.sent = true;
    step.unsaved = undefined;
    this.journal.touch(step);
    this.#isLeaving = true;
  }

  /** For a step whose answer is written down: the others come to their next step, then the run is unloaded. */
  async untilUnloaded(): Promise<never> {
    for (;;) await this.#pauseForMemory(this);
  }

  /** `step`: whose result it is, where that can be large. It is made when there is memory, and counted. */
  evaluate(template: Template, data: Json, variables: () => Variables, step?: JournalStep): Json | Promise<Json> {
    if (!step) return this.#evaluate(template, data, variables);
    if (!this.#hasRoom(step)) return this.#evaluateLater(template, data, variables, step);
    let made = 0;
    const value = this.#evaluate(template, data, variables, (heldBytes) => {
      made += heldBytes;
      this.journal.carry(step, heldBytes);
    });
    if (!(value instanceof Promise)) return value;
    return value.then((late) => {
      // When others' results came first it is let go of, and made again.
      return this.#hasRoom(step) ? late : this.#evaluateLater(template, data, variables, step, made);
    });
  }

  async #evaluateLater(
    template: Template,
    data: Json,
    variables: () => Variables,
    step: JournalStep,
    dropped = 0,
  ): Promise<Json> {
    await this.untilRoom(step);
    this.journal.carry(step, -dropped);
    return this.evaluate(template, data, variables, step);
  }

  #evaluate(
    template: Template,
    data: Json,
    variables: () => Variables,
    made?: (heldBytes: number) => void,
  ): Json | Promise<Json> {
    const used = template.variables.size === 0 ? {} : variables();
    try {
      const value = this.parts.expressions.evaluate(template, data, used, this.journal.head.organizationId, made);
      return value instanceof Promise ? value.catch(dataFailed) : value;
    } catch (error) {
      return dataFailed(error);
    }
  }

  /** Undefined: the run may have the thread at once. */
  turn(): Promise<void> | undefined {
    return this.parts.turns.next(this.journal.head.organizationId);
  }

  /**
   * Between two steps: lets others have the thread, and the place when this run has had its turn; ends what a timeout has
   * ended; writes down what has gathered. `reference`: the step that comes next. Undefined: it may go on at once, as most
   * may.
   */
  breathe(scope: Scope, reference: string): Promise<void> | undefined {
    const turn = this.turn();
    if (turn) return turn.then(() => this.#beforeStep(scope, reference));
    const { journal } = this;
    const isHeldUp =
      journal.isFull ||
      journal.isDue ||
      this.#isLeaving ||
      neededBytes(journal.heldBytes) > this.#charge.bytes ||
      this.#shouldLeave;
    return isHeldUp || scope.signal.aborted ? this.#beforeStep(scope, reference) : undefined;
  }

  get #shouldLeave(): boolean {
    return this.parts.draining() || (this.now() - this.#since > TURN_MS && this.#isContended);
  }

  async #beforeStep(scope: Scope, reference: string): Promise<void> {
    scope.signal.throwIfAborted();
    if (this.journal.isFull) {
      throw WorkflowError.overLimit(`a run keeps at most ${LIMITS.runBytes} bytes of its steps`).at(reference);
    }
    if (this.journal.isDue) await this.commit();
    const needed = neededBytes(this.journal.heldBytes);
    if (needed > this.#charge.bytes || this.#isLeaving) await this.#holdMore(needed, reference, scope);
    if (this.#shouldLeave && this.journal.isStarted && this.branches.isAlone) await this.#unload(AT_ONCE, false);
  }

  /** Goes on when there is memory for it; a branch waits meanwhile, and when all do the run is unloaded. */
  async #holdMore(needed: number, reference: string, scope: Scope): Promise<void> {
    while (this.#isLeaving || !this.#charge.tryHold(needed)) await this.#pauseForMemory(scope, reference);
  }

  async #pauseForMemory(scope: Left, reference?: string): Promise<void> {
    const { heldBytes, carriedBytes, head } = this.journal;
    const most = this.parts.mostHeldBytes;
    if (neededBytes(heldBytes) > most) {
      const error = tooLarge(heldBytes);
      throw reference === undefined ? error : error.at(reference);
    }
    this.parts.turnedAway(head.id, Math.min(neededBytes(heldBytes + carriedBytes), most));
    if (this.branches.isAlone) await this.#unload(AT_ONCE, false);
    await this.#wait({ until: this.now() + MEMORY_PAUSE_MS, person: false, forMemory: true }, scope);
  }

  /**
   * Returns at `time`. A short wait is sat out in memory unless others need the place; a very short one early in a turn
   * also then.
   */
  async waitUntil(time: number, scope: Scope): Promise<void> {
    const now = this.now();
    const left = time - now;
    if (left <= 0) return;
    const hasTurn = left <= SHORT_WAIT_MS && Math.abs(now - this.#since) < SHORT_TURN_MS;
    if (left > LIMITS.waitInMemoryMs || this.parts.draining() || (this.#isContended && !hasTurn)) {
      return this.#wait({ until: time, person: false }, scope);
    }
    await this.commit();
    await until(this.parts.clock, time, scope.signal);
  }

  /** Waits for a decision, at most until `time`: the run is `paused` when every other branch waits too. */
  waitForPerson(signal: ApprovalId, time: number | null, scope: Scope): Promise<void> {
    return this.#wait({ signal, until: time, person: true }, scope);
  }

  /** Waits for a child's end; returns when it may have come. */
  waitForChild(signal: RunId, scope: Scope): Promise<void> {
    return this.#wait({ signal, until: null, person: false }, scope);
  }

  async #wait(wait: Wait, scope: Left): Promise<void> {
    // Others go on: what this branch waits for must be seen meanwhile.
    if (!this.branches.isAlone) await this.commit();
    await this.branches.wait(wait, scope);
    if (this.journal.isPaused) await this.commit();
  }

  /**
   * A large run stays in memory while all of it waits, as long as nobody needs the room: what its next advance would read
   * again is paid by the time between. So 10,000 waits in a row read what a few dozen read, not 10,000 times 10,000 steps.
   */
  #stays({ wakeAt, isForSignal, isForMemory, since }: Rest): boolean {
    const { parts, journal } = this;
    const mostMs = Math.min(LIMITS.restSeconds * 1_000, journal.heldBytes / REST_BYTES_PER_MS);
    if (isForMemory || journal.heldBytes < LEAST_REST_BYTES || parts.draining()) return false;
    if (this.#isContended || parts.memoryWanted()) return false;
    const now = this.now();
    return (isForSignal ? now - since : wakeAt! - now) < mostMs;
  }

  /** Commits, gives the claim back and frees the memory until `wakeAt`. */
  async #unload(wakeAt: number | null, person: boolean): Promise<never> {
    const now = this.now();
    this.journal.head.status = person ? "paused" : "running";
    const woken = await this.journal.release(now, wakeAt);
    if (woken || (wakeAt !== null && wakeAt <= now)) throw new Suspended({ kind: "yield" });
    throw new Suspended({ kind: "waiting", ...(wakeAt === null ? {} : { until: new Date(wakeAt) }) });
  }

  /** Ends the run. */
  async finish(ending: { output: Json } | { error: WorkflowError }): Promise<Outcome> {
    const { journal } = this;
    if ((!journal.isStarted && !this.#startAndEndTogether) || journal.isPaused) await this.commit();
    const now = this.now();
    const { head } = journal;
    if ("error" in ending) {
      const failed = [...journal.steps].findLast((step) => step.error === ending.error.fields);
      journal.closeBelow("", "cancelled", now);
      head.error = asRunError(ending.error, failed?.number ?? null);
      head.status = "failed";
    } else {
      head.output = ending.output;
      head.status = "completed";
      head.progress = 100;
    }
    head.finishedAt = now;
    await this.commit();
    this.parts.ended(journal);
    return { kind: "done" };
  }

  /** What an advance answers to what was thrown through it. */
  async outcomeOf(reason: unknown): Promise<Outcome> {
    if (reason instanceof Suspended) return reason.outcome;
    if (reason instanceof LostRun || this.signal.aborted) return { kind: "lost" };
    if (reason instanceof WorkflowError) return this.finish({ error: reason }).catch((late) => this.outcomeOf(late));
    throw reason;
  }
}
