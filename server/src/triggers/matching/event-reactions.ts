/**
 * Triggers as what reacts to events (`events/reactions.ts`). A trigger that was already fired on an event is left alone, and if two
 * processes should be at it at once, `unique (trigger_id, once)` lets one start the run.
 */
import { publisherOf } from "../../events/event.ts";
import { whyNone } from "../../events/event-roots.ts";
import { EVENT_LEASE_MS, leaseFrom } from "../../events/event-lease.ts";
import { setFireAt, type ToFire } from "../../events/events-to-fire.ts";
import { Fields, unmatched } from "../../lib/events/event-filter.ts";
import { NO_MATCH, NOTHING_REACTS, type Match, type Reacting, type Reactions } from "../../events/reactions.ts";
import { conflict } from "../../lib/errors.ts";
import type { TriggerId } from "../../lib/ids.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { inTurns, type Steps } from "../../fairness/slices.ts";
import { reaches, type Within } from "../../lib/reach.ts";
import { hearEvent } from "../listening/hear-event.ts";
import { isListened } from "../listening/listening-store.ts";
import { fire, refuseFiring } from "../firings/fire.ts";
import { firedOn } from "../store/firing-store.ts";
import type { Trigger } from "../store/trigger.ts";
import type { EventTrigger } from "./known-triggers.ts";
import type { Matching } from "./matching.ts";

export function createEventReactions(matching: Matching): Reactions {
  const { known } = matching;
  const reactingOf = (triggers: EventTrigger[]): Reacting =>
    triggers.length === 0 ? NOTHING_REACTS : new ReactingTriggers(matching, triggers);
  return {
    to: (...name) => {
      const found = known.of(...name);
      return found instanceof Promise ? found.then(reactingOf) : reactingOf(found);
    },
    now: () => {
      const knownNow = known.now();
      return async (...name) => reactingOf(await knownNow(...name));
    },
    hear: (toFire) => hearEvent(matching, toFire),
    mayBeHeard: (organizationId, event) => isListened(matching.database, organizationId, event),
    forget: (organizationId) => known.forget(organizationId),
  };
}

class ReactingTriggers implements Reacting {
  readonly #matching: Matching;
  readonly #known: EventTrigger[];

  constructor(matching: Matching, known: EventTrigger[]) {
    this.#matching = matching;
    this.#known = known;
  }

  get count(): number {
    return this.#known.length;
  }

  get changedAt(): number {
    return this.#known.reduce((newest, { trigger }) => Math.max(newest, trigger.updatedAt.getTime()), 0);
  }

  match(within: Within, data: JsonObject): Match | Promise<Match> {
    const found = matchingTriggers(this.#matching, within, data, this.#known);
    return found instanceof Promise ? found.then((matched) => this.#matchOf(matched)) : this.#matchOf(found);
  }

  async matchLeft({ event, data }: ToFire): Promise<Match> {
    const before = await firedOn(this.#matching.database, event);
    const matched = await matchingTriggers(this.#matching, publisherOf(event), data, this.#known);
    return this.#matchOf(matched.filter((trigger) => trigger.createdAt <= event.at && !before.has(trigger.id)));
  }

  #matchOf(matched: Trigger[]): Match {
    if (matched.length === 0) return NO_MATCH;
    return {
      count: matched.length,
      fire: (toFire) => fireEach(this.#matching, toFire, { matched, known: this.#known }),
    };
  }
}

/** So many filters are looked at in a row: 4,096 bytes of filter take up to 10 us. */
const MATCHED_AT_ONCE = 200;

/** Those that the publisher reaches and whose filters take the data; a promise if there are many. */
function matchingTriggers(
  { runs }: Matching,
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

function* matchingEach(known: EventTrigger[], isMatched: (one: EventTrigger) => boolean): Steps<Trigger[]> {
  const matched: Trigger[] = [];
  for (const [index, one] of known.entries()) {
    if (index % MATCHED_AT_ONCE === MATCHED_AT_ONCE - 1) yield;
    if (isMatched(one)) matched.push(one.trigger);
  }
  return matched;
}

/** `matched`: those of `known` to fire. */
type Matched = { matched: Trigger[]; known: EventTrigger[] };

/** Throws the first error, after all others were fired. */
async function fireEach(matching: Matching, toFire: ToFire, { matched, known }: Matched): Promise<void> {
  const { event, data, bodyHash } = toFire;
  const { database, clock, runs, slots } = matching;
  const { organizationId, sourceId } = event;
  const none = whyNone(event);
  let leaseAt = clock.now() + EVENT_LEASE_MS / 2;
  const failures: unknown[] = [];
  const presentOf = presentTriggers(matching, toFire, known);
  const fireOne = async (trigger: Trigger): Promise<void> => {
    try {
      await runs.executions.rounds.next(organizationId);
      const present = await presentOf(trigger);
      if (!present) return;
      const occasion = { dueAt: null, payload: data, delivery: { name: sourceId, bodyHash }, event };
      if (none === undefined) await fire(matching, present, occasion);
      else await refuseFiring(matching, present, occasion, conflict("limit_reached", none));
    } catch (error) {
      failures.push(error);
    } finally {
      slots.release(organizationId);
    }
  };
  const underWay = new Set<Promise<void>>();
  for (const trigger of matched) {
    await slots.take(organizationId);
    const one = fireOne(trigger).finally(() => underWay.delete(one));
    underWay.add(one);
    if (clock.now() < leaseAt) continue;
    leaseAt = clock.now() + EVENT_LEASE_MS / 2;
    await setFireAt(database, event, leaseFrom(clock.now()));
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
}

/** A list that is too large to be kept in memory is read again, and 5,000 filters take 300 ms. */
const LOOKED_AGAIN_MS = 1_000;

/**
 * Each as it is when its turn comes, or was a second before: that may be long after the first one's. Undefined: it is paused, deleted, or
 * does not take such events any longer.
 */
function presentTriggers(
  matching: Matching,
  { event, data }: ToFire,
  known: EventTrigger[],
): (trigger: Trigger) => Promise<Trigger | undefined> {
  const { clock, known: knownTriggers } = matching;
  let [seen, present]: [EventTrigger[], Map<TriggerId, Trigger> | undefined] = [known, undefined];
  const look = async (): Promise<void> => {
    const now = await knownTriggers.of(event.organizationId, event.source, event.event);
    if (now === seen) return;
    const matched = await matchingTriggers(matching, publisherOf(event), data, now);
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
