/**
 * The engine within this process: wakes are calls, timers are the `runs_due` index with one timer for its head, and
 * after a crash it takes up every open run that the last executor held. It advances a run in a place in memory
 * (`lib/sharing/places.ts`); a run that finds none stays in the table until its organization gets a free place in turn.
 */
import { until } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { InstanceId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Row } from "../storage/database.ts";
import { dueByTurns, dueFromRow, firstDue, organizationsWithDue, type Due } from "./due-runs.ts";
import { createClaims, type Claims } from "./claims.ts";
import { Drives } from "./drives.ts";
import { Election, type Predecessor } from "./election.ts";
import type { Advance, Engine, EngineOptions, Outcome, Wake } from "./engine.ts";

/** The backstop: a sweep finds runs that are due but were not woken within this time. */
const SWEEP_MS = 5_000;
/** One look finds many waits that end one after the other. */
const LEAST_SWEEP_MS = 20;
/** This many due runs are taken as they come; when there are more, organizations take turns. */
const PAGE_ROWS = 1_000;
/** How many runs of the last executor are taken up at once after a clean stop: all that it had places for. */
const MOST_HELD = 10_000;
const HOUR_MS = 3_600_000;
/** After a look that failed. */
const RETRY_MS = 1_000;
/** After an unclean stop runs are taken up a few at a time: four, then as many as before after each pause. */
const FIRST_RUNS = 4;
const FIRST_PAUSE_MS = 100;
/** A process that lives this long after taking them all up breaks the row of unclean stops. */
const CAREFUL_TIME_MS = 60_000;

