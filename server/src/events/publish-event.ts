/** Takes events: each is committed before it is answered, and fires what reacts to it. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../audit/canonical.ts";
import { actorOf, type Caller } from "../auth/caller.ts";
import type { Actor } from "../lib/actor.ts";
import { until } from "../lib/clock.ts";
import { conflict, refuseAny, type FieldProblem } from "../lib/errors.ts";
import { newIdAt, type OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { heldBytes } from "../lib/json/held-bytes.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Within } from "../lib/reach.ts";
import { checkEvent, EVENT_KEYS } from "./check-event.ts";
import type { Event, GivenEvent } from "./event.ts";
import { countOfRoot, type Origin } from "./event-roots.ts";
import { freeEventId, eventOfRow, readFirstEvent, writtenList, type EventRow } from "./event-store.ts";
import { leaseFrom } from "./event-lease.ts";
import { setFireAt } from "./events-to-fire.ts";
import type { Events } from "./events.ts";
import { fireEvent } from "./fire-event.ts";
import { NO_MATCH, type Reacting } from "./reactions.ts";
import { tellEvent } from "./watch-events.ts";

/** `text`: its data as JSON. */
export type CheckedEvent = GivenEvent & { data: JsonObject; text: string };

/**
 * Resolves when the event and what it starts are committed, or after some seconds with the rest still to come. A repeat
 * returns the first one, and starts nothing. Throws BAD_USER_INPUT with every field that is wrong, CONFLICT when the event was
 * published with another body, UNAVAILABLE.
 */
export async function publishEvent(events: Events, caller: Caller, given: GivenEvent): Promise<Event> {
  const problems: FieldProblem[] = [];
  const text = checkEvent(given, "input.", EVENT_KEYS, problems);
  refuseAny(problems);
  events.intake.check();
  const checked = { ...given, data: given.data as JsonObject, text };
  const { event, fired } = await acceptEvent(events, caller, actorOf(caller), checked);
  await firedInTime(events, [fired]);
  return event;
}

/** The events that led to an event, and what reacts to such events if that has just been read. */
type Chain = Origin & { reacting?: Reacting };

export type Accepted = { event: Event; isRepeat: boolean; fired: Promise<void> | undefined };

/** Resolves when all are fired, or after some seconds. */
export async function firedInTime(
  { clock }: Pick<Events, "clock">,
  fired: (Promise<void> | undefined)[],
): Promise<void> {
  const waited = fired.filter((one) => one !== undefined);
  if (waited.length === 0) return;
  const ending = new AbortController();
  const late = until(clock, clock.now() + LIMITS.eventWaitSeconds * 1_000, ending.signal).catch(() => {});
  await Promise.race([Promise.all(waited), late]);
  ending.abort();
}

/** Takes an event that was checked, and returns when it is committed. Throws CONFLICT, UNAVAILABLE. */
export async function acceptEvent(
  events: Events,
  within: Within,
  publishedBy: Actor,
  given: CheckedEvent,
  chain: Chain = { depth: 0, rootId: null },
): Promise<Accepted> {
  const { reactions, places, clock } = events;
  const { organizationId } = within;
  const known = chain.reacting ?? reactions.to(organizationId, given.source, given.event);
  const reacting = known instanceof Promise ? await known : known;
  const found = reacting.count === 0 ? NO_MATCH : reacting.match(within, given.data);
  const matching = found instanceof Promise ? await found : found;
  const origin = await placeOf(events, organizationId, chain, matching.count > 0);
  // One of them says so to each trigger; if all did, that would be a flood as well.
  const match = (origin.rootNumber ?? 0) > LIMITS.eventsOfRoot + 1 ? NO_MATCH : matching;
  const fires = match.count > 0;
  const now = clock.now();
  const bytes = heldBytes(given.text);
  let hasPlace = fires && places.tryTake(organizationId, bytes);
  if (fires && !hasPlace) await events.waiting.add(organizationId);
  const fireAt = !fires ? null : hasPlace ? leaseFrom(now) : now;
  const row = rowOf(within, publishedBy, given, { ...origin, now, fireAt, knownAt: reacting.changedAt });
  let fired: Promise<void> | undefined;
  try {
    const { isNew, isBehind, isHeard } = await events.writer.add(row);
    if (!isNew) return await repeated(events, within, publishedBy, given, chain, row);
    if (isBehind) reactions.forget(organizationId);
    const event = eventOfRow(row);
    if (isHeard && !fires) hasPlace = places.tryTake(organizationId, bytes);
    const toFire = { event, data: given.data, bodyHash: row.body_hash };
    if (hasPlace) fired = fireEvent(events, toFire, match, { isBehind, isHeard });
    else if (isHeard && !fires && !isBehind) await setFireAt(events.database, event, now);
    if (!hasPlace && (fires || isBehind || isHeard)) events.look();
    tellEvent(events, event);
    return { event, isRepeat: false, fired };
  } finally {
    if (fired) void fired.then(() => places.release(organizationId, bytes));
    else if (hasPlace) places.release(organizationId, bytes);
  }
}

type Place = Pick<Event, "depth" | "rootId" | "rootNumber">;

async function placeOf(
  { database }: Events,
  organizationId: OrganizationId,
  { depth, rootId }: Chain,
  fires: boolean,
): Promise<Place> {
  if (!fires || rootId === null) return { depth, rootId: null, rootNumber: null };
  const before = await countOfRoot(database, organizationId, rootId, LIMITS.eventsOfRoot + 1);
  return { depth, rootId, rootNumber: before + 1 };
}

async function repeated(
  events: Events,
  within: Within,
  publishedBy: Actor,
  given: CheckedEvent,
  chain: Chain,
  row: EventRow,
): Promise<Accepted> {
  const { database, clock } = events;
  const first = await readFirstEvent(database, row);
  const isOver = first && first.event.at.getTime() <= clock.now() - LIMITS.eventDays * 86_400_000;
  if (first && isOver) await freeEventId(database, first.event);
  // Its time ended between the two statements.
  if (!first || isOver) return acceptEvent(events, within, publishedBy, given, chain);
  if (first.bodyHash !== row.body_hash)
    throw conflict("key_reused", `the source published an event with the id ${given.id} before, with another body`);
  return { event: first.event, isRepeat: true, fired: events.firing.get(first.event.id) };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function rowOf(
  { organizationId, reach }: Within,
  publishedBy: Actor,
  { source, event, id, time, data, text, subject }: CheckedEvent,
  { now, fireAt, knownAt, depth, rootId, rootNumber }: Place & { now: number; fireAt: number | null; knownAt: number },
): EventRow {
  const projectIds = reach ? writtenList(reach.projectIds.toSorted()) : null;
  const agentIds = reach ? writtenList(reach.agentIds.toSorted()) : null;
  return {
    id: newIdAt(now),
    reach: reach ? sha256(`${projectIds} ${agentIds}`) : null,
    organization_id: organizationId,
    project_ids: projectIds,
    agent_ids: agentIds,
    source,
    event,
    source_id: id,
    time: time?.getTime() ?? now,
    at: now,
    depth,
    root_id: rootId,
    root_number: rootNumber,
    published_by_kind: publishedBy.kind,
    published_by_id: publishedBy.id,
    subject: subject ?? null,
    // A narrowed key must not learn what others published, nor take their ids.
    once: sha256(JSON.stringify([projectIds, agentIds, source, id])),
    body_hash: sha256(
      canonicalJson({ event, time: time?.toISOString() ?? null, data, ...(subject !== undefined && { subject }) }),
    ),
    data: text,
    fire_at: fireAt,
    known_at: knownAt,
  };
}
