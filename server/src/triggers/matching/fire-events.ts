/**
 * Fires triggers on events. An event says in its row that it is to be fired, until all its triggers have been: after a crash, or
 * when this process has no place for it, whoever looks next goes on. A trigger that has its firing on the event is left
 * alone, and if two processes should be at it at once, `unique (trigger_id, once)` lets one start the run.
 */
import { conflict, messageOf } from "../../lib/errors.ts";
import type { TriggerId } from "../../lib/ids.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { inTurns, type Steps } from "../../fairness/slices.ts";
import { reaches, type Within } from "../../lib/reach.ts";
import { fire, refuseFiring } from "../firings/fire.ts";
import type { Trigger } from "../store/trigger.ts";
import type { Triggers } from "../triggers.ts";
import type { Event } from "../events/event.ts";
import { setFireAt, type ToFire } from "../events/events-to-fire.ts";
import { Fields, unmatched } from "../events/filter.ts";
import type { EventTrigger } from "./known-triggers.ts";

/** After this, another process takes an event for left behind. */
const LEASE_MS = 30_000;

export const leaseFrom = (now: number): number => now + LEASE_MS;

/** So many filters are looked at in a row: 4,096 bytes of filter take up to 10 us. */
const MATCHED_AT_ONCE = 200;

/** Those that its publisher reaches and whose filters take it; a promise where there are many. */
export function matching(
  { runs }: Triggers,
  within: Within,
  data: JsonObject,
  known: EventTrigger[],
): Trigger[] | Promise<Trigger[]> {
  const fields = new Fields(data);
  const isMatched = ({ trigger, filter }: EventTrigger): boolean =>
    reaches(within, trigger) && unmatched(filter, fields) === undefined;
  if (known.length <= MATCHED_AT_ONCE) return known.filter(isMatched).map(({ trigger }) => trigger);
  return inTurns(matchingEach(known, isMatched), () => runs.executions.rounds.next(within.organizationId));
}

export const publisherOf = ({ organizationId, reach }: Event): Within => ({
  organizationId,
  reach: reach && { ...reach, shownProjectIds: [] },
});

function* matchingEach(known: EventTrigger[], isMatched: (one: EventTrigger) => boolean): Steps<Trigger[]> {
  const matched: Trigger[] = [];
  for (const [index, one] of known.entries()) {
    if (index % MATCHED_AT_ONCE === MATCHED_AT_ONCE - 1) yield;
    if (isMatched(one)) matched.push(one.trigger);
  }
  return matched;
}

/** Why an event starts nothing, whatever it matches. */
export function whyNone({ depth, rootNumber }: Pick<Event, "depth" | "rootNumber">): string | undefined {
  if (depth >= LIMITS.eventDepth)
    return `${LIMITS.eventDepth} events led to this one, each through a run that the previous one started: it starts no run, because this looks like a loop`;
  if ((rootNumber ?? 0) > LIMITS.eventsOfRoot)
    return `${LIMITS.eventsOfRoot} events have already followed from the same event: this one starts no run, because this looks like a flood`;
  return undefined;
}

/** `matched`: those of `known` to fire. `isBehind`: there may be others, which whoever looks next fires. */
type Matched = { matched: Trigger[]; known: EventTrigger[]; isBehind?: boolean };

/** Fires them all on the event; until then it is in `events.firing`. Never rejects: what fails is tried again. */
export function fireAll(triggers: Triggers, toFire: ToFire, matched: Matched): Promise<void> {
  const { event } = toFire;
  const { firing } = triggers.events;
  const done = fireEach(triggers, toFire, matched)
    .catch((error: unknown) =>
      triggers.log.warn(
        { event: event.id, reason: messageOf(error) },
        "an event could not be fired; it will be retried",
      ),
    )
    .finally(() => {
      firing.delete(event.id);
      if (matched.isBehind) triggers.events.look();
    });
  firing.set(event.id, done);
  return done;
}

/** Throws the first error, after all others were fired. */
async function fireEach(triggers: Triggers, toFire: ToFire, { matched, known, isBehind }: Matched): Promise<void> {
  const { event, data, bodyHash } = toFire;
  const { database, clock, runs, events } = triggers;
  const { organizationId, sourceId } = event;
  const none = whyNone(event);
  let leaseAt = clock.now() + LEASE_MS / 2;
  const failures: unknown[] = [];
  const presentOf = presentTriggers(triggers, toFire, known);
  const fireOne = async (trigger: Trigger): Promise<void> => {
    try {
      await runs.executions.rounds.next(organizationId);
      const present = await presentOf(trigger);
      if (!present) return;
      const occasion = { dueAt: null, payload: data, delivery: { name: sourceId, bodyHash }, event };
      if (none === undefined) await fire(triggers, present, occasion);
      else await refuseFiring(triggers, present, occasion, conflict("limit_reached", none));
    } catch (error) {
      failures.push(error);
    } finally {
      events.slots.release(organizationId);
    }
  };
  const underWay = new Set<Promise<void>>();
  for (const trigger of matched) {
    await events.slots.take(organizationId);
    const one = fireOne(trigger).finally(() => underWay.delete(one));
    underWay.add(one);
    if (clock.now() < leaseAt) continue;
    leaseAt = clock.now() + LEASE_MS / 2;
    await setFireAt(database, event, leaseFrom(clock.now()));
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
  await setFireAt(database, event, isBehind ? clock.now() : null);
}

/** A list that is too large to be kept in memory is read again, and 5,000 filters take 300 ms. */
const LOOKED_AGAIN_MS = 1_000;

/**
 * Each as it is when its turn comes, or was a second before: that may be long after the first one's. Undefined: it is paused, deleted, or
 * does not take such events any longer.
 */
function presentTriggers(
  triggers: Triggers,
  { event, data }: ToFire,
  known: EventTrigger[],
): (trigger: Trigger) => Promise<Trigger | undefined> {
  const { clock, events } = triggers;
  let [seen, present]: [EventTrigger[], Map<TriggerId, Trigger> | undefined] = [known, undefined];
  const look = async (): Promise<void> => {
    const now = await events.known.of(event.organizationId, event.source, event.event);
    if (now === seen) return;
    const matched = await matching(triggers, publisherOf(event), data, now);
    present = new Map(matched.map((trigger) => [trigger.id, trigger]));
    seen = now;
  };
  let [lookAt, looking] = [clock.now() + LOOKED_AGAIN_MS, Promise.resolve()];
  return async (trigger) => {
    if (clock.now() >= lookAt) [lookAt, looking] = [clock.now() + LOOKED_AGAIN_MS, look()];
    await looking;
    return present ? present.get(trigger.id) : trigger;
  };
}
