/** Events: what happened elsewhere, as somebody published it, and what came of it. */
import { checkName } from "../../events/check-event.ts";
import { encodeId } from "../../lib/ids.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Event } from "../../events/event.ts";
import { watchEvents } from "../../events/watch-events.ts";
import { listEvents, readEvent } from "../../events/list-events.ts";
import { listEventFirings } from "../../triggers/store/list-firings.ts";
import { publishEvent } from "../../events/publish-event.ts";
import { idOf, listOf, requireFound } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { addConnection, connect, listById, pageArguments, PAGED } from "../builder/connection.ts";
import { callerOf, type Context } from "../context/context.ts";

export function addEvents(builder: Builder): void {
  addEventMiss(builder);
  addEvent(builder);
  addEventOfFiring(builder);
  addConnection(builder, "Event");
  addQueries(builder);
  addPublish(builder);
  addWatch(builder);
}

/** Both lists together have no more. */
const EXPLAINED = { cost: { most: LIMITS.eventTriggersExplained } };

function addEventMiss(builder: Builder): void {
  builder.objectType("EventMiss", {
    description: "A trigger that an event does not match, and why.",
    fields: (t) => ({
      trigger: t.field({
        scope: "inherited",
        type: "Trigger",
        description: "The trigger.",
        resolve: ({ trigger }) => trigger,
      }),
      reason: t.exposeString("reason", { scope: "inherited", description: "Why, as a sentence about the trigger." }),
    }),
  });
}

function addEvent(builder: Builder): void {
  builder.objectType("Event", {
    description: `An event: something that happened, as somebody or Autograph itself published it. It is kept for ${LIMITS.eventDays} days.`,
    interfaces: ["Node"],
    fields: (t) => ({
      id: t.id({
        scope: "inherited",
        resolve: ({ id }) => encodeId("event", id),
        description: "The event's id, `event_…`.",
      }),
      source: t.exposeString("source", { scope: "inherited", description: "Where it happened." }),
      event: t.exposeString("event", { scope: "inherited", description: "What happened: the event's name." }),
      sourceId: t.exposeString("sourceId", {
        scope: "inherited",
        description:
          "The id that its source gave to the event. Publishing it again with this id returns the same event.",
      }),
      time: t.expose("time", { scope: "inherited", type: "DateTime", description: "When it happened." }),
      at: t.expose("at", { scope: "inherited", type: "DateTime", description: "When it was published." }),
      data: t.field({
        scope: "runs:read",
        type: "JSON",
        description: "The details of the event: an object.",
        resolve: ({ id, data }, _, { size, loaders }) => {
          size.charge(data.bytes);
          return data instanceof JsonText ? data : loaders.eventData(id);
        },
      }),
      publishedBy: t.expose("publishedBy", { scope: "runs:read", type: "Actor", description: "Who published it." }),
      matches: t.field({
        scope: "runs:read",
        type: ["Trigger"],
        extensions: EXPLAINED,
        description: `The triggers that the event matches, newest first: computed now, with the triggers as they are now, so they may differ from those that fired. Only the newest ${LIMITS.eventTriggersExplained} triggers of its source are considered, those on an event of this name first.`,
        resolve: async (event, _, context) => (await context.loaders.explained(event)).matches,
      }),
      misses: t.field({
        scope: "runs:read",
        type: ["EventMiss"],
        extensions: EXPLAINED,
        description: `The triggers of its source that the event does not match, newest first, and why: computed now, with the same triggers as \`matches\`.`,
        resolve: async (event, _, context) => (await context.loaders.explained(event)).misses,
      }),
      firings: t.field({
        scope: "runs:read",
        type: "FiringConnection",
        extensions: PAGED,
        description: "The firings on the event, newest first: one for each trigger that it matched.",
        args: pageArguments(builder),
        resolve: (event, page, context) =>
          connect(listById("firings", "firing", event.id), page, (request) =>
            request.after === undefined
              ? context.loaders.newestFirings("event_id", request.first)(event.id)
              : listEventFirings(context.triggers, callerOf(context), event, request),
          ),
      }),
    }),
  });
}

