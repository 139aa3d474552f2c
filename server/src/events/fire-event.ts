/**
 * Fires what reacts to an event. An event says in its row that it is to be fired, until all have reacted: after a crash, or when this
 * process has no place for it, `sweep-events.ts` continues, here or in another process.
 */
import { messageOf } from "../lib/errors.ts";
import type { Events } from "./events.ts";
import { setFireAt, type ToFire } from "./events-to-fire.ts";
import type { Match } from "./reactions.ts";

/**
 * Until it is done the event is in `events.firing`. Never rejects: what fails is tried again. `isBehind`: others may react too, which
 * the next look fires. `isHeard`: runs may listen to it.
 */
export function fireEvent(events: Events, toFire: ToFire, match: Match, { isBehind, isHeard }: Reached): Promise<void> {
  const { log, firing } = events;
  const { event } = toFire;
  const done = fireAndSet(events, toFire, match, { isBehind, isHeard })
    .catch((error: unknown) =>
      log.warn({ event: event.id, reason: messageOf(error) }, "an event could not be fired; it will be retried"),
    )
    .finally(() => {
      firing.delete(event.id);
      if (isBehind) events.look();
    });
  firing.set(event.id, done);
  return done;
}

type Reached = { isBehind: boolean; isHeard: boolean };

async function fireAndSet(events: Events, toFire: ToFire, match: Match, { isBehind, isHeard }: Reached): Promise<void> {
  const { database, clock, reactions } = events;
  // Those that listen do not wait for the triggers, of which there may be thousands, and hear it although one of these fails.
  const [fired, heard] = await Promise.allSettled([match.fire(toFire), isHeard ? reactions.hear(toFire) : undefined]);
  for (const one of [fired, heard]) if (one.status === "rejected") throw one.reason;
  await setFireAt(database, toFire.event, isBehind ? clock.now() : null);
}
