/**
 * One advance of one run: what its tasks share while they run in memory. Tasks wait here; when the last live branch
 * waits, the run is committed and unloaded (`Suspended`), and the next advance walks to the same place by the journal.
 */
import type { Program } from "../definition/program.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import type { Outcome } from "../engine/engine.ts";
import { until } from "../lib/clock.ts";
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Charge } from "../fairness/fair-pool.ts";
import { Branches, type Rest, type Signal, type Wait } from "./branches.ts";
import { AT_ONCE } from "./run/due.ts";
import type { Shared } from "./shared.ts";
import { LostRun, type Journal } from "./journal/journal.ts";
import { heldBytesOf, neededBytes, tooLarge } from "./memory.ts";
import { asRunError, type JournalStep } from "./journal/loaded-run.ts";
import type { Left, Scope } from "./scope.ts";
import { workflowOf } from "./variables.ts";

/** Thrown through all tasks when the run is unloaded. */
export class Suspended extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super("suspended");
    this.outcome = outcome;
  }
}

/** After this long, a run between two steps goes behind the others, if there are any. */
const TURN_MS = 30_000;
/**
 * Even while others wait for the place, giving it back and claiming again costs more than a short wait in memory: 2,000
 * runs with thirty waits of 100 ms took twice the CPU. The sum of both is the longest that another organization's run
 * waits for the place.
 */
const SHORT_WAIT_MS = 200;
const SHORT_TURN_MS = 500;
/** When all of it waits, a run of 100 steps stays in memory for 2 s, one of 10,000 for 200 s; a smaller one doesn't. */
const REST_BYTES_PER_MS = 50;
const LEAST_REST_BYTES = 100_000;
/** A branch without memory looks again after this long, while other branches of its run continue. */
const MEMORY_PAUSE_MS = 500;

export class Execution {
  readonly journal: Journal;
  readonly program: Program;
  /** Shared with the other runs in memory. */
  readonly shared: Shared;
  readonly signal: AbortSignal;
  /** The memory that this run may hold. */
  readonly #charge: Charge;
  /** If the run needs nothing from outside, its end is written together with its start. */
  readonly #startAndEndTogether: boolean;
  readonly #since: number;
  #workflow: Json | undefined;
  /** A call's answer is in its row and no longer in memory: the run is unloaded as soon as possible. */
  #isLeaving = false;
  /** The whole run's. */
  readonly deadline = undefined;
  /** Live and waiting branches. */
  readonly branches: Branches;

  constructor(options: {
    journal: Journal;
    program: Program;
    shared: Shared;
    signal: AbortSignal;
    charge: Charge;
    startAndEndTogether?: boolean;
  }) {
    this.journal = options.journal;
    this.program = options.program;
    this.shared = options.shared;
    this.signal = options.signal;
    this.#charge = options.charge;
    this.#startAndEndTogether = options.startAndEndTogether ?? false;
    this.#since = options.shared.clock.now();
    this.branches = new Branches(options.shared.clock, {
      stays: (rest) => this.#stays(rest),
      commit: ({ person }) => {
        this.journal.head.status = person ? "paused" : "running";
        return this.commit();
      },
      unload: ({ wakeAt, person }) => this.#unload(wakeAt, person),
      resumed: () => (this.journal.head.status = "running"),
    });
  }

  now(): number {
    return this.shared.clock.now();
  }

  /** `$workflow`. */
  get workflow(): Json {
    return (this.#workflow ??= workflowOf(this.program, this.journal.head));
  }

  commit(): Promise<void> {
    return this.journal.commit(this.now());
  }

  get #isContended(): boolean {
    return this.shared.places.contended(this.journal.head.organizationId);
  }