function addEventOfFiring(builder: Builder): void {
  builder.objectField("Firing", "event", (t) =>
    t.field({
      scope: "runs:read",
      type: "Event",
      nullable: true,
      description:
        "The event that the trigger fired on. Null if there was none, if it is no longer kept, or if the caller is a narrowed API key that does not reach all that the event was published to.",
      resolve: ({ eventId }, _, { loaders }) => eventId && loaders.event(eventId),
    }),
  );
}

export const findEvent = async (context: Context, id: string): Promise<Event> =>
  requireFound("event", await readEvent(context.events, callerOf(context), idOf("event", id)));

function addQueries(builder: Builder): void {
  builder.queryField("event", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Event",
      nullable: true,
      description: "The event with this id. NOT_FOUND if there is none.",
      args: { id: t.arg.id({ description: "The event's id, `event_…`." }) },
      resolve: (_, { id }, context) => findEvent(context, id),
    }),
  );
  const filter = builder.inputType("EventFilter", {
    description:
      "Selects the events that match every field given. A list selects the events that match any of its values; an empty list selects none.",
    fields: (t) => ({
      source: t.stringList({ required: false, description: "Of any of these sources." }),
      event: t.stringList({
        required: false,
        description: `With any of these names. Requires \`source\`, and makes at most ${LIMITS.argumentItems} pairs with it.`,
      }),
    }),
  });
  builder.queryField("events", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "EventConnection",
      extensions: PAGED,
      description: "The organization's events, newest first.",
      args: {
        filter: t.arg({ type: filter, required: false, description: "Default: all events." }),
        ...pageArguments(builder),
      },
      resolve: (_, { filter: given, ...page }, context) => {
        const { source, event } = given ?? {};
        const wanted = {
          ...(source && { source: listOf(source, "filter.source") }),
          ...(event && { event: listOf(event, "filter.event") }),
        };
        return connect(listById("events", "event"), page, (request) =>
          listEvents(context.events, callerOf(context), wanted, request),
        );
      },
    }),
  );
}

function addPublish(builder: Builder): void {
  const input = builder.inputType("PublishEventInput", {
    description: "Input of `publishEvent`.",
    fields: (t) => ({
      source: t.string({
        description: `Where it happened: at most ${LIMITS.eventNameCharacters} characters, and not \`autograph\`.`,
      }),
      event: t.string({
        description: `What happened: the event's name, of at most ${LIMITS.eventNameCharacters} characters.`,
      }),
      id: t.string({
        description: `The id that its source gives to the event, at most ${LIMITS.eventNameCharacters} characters. If the answer was lost, publish it again with the same id.`,
      }),
      time: t.field({ type: "DateTime", required: false, description: "When it happened. Default: now." }),
      data: t.field({
        type: "JSON",
        required: false,
        description: `The details of the event: an object of at most ${LIMITS.eventDataBytes} bytes as JSON. Default: \`{}\`.`,
      }),
    }),
  });
  builder.mutationField("publishEvent", (t) =>
    t.field({
      scope: "events:write",
      narrowedKeys: true,
      type: "Event",
      description:
        "Publishes an event, which starts a run of each trigger that matches it. Publishing the same source and id again returns the first event and starts nothing; with another body, it is CONFLICT.",
      args: { input: t.arg({ type: input, description: "Input of `publishEvent`." }) },
      resolve: (_, { input: { source, event, id, time, data } }, context) =>
        publishEvent(context.events, callerOf(context), {
          source,
          event,
          id,
          time: time ?? undefined,
          data: data ?? {},
        }),
    }),
  );
}

function addWatch(builder: Builder): void {
  builder.subscriptionField("eventsChanged", (t) =>
    t.field({
      scope: "runs:read",
      narrowedKeys: true,
      type: "Event",
      description:
        "Sends events as they are published. Sends nothing at first and never completes: read `events` once the subscription is open. Ends with UNAVAILABLE when too many are waiting to be read, or some may have been missed.",
      args: { source: t.arg.string({ required: false, description: "Send only events of this source." }) },
      subscribe: (_, { source }, context) => {
        if (source != null) checkName(source, "source");
        return watchEvents(context.events, callerOf(context), source ?? undefined, context.ending.signal);
      },
      resolve: (event) => event,
    }),
  );
}