export class EmbeddedEngine implements Engine {
  readonly #options: EngineOptions;
  readonly #election: Election;
  readonly #closing = new AbortController();
  readonly #drives: Drives;
  #advance: Advance | undefined;
  #claims: Claims | undefined;
  #executing = false;
  /** Aborts when this process no longer executes. */
  #term = new AbortController();
  /** The last executor's runs are taken up, so a run that is held but not advanced is an orphan. */
  #recovered = false;
  #recovering: Promise<void> = Promise.resolve();
  /** The process ended twice in a short time: takes up the suspects, the first one alone, and begins nothing else. */
  #careful = false;
  #timer: { at: number; timer: Disposable } | undefined;
  #sweeping: Promise<void> | undefined;
  #sweptAt = -Infinity;
  /** The next look for runs that wait for a place. */
  #lookTimer: NodeJS.Timeout | undefined;
  /** On the monotonic clock. */
  #lookedAt = -Infinity;
  /** Organizations whose runs found no place since the last look began, or in it. */
  readonly #missed = new Set<OrganizationId>();
  #orphansAt = -Infinity;
  #carefulTime: Disposable | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
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
    options.places.freed = () => this.#lookSoon();
  }

  get executing(): boolean {
    return this.#executing && !this.#careful;
  }

  async start(advance: Advance, claimed: readonly string[]): Promise<void> {
    this.#advance = advance;
    this.#claims = createClaims({ ...this.#options, columns: claimed });
    await this.#election.start();
  }

  wake(runId: RunId, { organizationId, at }: Wake): void {
    if (!this.executing) return;
    if (at && at.getTime() > this.#options.clock.now()) this.#arm(at.getTime());
    else this.#begin({ id: runId, organizationId });
  }

  begin({ id, organizationId }: Due, first: (owner: InstanceId, signal: AbortSignal) => Promise<Outcome>): boolean {
    const { instanceId, places } = this.#options;
    if (!this.executing || this.#closing.signal.aborted || !places.tryTake(organizationId)) return false;
    this.#drives.begin({ id, organizationId }, (signal) => first(instanceId, signal));
    return true;
  }

  interrupt(runId: RunId): void {
    this.#drives.interrupt(runId);
  }

  #elected(predecessor: Predecessor): void {
    this.#executing = true;
    this.#careful = predecessor.uncleanStops > 1;
    const { signal } = (this.#term = new AbortController());
    this.#arm(this.#options.clock.now());
    this.#recovering = this.#recovering.then(() => this.#recover(predecessor, signal));
  }

  #lost(): void {
    this.#executing = false;
    this.#recovered = false;
    this.#term.abort();
    this.#timer?.timer[Symbol.dispose]();
    this.#timer = undefined;
    this.#drives.interruptAll("another process executes now");
  }

  async #claim(run: Due): Promise<Row | undefined> {
    const row = await this.#claims!.add(run);
    const { clock, delaySeconds } = this.#options;
    if (row && run.at !== undefined) delaySeconds?.observe((clock.now() - run.at) / 1_000);
    // It may yield and be claimed again.
    run.at = undefined;
    return row;
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

  /** Shorter when the engine closes or `signal` aborts. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    await until(clock, clock.now() + ms, ended).catch(() => {});
  }

  /** One timer, for the earliest time at which a run may be due. */
  #arm(wanted: number): void {
    const { clock } = this.#options;
    const at = Math.max(wanted, Math.min(this.#sweptAt, clock.now()) + LEAST_SWEEP_MS);
    if (!this.#executing || this.#closing.signal.aborted || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.timer[Symbol.dispose]();
    const timer = clock.at(at, () => {
      this.#timer = undefined;
      // A look under way may have begun before the run of this timer was committed.
      this.#sweeping = (this.#sweeping ?? Promise.resolve()).then(() => this.#sweep());
    });
    this.#timer = { at, timer };
  }

  /** Begins due runs, and arms the timer for the next one. */
  async #sweep(): Promise<void> {
    if (!this.#executing || this.#closing.signal.aborted) return;
    const { clock, log } = this.#options;
    const now = (this.#sweptAt = clock.now());
    let next = now + SWEEP_MS;
    try {
      if (!this.#careful) await this.#beginDue(now);
      if (!this.#careful) await this.#beginOrphans(now);
      const [row] = await this.#options.database.query(
        "select min(wake_at) as at from runs where wake_at > $1 and wake_at < $2",
        [new Date(now), new Date(now + HOUR_MS)],
      );
      if (row?.["at"]) next = Math.min(next, (row["at"] as Date).getTime());
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "looking for due runs failed; trying again");
      next = clock.now() + RETRY_MS;
    }
    this.#arm(next);
  }

  async #beginDue(now: number): Promise<void> {
    const { database, places } = this.#options;
    if (!places.someWait) {
      const due = await firstDue(database, now, PAGE_ROWS);
      if (due.length < PAGE_ROWS) {
        for (const run of due) this.#begin(run);
        return;
      }
    }
    for (const organizationId of await organizationsWithDue(database, now)) places.wait(organizationId);
    await this.#look();
  }

  /** Looks for runs that wait for a place when one is free; the next look comes a moment later at the earliest. */
  #lookSoon(): void {
    if (this.#lookTimer || this.#closing.signal.aborted) return;
    const left = LEAST_SWEEP_MS - (performance.now() - this.#lookedAt);
    this.#lookTimer = setTimeout(
      () => {
        this.#lookTimer = undefined;
        this.#sweeping = (this.#sweeping ?? Promise.resolve()).then(() => this.#look().catch(this.#lookFailed));
      },
      Math.max(0, left),
    );
  }

  readonly #lookFailed = (error: unknown): void => {
    const { clock, log } = this.#options;
    log.warn({ reason: messageOf(error) }, "looking for due runs failed; trying again");
    this.#arm(clock.now() + RETRY_MS);
  };

  /** Begins due runs of waiting organizations that have room, in turn. */
  async #look(): Promise<void> {
    const { database, clock, places } = this.#options;
    const turns = places.turns();
    if (!this.executing || this.#closing.signal.aborted || turns.length === 0) return;
    const most = Math.ceil(PAGE_ROWS / turns.length);
    const wanted = turns.map(({ organizationId, room }) => ({ organizationId, most: Math.min(room, most) }));
    this.#missed.clear();
    const due = await dueByTurns(database, clock.now(), wanted);
    this.#lookedAt = performance.now();
    if (!this.executing || this.#closing.signal.aborted) return;
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
  async #beginOrphans(now: number): Promise<void> {
    if (Math.abs(now - this.#orphansAt) < SWEEP_MS) return;
    const rows = await this.#options.database.query(
      `select id, organization_id from runs where ${this.#recovered ? "owner is not null" : "owner = $1"}`,
      this.#recovered ? [] : [this.#options.instanceId],
    );
    this.#orphansAt = now;
    for (const row of rows) this.#beginHeld(dueFromRow(row));
  }

  /** Takes up what other processes held when they ended. */
  async #recover(predecessor: Predecessor, term: AbortSignal): Promise<void> {
    const { uncleanStops } = predecessor;
    const pause = Math.min(CAREFUL_TIME_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, uncleanStops - 1));
    let most = uncleanStops === 0 ? MOST_HELD : uncleanStops === 1 ? FIRST_RUNS : 1;
    for (let begun = 0; this.#goesOnRecovering(term); most = Math.max(most, begun)) {
      try {
        const rows = await this.#heldByOthers(Math.min(most, MOST_HELD), predecessor);
        if (this.#careful) await this.#suspect(rows);
        if (rows.length === 0) this.#endRecovery(uncleanStops, term);
        else await this.#takeUp(rows, pause, term);
        begun += rows.length;
      } catch (error) {
        this.#options.log.warn({ reason: messageOf(error) }, "taking up the open runs failed; trying again");
        await this.#pause(RETRY_MS, term);
      }
    }
  }

  #goesOnRecovering(term: AbortSignal): boolean {
    return !term.aborted && !this.#closing.signal.aborted && !this.#recovered;
  }

  #endRecovery(uncleanStops: number, term: AbortSignal): void {
    if (term.aborted) return;
    if (uncleanStops > 0) this.#surviveCarefulTime();
    this.#recovered = true;
    this.#careful = false;
    this.#arm(this.#options.clock.now());
  }

  /** Returns when none of them is advanced any longer, or after the pause. */
  async #takeUp(rows: Due[], pause: number, term: AbortSignal): Promise<void> {
    for (const row of rows) this.#beginHeld(row);
    const over = new AbortController();
    const ended = Promise.all(rows.map(({ id }) => this.#drives.ended(id)));
    await Promise.race([ended, this.#pause(pause, AbortSignal.any([over.signal, term]))]);
    over.abort();
  }

  /**
   * The prime suspects first: runs blamed before, then those that the last executor held. The culprit was among those
   * that it took up last, the later half. In the opposite order this process reaches it within the first half, so each
   * unclean stop halves the suspects until one is left.
   */
  async #heldByOthers(most: number, { instanceId, uncleanStops }: Predecessor): Promise<Due[]> {
    const rows = await this.#options.database.query(
      `select id, organization_id from runs
        where owner is not null and owner <> $1 and not (id = any ($2::uuid[]))
        order by blamed desc, owner = $3 desc, owner desc, id ${uncleanStops % 2 === 0 ? "desc" : "asc"} limit ${most}`,
      [this.#options.instanceId, this.#drives.ids, instanceId],
    );
    return rows.map(dueFromRow);
  }

  /** Only a run that is advanced alone can be blamed. */
  #suspect(rows: Due[]): Promise<void> {
    return this.#election.suspect(rows.length === 1 && this.#drives.size === 0 ? rows[0]!.id : undefined);
  }

  #surviveCarefulTime(): void {
    const { clock } = this.#options;
    this.#carefulTime = clock.at(clock.now() + CAREFUL_TIME_MS, () => {
      void this.#election.survived().catch(() => {});
    });
  }

  /** Waits for the calls of `advance` under way; whoever ends the process aborts them first or lets them end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#lookTimer);
    this.#timer?.timer[Symbol.dispose]();
    this.#carefulTime?.[Symbol.dispose]();
    // A look under way may begin one more.
    await Promise.all([this.#recovering, this.#sweeping, this.#drives.close()]);
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
