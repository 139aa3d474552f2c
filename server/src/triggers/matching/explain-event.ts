/** Which triggers of its source an event matches, and why the others do not: by the triggers as they are now. */
import { parseStored, type JsonObject } from "../../lib/json/json.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import { LIMITS } from "../../lib/limits.ts";
import { shortened } from "../../lib/errors.ts";
import { reaches, type Within } from "../../lib/reach.ts";
import { readSourceTriggers } from "../store/trigger-store.ts";
import type { Trigger } from "../store/trigger.ts";
import type { Matching } from "./matching.ts";
import { readEventData } from "../../events/read-events.ts";
import type { Event } from "../../events/event.ts";
import { whyNone } from "../../events/event-roots.ts";
import { compileFilter, Fields, unmatched } from "../../lib/events/event-filter.ts";
import type { EventTrigger } from "./known-triggers.ts";

export type EventMiss = { trigger: Trigger; reason: string };
export type Explained = { matches: Trigger[]; misses: EventMiss[] };

/** Each by the newest triggers that the caller reaches, those on it before others of its source; read once for all events of its name. */
export async function explainEvents(matching: Matching, within: Within, events: Event[]): Promise<Explained[]> {
  const ofName = new Map<string, EventTrigger[]>();
  const explained: Explained[] = [];
  for (const event of events) {
    const name = JSON.stringify([event.source, event.event]);
    let known = ofName.get(name);
    if (!known) ofName.set(name, (known = await triggersOf(matching, within, event)));
    // One after the other: data of 64 kB takes a millisecond to be read, and ten times its size while it is held.
    await matching.runs.executions.rounds.next(within.organizationId);
    explained.push(explain(event, new Fields(await dataOf(matching, event)), known));
  }
  return explained;
}

async function triggersOf({ database }: Matching, within: Within, { source, event }: Event): Promise<EventTrigger[]> {
  const most = LIMITS.eventTriggersExplained;
  const own = await readSourceTriggers(database, within, { source, event }, most);
  const left = most - own.length;
  const others = left > 0 ? await readSourceTriggers(database, within, { source, event, isOther: true }, left) : [];
  const found = [...own, ...others].toSorted((one, other) => (one.id < other.id ? 1 : -1));
  return found.map((trigger) => ({ trigger, filter: compileFilter(trigger.configuration["filter"]) }));
}

async function dataOf({ database }: Matching, { organizationId, id, data }: Event): Promise<JsonObject> {
  if (data instanceof JsonText) return data.value as JsonObject;
  const text = (await readEventData(database, organizationId, [id])).get(id);
  return (text === undefined ? {} : parseStored(text)) as JsonObject;
}

function explain(event: Event, fields: Fields, all: EventTrigger[]): Explained {
  const found: Explained = { matches: [], misses: [] };
  for (const { trigger, filter } of all) {
    const reason = missOf(trigger, event, unmatched(filter, fields), fields);
    if (reason === undefined) found.matches.push(trigger);
    else found.misses.push({ trigger, reason });
  }
  return found;
}

/** As a sentence about the trigger. */
function missOf(trigger: Trigger, event: Event, field: string | undefined, fields: Fields): string | undefined {
  const { configuration, status, createdAt } = trigger;
  const { reach, at } = event;
  if (configuration["event"] !== event.event)
    return `it fires on the event ${shortened(String(configuration["event"]))}`;
  if (field !== undefined)
    return fields.has(field)
      ? `its filter does not accept the value of ${shortened(field)}`
      : `its filter wants ${shortened(field)}, which the data does not have`;
  const none = whyNone(event);
  if (none !== undefined) return none;
  if (reach && !reaches({ reach: { ...reach, shownProjectIds: [] } }, trigger))
    return "its publisher does not reach it";
  if (createdAt > at) return "it was created after the event";
  return status === "paused" ? "it is paused" : undefined;
}
