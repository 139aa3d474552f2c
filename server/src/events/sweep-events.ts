/**
 * Goes on with events whose triggers are still to be fired: what a crash left, what failed, and what found no place in memory. So
 * many are under way that one with thousands of triggers delays no other, and organizations share that room: one may have as
 * many as stay free beside it, so the next one's first event always finds room.
 */
import { messageOf } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Loop, type Round } from "../lib/loops/loop.ts";
import { leaseFrom, releaseEvents, takeEvents, type ToFire } from "./events-to-fire.ts";
import type { Events } from "./events.ts";
import { fireEvent } from "./fire-event.ts";
import type { ReactingNow } from "./reactions.ts";

const LOOK_EVERY_MS = 5_000;
/** The number taken from the table at a time for each organization, which may exceed its share by that many. */
const TAKEN_OF_EACH = 4;

/** At the start, when one has been fired, when asked to, and every 5 s. */
export function sweepEvents(events: Events): { loop: Loop } & AsyncDisposable {
  const { database, clock, log, intake } = events;
  const underWay = new Set<Promise<void>>();
  const share = new Share(LIMITS.eventsSwept);
  /** No other process can have it. */
  let isFirst = database.isEmbedded;

  const goOn = async (toFire: ToFire, reactingNow: ReactingNow): Promise<void> => {
    const { event } = toFire;
    try {
      const reacting = await reactingNow(event.organizationId, event.source, event.event);
      await fireEvent(events, toFire, await reacting.matchLeft(toFire));
    } catch (error) {
      log.warn({ event: event.id, reason: messageOf(error) }, "an event could not be fired; it will be retried");
    } finally {
      share.give(event.organizationId);
    }
  };

  /** Whether there may be more at once. */
  const takeSome = async (round: Round): Promise<boolean> => {
    const most = share.free - 1;
    if (most <= 0) return false;
    if (isFirst) await releaseEvents(database, clock.now());
    isFirst = false;
    if (!round.goesOn()) return false;
    const now = clock.now();
    const taken = await takeEvents(database, {
      now,
      until: leaseFrom(now),
      each: TAKEN_OF_EACH,
      most,
      full: share.full(),
      known: [...events.firing.keys()],
    });
    // Events taken by a replaced look are due again when their lease is over.
    if (!round.goesOn()) return false;
    const reactingNow = events.reactions.now();
    for (const toFire of taken) {
      share.take(toFire.event.organizationId);
      const one = goOn(toFire, reactingNow).finally(() => {
        underWay.delete(one);
        loop.wake();
      });
      underWay.add(one);
    }
    return taken.length > 0;
  };

  const loop = new Loop({
    clock,
    log,
    name: "events",
    everyMs: LOOK_EVERY_MS,
    look: async (round) => {
      while (!intake.isDraining() && (await takeSome(round)));
    },
    failed: "events were not fired; trying again",
  }).start();
  events.look = () => loop.wake();
  return {
    loop,
    async [Symbol.asyncDispose]() {
      events.look = () => {};
      await loop[Symbol.asyncDispose]();
      await Promise.all(underWay);
      await Promise.all(events.firing.values());
    },
  };
}

class Share {
  free: number;
  readonly #own = new Map<OrganizationId, number>();

  constructor(all: number) {
    this.free = all;
  }

  /** Those that must wait until some of theirs are done. */
  full(): OrganizationId[] {
    return [...this.#own].flatMap(([id, own]) => (own >= this.free ? [id] : []));
  }

  take(id: OrganizationId): void {
    this.free--;
    this.#own.set(id, (this.#own.get(id) ?? 0) + 1);
  }

  give(id: OrganizationId): void {
    this.free++;
    const own = this.#own.get(id)! - 1;
    if (own > 0) this.#own.set(id, own);
    else this.#own.delete(id);
  }
}
