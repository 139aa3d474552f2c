/** The room's handle, the first parameter of each of its operations. */
import type { Clock } from "../lib/clock.ts";
import type { EventId, OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import type { Rounds } from "../fairness/rounds.ts";
import { Slots } from "../fairness/slots.ts";
import { Feeds } from "../realtime/feed.ts";
import { Hub } from "../realtime/hub.ts";
import { noNotices, type Notices } from "../realtime/notices.ts";
import type { Batch } from "../storage/batch.ts";
import type { Database } from "../storage/database.ts";
import { createEventWriter, type EventRow, type EventWritten } from "./event-store.ts";
import type { EventMessage } from "./event.ts";
import { FiringPlaces } from "./firing-places.ts";
import type { Outbox } from "./outbox.ts";
import type { Reactions } from "./reactions.ts";
import { WaitingEvents } from "./waiting-events.ts";

export type Events = {
  database: Database;
  clock: Clock;
  log: Log;
  notices: Pick<Notices, "send" | "onMissed">;
  rounds: Pick<Rounds<OrganizationId>, "next">;
  intake: Intake;
  readonly reactions: Reactions;
  writer: Batch<EventRow, EventWritten>;
  /** Events that are being fired here; each promise resolves when it has been, and never rejects. */
  firing: Map<EventId, Promise<void>>;
  places: FiringPlaces;
  waiting: WaitingEvents;
  outbox: Outbox;
  /** For one event of the service itself that is being published. */
  ownSlots: Slots;
  /** New events, by organization, and what subscriptions read of them. */
  changes: Hub<EventMessage>;
  feed: Feeds<EventMessage>;
  /** Looks at once for events to fire. Set by `sweepEvents`. */
  look: () => void;
};

/** Whether the server takes events, and goes on with those that it has. */
export type Intake = {
  /** Throws UNAVAILABLE when it takes nothing new. */
  check(): void;
  isDraining(): boolean;
};

export type EventsOptions = Pick<Events, "database" | "clock" | "log" | "rounds" | "intake" | "outbox"> & {
  /** If left out, no other process is told. */
  notices?: Pick<Notices, "send" | "on" | "onMissed"> | undefined;
  /** Asked when an event comes, since what reacts is made with these events. */
  reactions: () => Reactions;
};

export function createEvents({ notices = noNotices, reactions, ...base }: EventsOptions): Events {
  const { database, clock } = base;
  const changes: Events["changes"] = new Hub();
  const feed = new Feeds({ hub: changes, keyOf: ({ id }: EventMessage) => id, most: LIMITS.changesWaiting });
  notices.on("event", (organizationId, id) => changes.publish(organizationId, { id }));
  return {
    ...base,
    notices,
    get reactions() {
      return reactions();
    },
    changes,
    feed,
    writer: createEventWriter(database),
    firing: new Map(),
    places: new FiringPlaces(),
    waiting: new WaitingEvents(database, clock),
    ownSlots: new Slots(LIMITS.ownEventsPublishing, LIMITS.ownEventsPublishingOwn / LIMITS.ownEventsPublishing),
    look: () => {},
  };
}
