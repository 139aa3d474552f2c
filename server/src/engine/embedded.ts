/**
 * The engine within this process: wakes are calls, timers are the `runs_due` index with one timer for its head, and
 * after a crash it takes up every open run that the last executor held. It advances a run in a place in memory
 * (`fairness/places.ts`); a run that finds none stays in the table until its organization gets a free place in turn.
 */
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { Loop, type Round } from "../lib/loops/loop.ts";
import { dueByTurns, dueFromRow, firstDue, organizationsWithDue, type Due } from "./due-runs.ts";
import { createClaims, type Claims } from "./claims.ts";
import { Drives } from "./drives.ts";
import { Election, type Predecessor } from "./election.ts";
import type { Advance, Begun, Engine, Wake } from "./engine.ts";
import { Recovery } from "./recovery.ts";
import type { SqlEngineOptions } from "./sql-engine.ts";

/** The backstop: a sweep finds runs that are due but were not woken within this time. */
const SWEEP_MS = 5_000;
/** One look finds many waits that end one after the other. */
const LEAST_SWEEP_MS = 20;
/** This many due runs are taken as they come; when there are more, organizations take turns. */
const PAGE_ROWS = 1_000;
const HOUR_MS = 3_600_000;
/** After a look that failed. */
const RETRY_MS = 1_000;

export class EmbeddedEngine<Claimed> implements Engine<Claimed> {
  readonly #options: SqlEngineOptions<Claimed>;
  readonly #election: Election;
  readonly #closing = new AbortController();
  readonly #drives: Drives<Claimed>;
  readonly #recovery: Recovery;
  readonly #loop: Loop;
  readonly #claims: Claims<Claimed>;
  #advance: Advance<Claimed> | undefined;
  #executing = false;
  /** The earliest time at which a run may be due that no sweep has looked for yet. */
  #sweepAt = Infinity;
  #sweptAt = -Infinity;
  /** For runs that wait for a place. */
  #lookedAt = -Infinity;
  /** Organizations whose runs found no place since the last look began, or in it. */
  readonly #missed = new Set<OrganizationId>();
  #orphansAt = -Infinity;

