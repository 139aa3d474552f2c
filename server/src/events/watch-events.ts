/** `eventsChanged`: events as they are published. */
import type { Within } from "../lib/reach.ts";
import type { Events } from "./events.ts";
import type { Event } from "./event.ts";
import { readEvent } from "./list-events.ts";
import { watchFeed } from "../realtime/watch-feed.ts";

/** After its commit: watchers are told, here and in other processes. */
export function tellEvent({ changes, notices }: Pick<Events, "changes" | "notices">, event: Event): void {
  const { id, organizationId } = event;
  if (changes.hasListeners(organizationId)) changes.publish(organizationId, { id, event: new WeakRef(event) });
  notices.send({ kind: "event", organizationId, id });
}

/** A narrowed key is told of those that were published to no more than it reaches. */
export const watchEvents = (
  events: Events,
  within: Within,
  source: string | undefined,
  signal: AbortSignal,
): AsyncIterableIterator<Event> => {
  const isWanted = (event: Event | undefined): boolean => source === undefined || !event || event.source === source;
  return watchFeed(events, events.feed, within.organizationId, signal, {
    fits: ({ event }) => isWanted(event?.deref()),
    show: async ({ id, event: ref }) => {
      const event = (within.reach ? undefined : ref?.deref()) ?? (await readEvent(events, within, id));
      return event && isWanted(event) ? event : undefined;
    },
  });
};
