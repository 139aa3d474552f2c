/**
 * Wakes when the first trigger of all is due, so that those that are not cost nothing. Every process of a database has one: a
 * trigger that is due is taken by one of them for a while, and the firing's uniqueness decides should two fire it all the
 * same. Organizations take turns, and none has more than its share of what is fired at once: one with 50,000 triggers due at an
 * instant, or whose firings take long, delays no other.
 */
import { Slots } from "../../fairness/slots.ts";
import { until, type Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { NO_ID, type OrganizationId, type TriggerId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import { Loop, type Round } from "../../lib/loops/loop.ts";
import type { Notices } from "../../realtime/notices.ts";
import { Batch } from "../../storage/batch.ts";
import type { Database } from "../../storage/database.ts";
import { organizationsToWake, setNextDue, takeDue, type NextDue } from "./due-store.ts";
import type { Trigger } from "../store/trigger.ts";

/** After this another process may take the trigger: longer than a firing takes on a busy machine. */
const LEASE_MS = 30_000;
/** When what is due is locked, or was fired and is locked now; then for so long. It is due again when its lease is over. */
const HELD_MS = 50;
const MAX_HELD_MS = 10_000;
/** After a failure. */
const AGAIN_MS = 1_000;
/** Looked at all the same, should a notice have been lost; a command that writes triggers beside the server sends none. */
const LOOK_MS = 5_000;
/** Changes within this time are looked at together. */
const GATHER_MS = 20;

type Options = { database: Database; clock: Clock; log: Log; notices: Pick<Notices, "onMissed"> };
/** `again`: it was due again before its end was noticed. */
type Firing = { due: number; done: Promise<void>; again?: Trigger };
/** Fires a trigger that is due, and says when it is next. */
type FireDue = (trigger: Trigger) => Promise<Omit<NextDue, "organization_id" | "id" | "due_at">>;

export class DueClock implements AsyncDisposable {
  readonly #options: Options;
  readonly #stack = new AsyncDisposableStack();
  readonly #closing = new AbortController();
  readonly #next: Batch<NextDue, boolean>;
  readonly loop: Loop;
  readonly #firing = new Map<TriggerId, Firing>();
  readonly #slots = new Slots(LIMITS.schedulesFiring, LIMITS.schedulesFiringOwn / LIMITS.schedulesFiring);
  /** Something is due that found no slot. */
  #isFull = false;
  /** The organization that had the last turn. */
  #after: OrganizationId = NO_ID as OrganizationId;
  #fire: FireDue | undefined;
  #mayFire: () => boolean = () => true;

  constructor(options: Options) {
    this.#options = options;
    this.loop = new Loop({
      ...options,
      name: "schedules",
      everyMs: LOOK_MS,
      retryMs: AGAIN_MS,
      look: (round) => this.#fireAll(round),
      failed: "looking for due triggers failed; trying again",
    });
    this.#next = new Batch<NextDue, boolean>({
      id: ({ id }) => id,
      organizationId: (one) => one.organization_id,
      bytes: () => 1,
      write: async (rows) => {
        const locked = await setNextDue(options.database, rows);
        return rows.map(({ id }) => !locked.has(id));
      },
    });
  }

  /** `mayFire`: is asked before anything is taken. */
  start(fire: FireDue, mayFire = (): boolean => true): void {
    this.#fire = fire;
    this.#mayFire = mayFire;
    this.#stack.use(this.#options.notices.onMissed(() => this.look()));
    this.loop.start();
  }

  /** A trigger was made or changed, here or in another process: it may be due before what the clock waits for. */
  look(): void {
    this.loop.wake(this.#options.clock.now() + GATHER_MS);
  }

  /** Begins to fire what is due, as far as there are slots. Returns when to look again. */
  async #fireAll(round: Round): Promise<number> {
    const { database, clock } = this.#options;
    for (;;) {
      const now = clock.now();
      if (!this.#mayFire()) return now + AGAIN_MS;
      const { due, next = Infinity } = await organizationsToWake(database, now);
      if (!round.goesOn()) return Infinity;
      const turns = this.#turnsOf(due);
      this.#isFull = turns.length < due.length;
      // A firing that leaves a slot looks again.
      if (turns.length === 0) return next;
      const taken = await takeDue(database, { now, until: now + LEASE_MS }, turns);
      const goesOn = round.goesOn();
      // Triggers taken by a replaced look are due again when their lease is over. At a stop it is still fired.
      if (!goesOn && !this.#closing.signal.aborted) return Infinity;
      for (const trigger of taken) this.#begin(trigger);
      if (!goesOn) return Infinity;
      // Another process has them locked at the moment.
      if (taken.length === 0) return clock.now() + HELD_MS;
    }
  }

  /** How many of each organization may begin, while there are slots; those after the last turn first. */
  #turnsOf(due: OrganizationId[]): { organizationId: OrganizationId; most: number }[] {
    const { free } = this.#slots;
    const later = due.findIndex((id) => id > this.#after);
    const inOrder = later < 0 ? due : [...due.slice(later), ...due.slice(0, later)];
    const mayBegin = inOrder.filter((id) => this.#slots.leftOf(id) > 0).slice(0, free);
    this.#after = mayBegin.at(-1) ?? this.#after;
    const share = Math.floor(free / mayBegin.length);
    return mayBegin.map((organizationId) => ({
      organizationId,
      most: Math.min(share, this.#slots.leftOf(organizationId)),
    }));
  }

  #begin(trigger: Trigger): void {
    const { organizationId, id } = trigger;
    const due = trigger.nextDueAt!.getTime();
    const present = this.#firing.get(id);
    if (present) {
      // At the same instant it takes longer than it was taken for: that is prolonged.
      if (present.due !== due) present.again = trigger;
      return;
    }
    const end = (): void => {
      this.#firing.delete(id);
      if (one.again && !this.#closing.signal.aborted) this.#begin(one.again);
      if (this.#isFull) this.loop.wake();
    };
    const done = this.#slots.run(organizationId, () => this.#fireAndSet(trigger)).finally(end);
    const one: Firing = { due, done };
    this.#firing.set(id, one);
  }

  /** Never rejects: it is due again when its time as taken is over. */
  async #fireAndSet(trigger: Trigger): Promise<void> {
    const next = await this.#fireOne(trigger);
    const { clock } = this.#options;
    const { signal } = this.#closing;
    try {
      for (let heldMs = 0; !(await this.#next.add(next)) && heldMs < MAX_HELD_MS && !signal.aborted; heldMs += HELD_MS)
        await until(clock, clock.now() + HELD_MS, signal).catch(() => {});
    } catch (error) {
      const { log } = this.#options;
      log.warn(
        { trigger: trigger.id, reason: messageOf(error) },
        "a trigger's next due time could not be saved; trying again",
      );
      return;
    }
    if (next.wakes_at !== null) this.loop.wake(next.wakes_at);
  }

  async #fireOne(trigger: Trigger): Promise<NextDue> {
    const due = trigger.nextDueAt!.getTime();
    const one = { organization_id: trigger.organizationId, id: trigger.id, due_at: due };
    try {
      return { ...one, ...(await this.#fire!(trigger)) };
    } catch (error) {
      const { clock, log } = this.#options;
      log.warn({ trigger: trigger.id, reason: messageOf(error) }, "a due trigger was not fired; trying again");
      return { ...one, next_due_at: due, wakes_at: clock.now() + AGAIN_MS };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#stack.disposeAsync();
    await this.loop[Symbol.asyncDispose]();
    await Promise.all(Array.from(this.#firing.values(), ({ done }) => done));
  }
}