  constructor(options: SqlEngineOptions<Claimed>) {
    this.#options = options;
    this.#claims = createClaims(options);
    this.#election = new Election({
      ...options,
      elected: (predecessor) => this.#elected(predecessor),
      lost: () => this.#lost(),
    });
    this.#drives = new Drives({
      ...options,
      advance: (call) => this.#advance!(call),
      claim: (run) => this.#claim(run),
      mayAdvance: () => this.#executing,
      waitsUntil: (time) => this.#arm(time),
      leftInTable: (organizationId) => this.#leaveInTable(organizationId),
    });
    this.#recovery = new Recovery({
      ...options,
      drives: this.#drives,
      begin: (run) => this.#beginHeld(run),
      suspect: (runId) => this.#election.suspect(runId),
      ended: () => this.#arm(options.clock.now()),
      survived: () => this.#election.survived(),
    });
    this.#loop = new Loop({
      ...options,
      name: "due-runs",
      everyMs: SWEEP_MS,
      retryMs: RETRY_MS,
      look: (round) => this.#lookOrSweep(round),
      failed: "looking for due runs failed; trying again",
    });
    options.places.freed = () => this.#lookSoon();
  }

  get executing(): boolean {
    return this.#executing && !this.#recovery.isCareful;
  }

  get loops(): readonly Loop[] {
    return [this.#loop, this.#recovery.loop, this.#election.loop];
  }

  async start(advance: Advance<Claimed>): Promise<void> {
    this.#advance = advance;
    this.#loop.start(Infinity);
    await this.#election.start();
  }

  wake(runId: RunId, { organizationId, at }: Wake): void {
    if (!this.executing) return;
    if (at && at.getTime() > this.#options.clock.now()) this.#arm(at.getTime());
    else this.#begin({ id: runId, organizationId });
  }

  begin({ id, organizationId }: Due): Begun | undefined {
    const { instanceId, places } = this.#options;
    if (!this.executing || this.#closing.signal.aborted || !places.tryTake(organizationId)) return undefined;
    return this.#drives.beginUnwritten({ id, organizationId }, instanceId);
  }

  interrupt(runId: RunId): void {
    this.#drives.interrupt(runId);
  }

  #elected(predecessor: Predecessor): void {
    this.#executing = true;
    this.#recovery.begin(predecessor);
    this.#arm(this.#options.clock.now());
  }

  #lost(): void {
    this.#executing = false;
    this.#recovery.end();
    this.#sweepAt = Infinity;
    this.#drives.interruptAll("another process executes now");
  }

  async #claim(run: Due): Promise<Claimed | undefined> {
    const claimed = await this.#claims.add(run);
    const { clock, delaySeconds } = this.#options;
    if (claimed !== undefined && run.at !== undefined) delaySeconds?.observe((clock.now() - run.at) / 1_000);
    // It may yield and be claimed again.
    run.at = undefined;
    return claimed;
  }

  /** Begins at once if there is a place, else when its organization's turn comes. */
  #begin(run: Due): void {
    if (this.#drives.wake(run.id)) return;
    if (this.#options.places.tryTake(run.organizationId)) this.#drives.begin(run);
    else this.#leaveInTable(run.organizationId);
  }

  /** Begins even without a free place: the run was in memory when the previous process ended. */
  #beginHeld(run: Due): void {
    if (this.#drives.has(run.id)) return;
    this.#options.places.take(run.organizationId);
    this.#drives.begin(run);
  }

  #leaveInTable(organizationId: OrganizationId): void {
    this.#missed.add(organizationId);
    this.#options.places.wait(organizationId);
    this.#lookSoon();
  }

  /** Tells that a run may be due at this time. */
  #arm(wanted: number): void {
    const at = Math.max(wanted, this.#soon(this.#sweptAt));
    if (!this.#executing || at >= this.#sweepAt) return;
    this.#sweepAt = at;
    this.#loop.wake(at);
  }

  /** Looks for runs that wait for a place when one is free; the next look comes a moment later at the earliest. */
  #lookSoon(): void {
    this.#loop.wake(this.#soon(this.#lookedAt));
  }

  #soon(last: number): number {
    const now = this.#options.clock.now();
    return Math.max(now, Math.min(last, now) + LEAST_SWEEP_MS);
  }

  async #lookOrSweep(round: Round): Promise<number> {
    if (!this.#executing) return Infinity;
    const now = this.#options.clock.now();
    if (now >= this.#sweepAt || Math.abs(now - this.#sweptAt) >= SWEEP_MS) await this.#sweep(round, now);
    else await this.#look(round);
    return this.#sweepAt;
  }

  /** Begins due runs. */
  async #sweep(round: Round, now: number): Promise<void> {
    this.#sweptAt = now;
    this.#sweepAt = Infinity;
    let next = now + RETRY_MS;
    try {
      if (!this.#recovery.isCareful) await this.#beginDue(round, now);
      if (round.goesOn() && !this.#recovery.isCareful) await this.#beginOrphans(round, now);
      if (!round.goesOn()) return;
      const [row] = await this.#options.database.query(
        "select min(wake_at) as at from runs where wake_at > $1 and wake_at < $2",
        [new Date(now), new Date(now + HOUR_MS)],
      );
      next = (row?.["at"] as Date | null | undefined)?.getTime() ?? Infinity;
    } finally {
      this.#arm(next);
    }
  }

  async #beginDue(round: Round, now: number): Promise<void> {
    const { database, places } = this.#options;
    if (!places.someWait) {
      const due = await firstDue(database, now, PAGE_ROWS);
      if (!round.goesOn()) return;
      if (due.length < PAGE_ROWS) {
        for (const run of due) this.#begin(run);
        return;
      }
    }
    const organizations = await organizationsWithDue(database, now);
    if (!round.goesOn()) return;
    for (const organizationId of organizations) places.wait(organizationId);
    await this.#look(round);
  }

  /** Begins due runs of waiting organizations that have room, in turn. */
  async #look(round: Round): Promise<void> {
    const { database, clock, places } = this.#options;
    const turns = places.turns();
    if (!this.executing || turns.length === 0) return;
    const most = Math.ceil(PAGE_ROWS / turns.length);
    const wanted = turns.map(({ organizationId, room }) => ({ organizationId, most: Math.min(room, most) }));
    this.#missed.clear();
    const due = await dueByTurns(database, clock.now(), wanted);
    if (!round.goesOn()) return;
    this.#lookedAt = clock.now();
    if (!this.executing) return;
    for (const run of due) {
      if (this.#drives.wake(run.id)) continue;
      if (places.tryTakeWaiting(run.organizationId)) this.#drives.begin(run);
      // Others have taken the room.
      else this.#missed.add(run.organizationId);
    }
    const found = Map.groupBy(due, ({ organizationId }) => organizationId);
    for (const { organizationId, most } of wanted) {
      const isAll = (found.get(organizationId)?.length ?? 0) < most;
      if (isAll && !this.#missed.has(organizationId)) places.leave(organizationId);
    }
    if (places.turns().length > 0) this.#lookSoon();
  }

  /**
   * Runs that are held but not advanced: an answer of the database was lost, or a process that had been stopped came
   * back and started one more before it noticed.
   */
  async #beginOrphans(round: Round, now: number): Promise<void> {
    if (Math.abs(now - this.#orphansAt) < SWEEP_MS) return;
    const { isOver } = this.#recovery;
    const rows = await this.#options.database.query(
      `select id, organization_id from runs where ${isOver ? "owner is not null" : "owner = $1"}`,
      isOver ? [] : [this.#options.instanceId],
    );
    if (!round.goesOn()) return;
    this.#orphansAt = now;
    for (const row of rows) this.#beginHeld(dueFromRow(row));
  }

  /** Waits for the calls of `advance` under way; the one who ends the process aborts them first or lets them end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    // A look under way may begin one more.
    const looks = [this.#recovery, this.#loop].map((one) => one[Symbol.asyncDispose]());
    await Promise.all([...looks, this.#drives.close()]);
    await this.#drives.close();
    await this.#election[Symbol.asyncDispose]();
    this.#executing = false;
  }

  interruptAll(): void {
    this.#drives.interruptAll("the process ends");
  }

  get advancing(): number {
    return this.#drives.size;
  }
}