  /**
   * Whether there is memory for all that the run holds and `step` carries. If there never is for both, one step at a time
   * may exceed it.
   */
  hasRoom(step: JournalStep): boolean {
    if (this.#isLeaving) return false;
    const most = this.shared.memory.most;
    const held = this.journal.heldBytes + this.journal.carriedBytes;
    const needed = neededBytes(held);
    if (needed <= most) return this.#charge.tryHold(needed);
    return neededBytes(held - step.carriedBytes) <= most && this.#charge.tryHold(most);
  }

  /** Counts what the step has received, until its row does. False: there is no memory for it. */
  holds(step: JournalStep, heldBytes: number): boolean {
    this.journal.carry(step, heldBytes);
    return this.hasRoom(step);
  }

  /** Counts a value that the step's next row will hold as text. Undefined: there is memory for it, as there usually is. */
  holdRow(step: JournalStep, value: Json): Promise<void> | undefined {
    return this.holds(step, heldBytesOf(value)) ? undefined : this.untilRoom(step);
  }

  /** Waits for memory for what the step carries, usually by unloading the run. */
  async untilRoom(step: JournalStep): Promise<void> {
    while (!this.hasRoom(step)) {
      if (step.unsaved !== undefined) this.#save(step, step.unsaved);
      await this.#pauseForMemory(this);
    }
  }

  /**
   * Takes what a call returned. Undefined: the step carries it. Else there is no memory to continue with it: it is being
   * written to the step's row, from which the next load takes it, and the caller releases it.
   */
  holdAnswer(step: JournalStep, answer: Json): Promise<void> | undefined {
    if (this.holds(step, heldBytesOf(answer))) {
      step.unsaved = answer;
      return undefined;
    }
    this.#save(step, answer);
    // From now on only closing touches the step.
    return this.commit().then(() => void (step.state.answer = ""));
  }

  #save(step: JournalStep, answer: Json): void {
    step.state.answer = JSON.stringify(answer);
    step.state.sent = true;
    step.unsaved = undefined;
    this.journal.touch(step);
    this.#isLeaving = true;
  }

  /** For a step whose answer is in its row: the others reach their next step, then the run is unloaded. */
  async untilUnloaded(): Promise<never> {
    for (;;) await this.#pauseForMemory(this);
  }

  /** Waits for this organization's turn on the thread. Undefined: the run may have the thread at once. */
  turn(): Promise<void> | undefined {
    return this.shared.rounds.next(this.journal.head.organizationId);
  }

