/**
 * The engine within this process: wakes are calls, timers are the `runs_due` index with one timer for its head, and
 * after a crash every open run that the last executor held is taken up again. A run is advanced in a place in memory
 * (`lib/places.ts`); one that finds none stays in the table until a place of its organization's turn is free.
 */
import { until, type Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { InstanceId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import type { Places } from "../lib/places.ts";
import type { Database } from "../storage/database.ts";
import { dueByTurns, dueFromRow, firstDue, organizationsWithDue, type Due } from "./due-runs.ts";
import { Election, type Predecessor } from "./election.ts";
import { isOutage, type Advance, type Engine, type Outcome, type Wake } from "./engine.ts";

export type EmbeddedOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  instanceId: InstanceId;
  /** Shared with the starts that begin their runs themselves. */
  places: Places;
};

/** The backstop: what is due and was not woken is found within this time. */
const SWEEP_MS = 5_000;
/** Many waits that end one after the other are found by one look. */
const LEAST_SWEEP_MS = 20;
/** So many due runs are taken as they come; of more than that organizations take turns. */
const PAGE_ROWS = 1_000;
/** What the last executor held, taken up at once after a clean stop: all that it had places for. */
const MOST_HELD = 10_000;
const HOUR_MS = 3_600_000;
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 30_000;
/** After an unclean stop runs are taken up a few at a time: four, then as many as before after each pause. */
const FIRST_RUNS = 4;
const FIRST_PAUSE_MS = 100;
/** A process that lives so long after it has taken up all of them has not died in a row. */
const CAREFUL_TIME_MS = 60_000;
type Advancing = { controller: AbortController; again: boolean; ended: Promise<void> };

export class EmbeddedEngine implements Engine {
  readonly #options: EmbeddedOptions;
  readonly #election: Election;
  readonly #advancing = new Map<RunId, Advancing>();
  readonly #closing = new AbortController();
  #advance: Advance | undefined;
  #executing = false;
  /** Aborts when this process executes no longer. */
  #term = new AbortController();
  /** What the last executor held is taken up, so that whatever is held and not advanced is an orphan. */
  #recovered = false;
  #recovering: Promise<void> = Promise.resolve();
  /** The process ended twice in short time: the suspects are taken up, the first one alone, and nothing else is begun. */
  #careful = false;
  #timer: { at: number; timer: Disposable } | undefined;
  #sweeping: Promise<void> | undefined;
  #sweptAt = -Infinity;
  /** The next look for runs that wait for a place. */
  #lookTimer: NodeJS.Timeout | undefined;
  /** By the monotonic clock. */
  #lookedAt = -Infinity;
  /** Organizations whose runs found no place since the last look began, or in it. */
  readonly #missed = new Set<OrganizationId>();
  #orphansAt = -Infinity;
  #carefulTime: Disposable | undefined;

  constructor(options: EmbeddedOptions) {
    this.#options = options;
    this.#election = new Election({
      ...options,
      elected: (predecessor) => this.#elected(predecessor),
      lost: () => this.#lost(),
    });
    options.places.freed = () => this.#lookSoon();
  }

  get executing(): boolean {
    return this.#executing && !this.#careful;
  }

  async start(advance: Advance): Promise<void> {
    this.#advance = advance;
    await this.#election.start();
  }

  wake(runId: RunId, { organizationId, at, hasPlace = false }: Wake): void {
    const { clock, places } = this.#options;
    if (hasPlace) {
      if (this.executing && !this.#advancing.has(runId)) return this.#drive(runId, organizationId);
      places.release(organizationId);
    }
    if (!this.executing) return;
    if (at && at.getTime() > clock.now()) this.#arm(at.getTime());
    else this.#begin(runId, organizationId);
  }

  interrupt(runId: RunId): void {
    this.#advancing.get(runId)?.controller.abort(new Error("interrupted"));
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
    for (const { controller } of this.#advancing.values()) controller.abort(new Error("another process executes now"));
  }

  /** At once when there is a place for it, else when its organization's turn comes. */
  #begin(runId: RunId, organizationId: OrganizationId): void {
    const current = this.#advancing.get(runId);
    if (current) current.again = true;
    else if (this.#options.places.tryTake(organizationId)) this.#drive(runId, organizationId);
    else this.#leaveInTable(organizationId);
  }

  /** Whether there is a place or not: it was in memory when the process before this one ended. */
  #beginHeld({ id, organizationId }: Due): void {
    if (this.#advancing.has(id)) return;
    this.#options.places.take(organizationId);
    this.#drive(id, organizationId);
  }

  #leaveInTable(organizationId: OrganizationId): void {
    this.#missed.add(organizationId);
    this.#options.places.wait(organizationId);
    this.#lookSoon();
  }

  /** In a place that is taken. */
  #drive(runId: RunId, organizationId: OrganizationId): void {
    const entry: Advancing = { controller: new AbortController(), again: false, ended: Promise.resolve() };
    this.#advancing.set(runId, entry);
    entry.ended = this.#advanceInPlace(runId, organizationId, entry);
  }

  /** Advances the run until it waits or ends, again after a throw; then gives its place back. */
  async #advanceInPlace(runId: RunId, organizationId: OrganizationId, entry: Advancing): Promise<void> {
    const { signal } = entry.controller;
    // In a row; `throws` of them are no outage.
    let failures = 0;
    let throws = 0;
    try {
      while (this.#executing && !this.#closing.signal.aborted && !signal.aborted) {
        entry.again = false;
        try {
          const outcome = await this.#advance!(runId, signal, organizationId, throws);
          failures = throws = 0;
          if (!this.#goesOn(outcome, entry, organizationId)) return;
        } catch (error) {
          if (signal.aborted) continue;
          if (failures === 0 || (throws === 0 && !isOutage(error))) this.#logFailure(runId, error);
          if (!isOutage(error)) throws++;
          await this.#pause(Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures++), signal);
        }
      }
    } finally {
      // In the same breath as the last look at `again`: a wake between the two would be lost until the next sweep.
      this.#advancing.delete(runId);
      this.#options.places.release(organizationId);
    }
  }

  /** The first of a row; the stack of what is nobody's fault but ours. */
  #logFailure(runId: RunId, error: unknown): void {
    const stack = isOutage(error) || !(error instanceof Error) ? {} : { stack: error.stack };
    this.#options.log.error(
      { run: runId, reason: messageOf(error), ...stack },
      "a run could not be advanced; trying again",
    );
  }

  #goesOn(outcome: Outcome, entry: Advancing, organizationId: OrganizationId): boolean {
    if (outcome.kind === "waiting" && outcome.until) this.#arm(outcome.until.getTime());
    const again = outcome.kind === "yield" || (outcome.kind !== "done" && entry.again);
    if (!again || !this.#options.places.contended(organizationId)) return again;
    // It is due in the table: behind those that wait for its place.
    this.#leaveInTable(organizationId);
    return false;
  }

  /** Shorter when the engine closes or `signal` aborts. */
  async #pause(ms: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const closing = this.#closing.signal;
    await until(clock, clock.now() + ms, signal ? AbortSignal.any([signal, closing]) : closing).catch(() => {});
  }

  /** One timer, for the earliest time at which a run may be due. */
  #arm(wanted: number): void {
    const { clock } = this.#options;
    const at = Math.max(wanted, Math.min(this.#sweptAt, clock.now()) + LEAST_SWEEP_MS);
    if (!this.#executing || this.#closing.signal.aborted || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.timer[Symbol.dispose]();
    const timer = clock.at(at, () => {
      this.#timer = undefined;
      // One that is under way may have looked before the run that this timer is for was committed.
      this.#sweeping = (this.#sweeping ?? Promise.resolve()).then(() => this.#sweep());
    });
    this.#timer = { at, timer };
  }

  /** Begins what is due, and arms the timer for what is due next. */
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
      next = clock.now() + FIRST_BACKOFF_MS * 10;
    }
    this.#arm(next);
  }

  async #beginDue(now: number): Promise<void> {
    const { database, places } = this.#options;
    if (!places.someWait) {
      const due = await firstDue(database, now, PAGE_ROWS);
      if (due.length < PAGE_ROWS) {
        for (const { id, organizationId } of due) this.#begin(id, organizationId);
        return;
      }
    }
    for (const organizationId of await organizationsWithDue(database, now)) places.wait(organizationId);
    await this.#look();
  }

  /** What waits for a place is looked for when there is one, the next look a moment later at the earliest. */
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
    this.#arm(clock.now() + FIRST_BACKOFF_MS * 10);
  };

  /** Begins due runs of the organizations that wait and have room, by turns. */
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
    for (const { id, organizationId } of due) {
      const current = this.#advancing.get(id);
      if (current) current.again = true;
      else if (places.tryTakeWaiting(organizationId)) this.#drive(id, organizationId);
      // Others have what there was room for.
      else this.#missed.add(organizationId);
    }
    const found = Map.groupBy(due, ({ organizationId }) => organizationId);
    for (const { organizationId, most } of wanted) {
      const isAll = (found.get(organizationId)?.length ?? 0) < most;
      if (isAll && !this.#missed.has(organizationId)) places.leave(organizationId);
    }
    if (places.turns().length > 0) this.#lookSoon();
  }

  /**
   * Runs that are held but not advanced: an answer of the database was lost on the way, or a process that was stopped
   * came back and started one more before it noticed.
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
        await this.#pause(FIRST_BACKOFF_MS * 10, term);
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

  /** Goes on when none of them is advanced any more, or after the pause. */
  async #takeUp(rows: Due[], pause: number, term: AbortSignal): Promise<void> {
    for (const row of rows) this.#beginHeld(row);
    const over = new AbortController();
    const ended = Promise.all(rows.map(({ id }) => this.#advancing.get(id)?.ended ?? Promise.resolve()));
    await Promise.race([ended, this.#pause(pause, AbortSignal.any([over.signal, term]))]);
    over.abort();
  }

  /**
   * The prime suspects first: what was blamed before, then what the last executor held. The one that ended it was among
   * those it had taken up last, the later half: in the opposite order this process comes to it within the first half, so
   * each unclean stop halves the suspects until the one is alone.
   */
  async #heldByOthers(most: number, { instanceId, uncleanStops }: Predecessor): Promise<Due[]> {
    const rows = await this.#options.database.query(
      `select id, organization_id from runs
        where owner is not null and owner <> $1 and not (id = any ($2::uuid[]))
        order by blamed desc, owner = $3 desc, owner desc, id ${uncleanStops % 2 === 0 ? "desc" : "asc"} limit ${most}`,
      [this.#options.instanceId, [...this.#advancing.keys()], instanceId],
    );
    return rows.map(dueFromRow);
  }

  /** Only a run that is advanced alone can be blamed. */
  #suspect(rows: Due[]): Promise<void> {
    return this.#election.suspect(rows.length === 1 && this.#advancing.size === 0 ? rows[0]!.id : undefined);
  }

  #surviveCarefulTime(): void {
    const { clock } = this.#options;
    this.#carefulTime = clock.at(clock.now() + CAREFUL_TIME_MS, () => {
      void this.#election.survived().catch(() => {});
    });
  }

  /** Waits for the calls of `advance` that are under way; who ends the process aborts them first or lets them end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#lookTimer);
    this.#timer?.timer[Symbol.dispose]();
    this.#carefulTime?.[Symbol.dispose]();
    await Promise.all([this.#recovering, this.#sweeping]);
    // A start that was under way may have begun one more meanwhile.
    while (this.#advancing.size > 0) await Promise.all(Array.from(this.#advancing.values(), ({ ended }) => ended));
    await this.#election[Symbol.asyncDispose]();
    this.#executing = false;
  }

  /** Aborts all that is under way; the rows stay as committed and the next start goes on from them. */
  interruptAll(): void {
    for (const { controller } of this.#advancing.values()) controller.abort(new Error("the process ends"));
  }

  get advancing(): number {
    return this.#advancing.size;
  }
}
