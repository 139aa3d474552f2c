/** Events. */
import { type Limit } from "./limit.ts";

const EVENTS_TEST = "test/events.test.ts";
const OWN_EVENTS = "test/own-events.test.ts";
const LISTENING_DB = "server/src/triggers/listening.db.test.ts";
const EVENTS_DB = "server/src/triggers/events.db.test.ts";

export const EVENTS = {
  eventNameCharacters: {
    value: 255,
    bounds: "an event's source, its name, and the id that its source gives it; a signal's name",
    test: [EVENTS_TEST, "a name has 255 characters and not one more"],
  },
  eventDataBytes: {
    value: 64 * 1024,
    bounds: "an event's or a signal's data as JSON",
    test: [EVENTS_TEST, "its data has 65536 bytes as JSON and not one more"],
  },
  eventPayloadBytes: {
    value: 16 * 1024,
    bounds: "a run's output, and its error, in the event that tells of its end",
    beyond: "it is null",
    test: [OWN_EVENTS, "with an output of 16,384 bytes, and without a larger one"],
  },
  eventDepth: {
    value: 10,
    bounds: "events of the service itself that led to one another through the runs that they started",
    beyond: "the next one starts no run",
    test: [OWN_EVENTS, "10 events lead to one another"],
  },
  eventsOfRoot: {
    value: 10_000,
    bounds:
      "firing events of the service itself that came from one event through the runs that it and they started; some at the same moment may exceed it",
    beyond: "further ones start no run",
    test: [EVENTS_DB, "at most 10,000 events come of one"],
  },
  eventTriggersExplained: {
    value: 100,
    bounds: "triggers of an event's source, newest first, that `Event.matches` and `Event.misses` cover together",
    beyond: "the rest is left out",
    test: [EVENTS_DB, "the newest 100 triggers of its source"],
  },
  eventsPerBatch: {
    value: 100,
    bounds: "events in the body of one `POST /events`",
    test: ["test/cloud-events.test.ts", "has at most 100 events"],
  },
  eventFilterFields: { value: 20, bounds: "fields of a trigger's filter", test: [EVENTS_TEST, "21 fields"] },
  eventFilterValues: {
    value: 100,
    bounds: "values that a filter accepts for one field",
    test: [EVENTS_TEST, "101 values"],
  },
  eventFilterBytes: { value: 4 * 1024, bounds: "a trigger's filter as JSON", test: [EVENTS_TEST, "4097 bytes"] },
  triggersPerEvent: {
    value: 5_000,
    bounds: "triggers of an organization with the same source and event",
    test: [EVENTS_DB, "at most 5,000 triggers match one source and event"],
  },
  eventDays: {
    value: 30,
    bounds: "how long an event is kept, and its id known; how long a signal is",
    beyond: "it is deleted",
    test: [EVENTS_DB, "an event is kept for 30 days"],
  },
  eventWaitSeconds: {
    value: 10,
    bounds: "how long the response to a published event waits for the runs that it starts",
    beyond: "it is answered with the rest still to come",
    test: [EVENTS_DB, "is answered after 10 s at most"],
  },
  eventFiltersPerTask: {
    value: 10,
    bounds: "events that a `listen` waits for, and as many that end it",
    test: ["server/src/definition/listen.test.ts", "11 events"],
  },
  eventsListened: {
    value: 100_000,
    bounds:
      "types of event, each with a place in its data, that runs of an organization listen to or have listened to in a month",
    beyond: "the error `limit`",
    test: [LISTENING_DB, "at most 100,000 kinds of event"],
  },
  placesListened: {
    value: 1_000,
    bounds: "places among these in the data of one type of event: each event of the type is looked at there",
    beyond: "the error `limit`",
    test: [LISTENING_DB, "at most 1,000 places of one type"],
  },
  listenedDays: {
    value: 31,
    bounds: "how long it is known that runs of an organization listen to such events: longer than any run lasts",
    beyond: "it is forgotten until another run listens",
    test: [LISTENING_DB, "one is forgotten after 31 days"],
  },
  eventsLookedBack: {
    value: 10_000,
    bounds: "events of one type, the newest since its run was started, that a `listen` looks through when it begins",
    beyond: "older ones are not seen",
    test: [LISTENING_DB, "the newest 10,000"],
  },
  eventsHeard: {
    value: 1_000,
    bounds: "events that wait for one `listen` to look at them",
    beyond: "the error `limit`",
    test: [LISTENING_DB, "1,000 events wait for a step"],
  },
  eventsTaken: {
    value: 1_000,
    bounds: "events that one `listen` takes",
    beyond: "the error `limit`",
    test: [LISTENING_DB, "a step takes 1,000 events"],
  },
  signalsWaiting: {
    value: 1_000,
    bounds: "signals of a run that none of its steps is known to have taken",
    test: [LISTENING_DB, "1,000 signals wait in a run"],
  },
  eventsWaiting: {
    value: 10_000,
    bounds: "events of an organization that wait to fire triggers",
    beyond: "`UNAVAILABLE`, with the time to send it again",
    test: [EVENTS_DB, "at most 10,000 events of an organization wait to be fired"],
  },
  eventsFiring: {
    value: 1_000,
    bounds: "events of all organizations whose triggers a process fires at a time",
    beyond: "it waits in its table",
    test: [EVENTS_DB, "at most 1,000 events fire at a time, 100 per organization"],
  },
  eventsFiringOwn: {
    value: 100,
    bounds: "events of one organization among these",
    beyond: "it waits in its table",
    test: [EVENTS_DB, "at most 1,000 events fire at a time, 100 per organization"],
  },
  eventsFiringBytes: {
    value: 64 * 1024 * 1024,
    bounds: "memory that the data of these events takes. An organization may hold at most as much as stays free",
    beyond: "it waits in its table",
    test: ["server/src/events/firing-places.test.ts", "one organization gets half of the bytes for firing events"],
  },
  eventsSwept: {
    value: 64,
    bounds:
      "events taken up again at a time, after a crash or because there was no room. An organization may have four, and beyond them no more than it leaves free",
    beyond: "it waits in its table",
    test: [EVENTS_DB, "holds at most half of the room"],
  },
  ownEventsPublishing: {
    value: 32,
    bounds: "events of the service itself (source `autograph`) published at a time",
    beyond: "further ones wait",
    test: [
      EVENTS_DB,
      "at most 64 triggers of an organization fire at a time, 128 in total; 16 and 32 for the service's own events",
    ],
  },
  ownEventsPublishingOwn: {
    value: 16,
    bounds: "events of one organization among these",
    beyond: "further ones wait",
    test: [
      EVENTS_DB,
      "at most 64 triggers of an organization fire at a time, 128 in total; 16 and 32 for the service's own events",
    ],
  },
  triggersFiring: {
    value: 128,
    bounds: "triggers that events fire at a time",
    beyond: "further ones wait",
    test: [
      EVENTS_DB,
      "at most 64 triggers of an organization fire at a time, 128 in total; 16 and 32 for the service's own events",
    ],
  },
  triggersFiringOwn: {
    value: 64,
    bounds: "triggers of one organization among these",
    beyond: "further ones wait",
    test: [
      EVENTS_DB,
      "at most 64 triggers of an organization fire at a time, 128 in total; 16 and 32 for the service's own events",
    ],
  },
} satisfies Record<string, Limit>;