  /**
   * Between two steps: lets others have the thread, and the place once this run has had its turn; ends what has timed
   * out; writes pending rows. `reference`: the next step. Undefined: the run may continue at once, as it usually may.
   */
  breathe(scope: Scope, reference: string): Promise<void> | undefined {
    const turn = this.turn();
    if (turn) return turn.then(() => this.#beforeStep(scope, reference));
    const { journal } = this;
    const isHeldUp =
      journal.isFull ||
      journal.isDue ||
      this.#isLeaving ||
      neededBytes(journal.heldBytes) > this.#charge.amount ||
      this.#shouldLeave;
    return isHeldUp || scope.signal.aborted ? this.#beforeStep(scope, reference) : undefined;
  }

  get #shouldLeave(): boolean {
    return this.shared.draining || (this.now() - this.#since > TURN_MS && this.#isContended);
  }

  async #beforeStep(scope: Scope, reference: string): Promise<void> {
    scope.signal.throwIfAborted();
    if (this.journal.isFull) {
      throw WorkflowError.overLimit(`a run keeps at most ${LIMITS.runBytes} bytes of its steps`).at(reference);
    }
    // A hundred branches may have waited for one commit, each about to produce more: they go on a few at a time.
    while (this.journal.isDue) await this.commit();
    const needed = neededBytes(this.journal.heldBytes);
    if (needed > this.#charge.amount || this.#isLeaving) await this.#holdMore(needed, reference, scope);
    if (this.#shouldLeave && this.journal.isStarted && this.branches.isAlone) await this.#unload(AT_ONCE, false);
  }

  /** Continues when there is memory; the branch waits meanwhile, and when all branches do the run is unloaded. */
  async #holdMore(needed: number, reference: string, scope: Scope): Promise<void> {
    while (this.#isLeaving || !this.#charge.tryHold(needed)) await this.#pauseForMemory(scope, reference);
  }

  async #pauseForMemory(scope: Left, reference?: string): Promise<void> {
    const { heldBytes, carriedBytes, head } = this.journal;
    const most = this.shared.memory.most;
    if (neededBytes(heldBytes) > most) {
      const error = tooLarge(heldBytes);
      throw reference === undefined ? error : error.at(reference);
    }
    // Twice as much as it had: a run that grows is read again a few times, not at each step.
    this.shared.needs.set(head.id, Math.min(2 * neededBytes(heldBytes + carriedBytes), most));
    if (this.branches.isAlone) await this.#unload(AT_ONCE, false);
    await this.#wait({ until: this.now() + MEMORY_PAUSE_MS, person: false, forMemory: true }, scope);
  }

  /**
   * Returns at `time`. During a short wait the run stays in memory unless others need the place; during a very short one
   * early in a turn, even then.
   */
  async waitUntil(time: number, scope: Scope): Promise<void> {
    const now = this.now();
    const left = time - now;
    if (left <= 0) return;
    const hasTurn = left <= SHORT_WAIT_MS && Math.abs(now - this.#since) < SHORT_TURN_MS;
    if (left > LIMITS.waitInMemoryMs || this.shared.draining || (this.#isContended && !hasTurn)) {
      return this.#wait({ until: time, person: false }, scope);
    }
    await this.commit();
    await until(this.shared.clock, time, scope.signal);
  }

  /**
   * Returns when what the task waits for may have come, or the time is over; the task then looks. `person`: a person is to
   * answer, and the run is `paused` when every other branch waits too.
   */
  waitForSignal(signal: Signal, { until, person }: Pick<Wait, "until" | "person">, scope: Scope): Promise<void> {
    return this.#wait({ signal, until, person }, scope);
  }

  /** Returns when an event may have come that one of the run's branches listens to. */
  waitForEvent(signal: Signal, until: number | null, scope: Scope): Promise<void> {
    return this.#wait({ signal, until, person: false, forEvent: true }, scope);
  }

  async #wait(wait: Wait, scope: Left): Promise<void> {
    // Others continue, so this branch must notice what it waits for meanwhile.
    if (!this.branches.isAlone) await this.commit();
    await this.branches.wait(wait, scope);
    if (this.journal.isPaused) await this.commit();
  }

  /**
   * A large run stays in memory while all of it waits, as long as nobody needs the room and the time saves reading it
   * again. So 10,000 waits in a row read as much as a few dozen, not 10,000 times 10,000 steps.
   */
  #stays({ wakeAt, isForSignal, isForMemory, since }: Rest): boolean {
    const { shared, journal } = this;
    const mostMs = Math.min(LIMITS.restSeconds * 1_000, journal.heldBytes / REST_BYTES_PER_MS);
    if (isForMemory || journal.heldBytes < LEAST_REST_BYTES || shared.draining) return false;
    if (this.#isContended || shared.memory.isWanted) return false;
    const now = this.now();
    return (isForSignal ? now - since : wakeAt! - now) < mostMs;
  }

  /** Commits, releases the claim and frees the memory until `wakeAt`. */
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
      journal.closeBelow("", "cancelled", now);
      head.error = asRunError(ending.error);
      head.status = "failed";
    } else {
      head.output = ending.output;
      head.status = "completed";
      head.progress = 100;
    }
    head.finishedAt = now;
    await this.commit();
    this.shared.surroundings.onEnd(head);
    return { kind: "done" };
  }

  /** The outcome of an advance through which this was thrown. */
  async outcomeOf(reason: unknown): Promise<Outcome> {
    if (reason instanceof Suspended) return reason.outcome;
    if (reason instanceof LostRun || this.signal.aborted) return { kind: "lost" };
    if (reason instanceof WorkflowError) return this.finish({ error: reason }).catch((late) => this.outcomeOf(late));
    throw reason;
  }
}
