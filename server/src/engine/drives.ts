/**
 * The runs that a process advances, each in a place in memory. Calls `advance` until the run waits or ends, and retries
 * after a throw with growing delays. The same under every engine; it does not decide who may claim a run.
 */
import { until, type Clock } from "../lib/clock.ts";
import { messageOf, Refusal } from "../lib/errors.ts";
import type { InstanceId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Log } from "../lib/log/log.ts";
import type { Places } from "../fairness/places.ts";
import { isUnavailable } from "../storage/pg-errors.ts";
import type { Due } from "./due-runs.ts";
import type { Advance, Begun, Outcome } from "./engine.ts";

type DrivesOptions<Claimed> = {
  clock: Clock;
  log: Log;
  places: Places;
  advance: Advance<Claimed>;
  claim(run: Due): Promise<Claimed | undefined>;
  /** Whether this process may advance runs now. */
  mayAdvance(): boolean;
  /** A run waits for a time. */
  waitsUntil(time: number): void;
  /** A run could continue, but others wait for its place: it is due in the table. */
  leftInTable(organizationId: OrganizationId): void;
};

const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 30_000;

type Drive = { controller: AbortController; again: boolean; ended: Promise<void> };

const isOutage = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof Refusal && error.code === "UNAVAILABLE");

export class Drives<Claimed> {
  readonly #options: DrivesOptions<Claimed>;
  readonly #drives = new Map<RunId, Drive>();
  readonly #closing = new AbortController();

  constructor(options: DrivesOptions<Claimed>) {
    this.#options = options;
  }

  get size(): number {
    return this.#drives.size;
  }

  get ids(): RunId[] {
    return [...this.#drives.keys()];
  }

  has(id: RunId): boolean {
    return this.#drives.has(id);
  }

  /** Resolves when the run is no longer advanced here. */
  ended(id: RunId): Promise<void> {
    return this.#drives.get(id)?.ended ?? Promise.resolve();
  }

  /** Runs in a taken place and gives it back at the end. */
  begin(run: Due): void {
    const drive = this.#add(run);
    drive.ended = this.#advance(run, drive);
  }

  /** As `begin`, for a run that its starter advances before it is written. */
  beginUnwritten(run: Due, owner: InstanceId): Begun {
    const drive = this.#add(run);
    const { promise: first, resolve: advances } = Promise.withResolvers<Outcome>();
    drive.ended = this.#advance(run, drive, first);
    return { owner, signal: drive.controller.signal, advances };
  }

  #add({ id }: Due): Drive {
    const drive: Drive = { controller: new AbortController(), again: false, ended: Promise.resolve() };
    this.#drives.set(id, drive);
    return drive;
  }

  /** Looks at a run again when it waits. False: it is not advanced here. */
  wake(id: RunId): boolean {
    const drive = this.#drives.get(id);
    if (drive) drive.again = true;
    return drive !== undefined;
  }

  interrupt(id: RunId): void {
    this.#drives.get(id)?.controller.abort(new Error("interrupted"));
  }

  interruptAll(why: string): void {
    for (const { controller } of this.#drives.values()) controller.abort(new Error(why));
  }

  /** Begins nothing new; resolves when the calls under way have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    while (this.#drives.size > 0) await Promise.all(Array.from(this.#drives.values(), ({ ended }) => ended));
  }

  async #advance(run: Due, drive: Drive, first?: Promise<Outcome>): Promise<void> {
    const { id: runId, organizationId } = run;
    const { signal } = drive.controller;
    const { advance, claim, mayAdvance, places } = this.#options;
    // In a row; `throws` counts those that are not an outage.
    let failures = 0;
    let throws = 0;
    try {
      while (mayAdvance() && !this.#closing.signal.aborted && !signal.aborted) {
        drive.again = false;
        try {
          const outcome = await (first ?? advance({ runId, organizationId, signal, throws, claim: () => claim(run) }));
          failures = throws = 0;
          if (!this.#advancesAgain(outcome, drive, organizationId)) return;
        } catch (error) {
          if (signal.aborted) return;
          if (failures === 0 || (throws === 0 && !isOutage(error))) this.#logFailure(runId, error);
          if (!isOutage(error)) throws++;
          await this.#pause(Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures++), signal);
        }
        first = undefined;
      }
    } finally {
      // In the same tick as the last look at `again`: a wake in between would be lost until the next sweep.
      this.#drives.delete(runId);
      places.release(organizationId);
    }
  }

  #advancesAgain(outcome: Outcome, drive: Drive, organizationId: OrganizationId): boolean {
    const { places, waitsUntil, leftInTable } = this.#options;
    if (outcome.kind === "waiting" && outcome.until) waitsUntil(outcome.until.getTime());
    const again = outcome.kind === "yield" || (outcome.kind !== "done" && drive.again);
    if (!again || !places.contended(organizationId)) return again;
    leftInTable(organizationId);
    return false;
  }

  /** Logs the first in a row, with the stack if the fault is ours. */
  #logFailure(runId: RunId, error: unknown): void {
    const stack = isOutage(error) || !(error instanceof Error) ? {} : { stack: error.stack };
    const reason = messageOf(error);
    this.#options.log.error({ run: runId, reason, ...stack }, "a run could not be advanced; trying again");
  }

  /** Shorter when the engine closes or the run is interrupted. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    await until(clock, clock.now() + ms, ended).catch(() => {});
  }
}
