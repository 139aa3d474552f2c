/** What this process holds of events: those that are being written, the triggers that it knows, and what it is firing. */
import type { Clock } from "../../lib/clock.ts";
import type { EventId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import { Slots } from "../../fairness/slots.ts";
import { Feeds } from "../../realtime/feed.ts";
import { Hub } from "../../realtime/hub.ts";
import type { Batch } from "../../storage/batch.ts";
import type { Database } from "../../storage/database.ts";
import { createEventWriter, type EventRow, type EventWritten } from "./event-store.ts";
import type { EventMessage } from "./event.ts";
import { Listeners } from "./listeners.ts";
import { FiringPlaces } from "./firing-places.ts";
import { createKnownTriggers, type KnownTriggers } from "../matching/known-triggers.ts";
import { WaitingEvents } from "./waiting-events.ts";

export type Events = {
  known: KnownTriggers;
  writer: Batch<EventRow, EventWritten>;
  /** For one trigger fired. */
  slots: Slots;
  /** What is being fired here; each resolves when it has been, and never rejects. */
  firing: Map<EventId, Promise<void>>;
  places: FiringPlaces;
  waiting: WaitingEvents;
  /** For one event of the service itself that is being published. */
  ownSlots: Slots;
  listeners: Listeners;
  /** Publishes events of the service itself at once. Set by `publishUntold`. */
  tell: () => void;
  /** New events, by organization, and what subscriptions read of them. */
  changes: Hub<EventMessage>;
  feed: Feeds<EventMessage>;
  /** Looks at once for what is to be fired. Set by `sweepEvents`. */
  look: () => void;
};

export function createEvents({ database, clock, log }: { database: Database; clock: Clock; log: Log }): Events {
  const changes: Events["changes"] = new Hub();
  const feed = new Feeds({ hub: changes, keyOf: ({ id }: EventMessage) => id, most: LIMITS.changesWaiting });
  return {
    changes,
    feed,
    known: createKnownTriggers(database, clock),
    writer: createEventWriter(database),
    slots: new Slots(LIMITS.triggersFiring, LIMITS.triggersFiringOwn / LIMITS.triggersFiring),
    firing: new Map(),
    places: new FiringPlaces(),
    waiting: new WaitingEvents(database, clock),
    ownSlots: new Slots(LIMITS.ownEventsPublishing, LIMITS.ownEventsPublishingOwn / LIMITS.ownEventsPublishing),
    listeners: new Listeners({ database, log }),
    tell: () => {},
    look: () => {},
  };
}
