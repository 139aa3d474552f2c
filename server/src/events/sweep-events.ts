/**
 * Goes on with events whose triggers are still to be fired: what a crash left, what failed, and what found no place in memory. Several
 * are under way at a time, so that one with thousands of triggers delays no other. Organizations share that room by the rule of
 * `FairShare`, so the next one's first event always finds some.
 */
import { FairShare } from "../fairness/fair-share.ts";
import { messageOf } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { Loop, type Round } from "../lib/loops/loop.ts";
import { UnderWay } from "../lib/under-way.ts";
import { leaseFrom } from "./event-lease.ts";
import { releaseEvents, takeEvents, type ToFire } from "./events-to-fire.ts";
import type { Events } from "./events.ts";
import { fireEvent } from "./fire-event.ts";
import type { ReactingNow } from "./reactions.ts";

const LOOK_EVERY_MS = 5_000;
/** The number taken from the table at a time for each organization, which may exceed its share by that many. */
const TAKEN_OF_EACH = 4;

/** At the start, when one has been fired, when asked to, and every 5 s. */
export function sweepEvents(events: Events): { loop: Loop } & AsyncDisposable {
  const { database, clock, log, intake } = events;
  const working = new UnderWay();
  const share = new FairShare(LIMITS.eventsSwept);
  /** No other process can have it. */
  let isFirst = database.isEmbedded;

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
      const { organizationId } = toFire.event;
      share.take(organizationId, 1);
      working.begin();
      void fireLeft(events, toFire, reactingNow).finally(() => {
        share.give(organizationId, 1);
        working.end();
        loop.wake();
      });
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
      await working.ended();
      await Promise.all(events.firing.values());
    },
  };
}

/** Never rejects: what fails is tried again. */
async function fireLeft(events: Events, toFire: ToFire, reactingNow: ReactingNow): Promise<void> {
  const { id, organizationId, source, event } = toFire.event;
  try {
    const reacting = await reactingNow(organizationId, source, event);
    const match = await reacting.matchLeft(toFire);
    await fireEvent(events, toFire, match, { isBehind: false, isHeard: true });
  } catch (error) {
    events.log.warn({ event: id, reason: messageOf(error) }, "an event could not be fired; it will be retried");
  }
}
