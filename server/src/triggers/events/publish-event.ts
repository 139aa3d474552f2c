/** Takes events: each is committed before it is answered, and fires the triggers that match it. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../audit/canonical.ts";
import { actorOf, type Caller } from "../../auth/caller.ts";
import type { Actor } from "../../lib/actor.ts";
import { until } from "../../lib/clock.ts";
import { conflict, type FieldProblem } from "../../lib/errors.ts";
import { newIdAt, type OrganizationId } from "../../lib/ids.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { heldBytes } from "../../lib/json/held-bytes.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Within } from "../../lib/reach.ts";
import { checkTakes } from "../../runs/prepare-run.ts";
import { refuseAny } from "../kinds/contract/trigger-kind.ts";
import type { Triggers } from "../triggers.ts";
import { checkEvent, EVENT_KEYS } from "./check-event.ts";
import type { Event, GivenEvent } from "./event.ts";
import { countOfRoot, type Origin } from "./event-roots.ts";
import { freeEventId, eventOfRow, readFirstEvent, writtenList, type EventRow } from "./event-store.ts";
import { fireAll, leaseFrom, matching } from "../matching/fire-events.ts";
import type { EventTrigger } from "../matching/known-triggers.ts";
import { tellEvent } from "./watch-events.ts";

/** `text`: its data as JSON. */
export type CheckedEvent = GivenEvent & { data: JsonObject; text: string };

/**
 * Answers when the event and what it starts are committed, or after some seconds with the rest still to come. A repeat
 * answers the first one, and starts nothing. Throws BAD_USER_INPUT with every field that is wrong, CONFLICT when the event was
 * published with another body, UNAVAILABLE.
 */
export async function publishEvent(triggers: Triggers, caller: Caller, given: GivenEvent): Promise<Event> {
  const problems: FieldProblem[] = [];
  const text = checkEvent(given, "input.", EVENT_KEYS, problems);
  refuseAny(problems);
  checkTakes("events", triggers.runs);
  const checked = { ...given, data: given.data as JsonObject, text };
  const { event, fired } = await acceptEvent(triggers, caller, actorOf(caller), checked);
  await firedInTime(triggers, [fired]);
  return event;
}

/** What led to an event, and the triggers on it where they have just been read. */
type Chain = Origin & { known?: EventTrigger[] };

export type Accepted = { event: Event; isRepeat: boolean; fired: Promise<void> | undefined };

/** Resolves when all are fired, or after some seconds. */
export async function firedInTime({ clock }: Triggers, fired: (Promise<void> | undefined)[]): Promise<void> {
  const waited = fired.filter((one) => one !== undefined);
  if (waited.length === 0) return;
  const ending = new AbortController();
  const late = until(clock, clock.now() + LIMITS.eventWaitSeconds * 1_000, ending.signal).catch(() => {});
  await Promise.race([Promise.all(waited), late]);
  ending.abort();
}

/** Of an event that was checked: returns when it is committed. Throws CONFLICT, UNAVAILABLE. */
export async function acceptEvent(
  triggers: Triggers,
  within: Within,
  publishedBy: Actor,
  given: CheckedEvent,
  chain: Chain = { depth: 0, rootId: null },
): Promise<Accepted> {
  const { events } = triggers;
  const { organizationId } = within;
  const known = chain.known ?? events.known.of(organizationId, given.source, given.event);
  const triggersOfIt = known instanceof Promise ? await known : known;
  const found = triggersOfIt.length === 0 ? [] : matching(triggers, within, given.data, triggersOfIt);
  const matches = found instanceof Promise ? await found : found;
  const origin = await placeOf(triggers, organizationId, chain, matches.length > 0);
  // One of them says so to each trigger; if all did, that would be a flood as well.
  const matched = (origin.rootNumber ?? 0) > LIMITS.eventsOfRoot + 1 ? [] : matches;
  const now = triggers.clock.now();
  const bytes = matched.length > 0 ? heldBytes(given.text) : 0;
  const hasPlace = matched.length > 0 && events.places.tryTake(organizationId, bytes);
  if (matched.length > 0 && !hasPlace) await events.waiting.add(organizationId);
  const fireAt = matched.length === 0 ? null : hasPlace ? leaseFrom(now) : now;
  const row = rowOf(within, publishedBy, given, { ...origin, now, fireAt, knownAt: newestOf(triggersOfIt) });
  let fired: Promise<void> | undefined;
  try {
    const { isNew, isBehind } = await events.writer.add(row);
    if (!isNew) return await repeated(triggers, within, publishedBy, given, chain, row);
    if (isBehind) events.known.forget(organizationId);
    const event = eventOfRow(row);
    if (hasPlace)
      fired = fireAll(
        triggers,
        { event, data: given.data, bodyHash: row.body_hash },
        { matched, known: triggersOfIt, isBehind },
      );
    else if (matched.length > 0 || isBehind) events.look();
    tellEvent(triggers, event);
    return { event, isRepeat: false, fired };
  } finally {
    if (fired) void fired.then(() => events.places.release(organizationId, bytes));
    else if (hasPlace) events.places.release(organizationId, bytes);
  }
}

const newestOf = (known: EventTrigger[]): number =>
  known.reduce((newest, { trigger }) => Math.max(newest, trigger.updatedAt.getTime()), 0);

type Place = Pick<Event, "depth" | "rootId" | "rootNumber">;

async function placeOf(
  { database }: Triggers,
  organizationId: OrganizationId,
  { depth, rootId }: Chain,
  fires: boolean,
): Promise<Place> {
  if (!fires || rootId === null) return { depth, rootId: null, rootNumber: null };
  const before = await countOfRoot(database, organizationId, rootId, LIMITS.eventsOfRoot + 1);
  return { depth, rootId, rootNumber: before + 1 };
}

async function repeated(
  triggers: Triggers,
  within: Within,
  publishedBy: Actor,
  given: CheckedEvent,
  chain: Chain,
  row: EventRow,
): Promise<Accepted> {
  const { database, clock } = triggers;
  const first = await readFirstEvent(database, row);
  const isOver = first && first.event.at.getTime() <= clock.now() - LIMITS.eventDays * 86_400_000;
  if (first && isOver) await freeEventId(database, first.event);
  // Its time ended between the two statements.
  if (!first || isOver) return acceptEvent(triggers, within, publishedBy, given, chain);
  if (first.bodyHash !== row.body_hash)
    throw conflict("key_reused", `the source published an event with the id ${given.id} before, with another body`);
  return { event: first.event, isRepeat: true, fired: triggers.events.firing.get(first.event.id) };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function rowOf(
  { organizationId, reach }: Within,
  publishedBy: Actor,
  { source, event, id, time, data, text }: CheckedEvent,
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
    // A narrowed key must not learn what others published, nor take their ids.
    once: sha256(JSON.stringify([projectIds, agentIds, source, id])),
    body_hash: sha256(canonicalJson({ event, time: time?.toISOString() ?? null, data })),
    data: text,
    fire_at: fireAt,
    known_at: knownAt,
  };
}
