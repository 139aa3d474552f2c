/** The triggers of each event, from memory: most events match none, and cost no statement to find that out. */
import type { Clock } from "../../lib/clock.ts";
import { FairCache } from "../../fairness/fair-cache.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { inSlices, type Steps } from "../../fairness/slices.ts";
import type { Database } from "../../storage/database.ts";
import { readEventTriggers } from "../store/trigger-store.ts";
import type { Trigger } from "../store/trigger.ts";
import { compileFilter, type Filter } from "../../lib/events/event-filter.ts";

export type EventTrigger = { trigger: Trigger; filter: Filter };

export type TriggersNow = (organizationId: OrganizationId, source: string, event: string) => Promise<EventTrigger[]>;

/** A change in another process is seen after this, if its notice is lost. */
const TTL_MS = 5_000;
const REMEMBERED_BYTES = 32 * 1024 * 1024;
/** About what an entry takes besides the configurations in it, and each of its triggers. */
const ENTRY_BYTES = 500;

/** For each character of a policy: a mapping is kept compiled, too. */
const POLICY_BYTES = 20;

type Kept = { triggers: EventTrigger[]; until: number; bytes: number };

export class KnownTriggers {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #kept = new FairCache<Kept>(REMEMBERED_BYTES, ({ bytes }) => bytes);
  /** A change of an organization's triggers removes it: what is being read then may be what was there before. */
  readonly #loading = new Map<OrganizationId, Map<string, Promise<EventTrigger[]>>>();

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Those that are not paused, by their ids; a promise only where they must be read. */
  of(organizationId: OrganizationId, source: string, event: string): EventTrigger[] | Promise<EventTrigger[]> {
    const key = keyOf(source, event);
    const found = this.#kept.get(organizationId, key);
    if (found && found.until > this.#clock.now()) return found.triggers;
    return this.#loading.get(organizationId)?.get(key) ?? this.#load(organizationId, key, source, event);
  }

  /**
   * The same as they are now in the database, for events that another process wrote: it may know of a trigger that this one has not
   * heard of. What it returns reads each once, for all events of a page.
   */
  now(): TriggersNow {
    const readings = new Map<string, Promise<EventTrigger[]>>();
    return (organizationId, source, event) => {
      const key = keyOf(source, event);
      const reading = readings.get(organizationId + key) ?? this.#load(organizationId, key, source, event);
      readings.set(organizationId + key, reading);
      return reading;
    };
  }

  /** After a change of any of its triggers. */
  forget(organizationId: OrganizationId): void {
    this.#kept.forget(organizationId);
    this.#loading.delete(organizationId);
  }

  /** Changes may have been missed. */
  forgetAll(): void {
    this.#kept.clear();
    this.#loading.clear();
  }

  #load(organizationId: OrganizationId, key: string, source: string, event: string): Promise<EventTrigger[]> {
    const own = this.#loading.get(organizationId) ?? new Map<string, Promise<EventTrigger[]>>();
    this.#loading.set(organizationId, own);
    const until = this.#clock.now() + TTL_MS;
    /** Returns whether what was read may be kept: no change came meanwhile. */
    const end = (): boolean => {
      if (this.#loading.get(organizationId) !== own) return false;
      own.delete(key);
      if (own.size === 0) this.#loading.delete(organizationId);
      return true;
    };
    const promise = readEventTriggers(this.#database, organizationId, source, event)
      .then((found) => inSlices(compiling(found)))
      .then(
        ({ triggers, bytes }) => {
          const kept = { triggers, until, bytes: ENTRY_BYTES + 2 * key.length + bytes };
          if (end()) this.#kept.set(organizationId, key, kept);
          return triggers;
        },
        (error: unknown) => {
          end();
          throw error;
        },
      );
    own.set(key, promise);
    return promise;
  }
}

const keyOf = (source: string, event: string): string => JSON.stringify([source, event]);

/** The filters of 5,000 triggers take 300 ms. */
function* compiling(found: Trigger[]): Steps<Pick<Kept, "triggers" | "bytes">> {
  const triggers: EventTrigger[] = [];
  let bytes = 0;
  for (const trigger of found) {
    triggers.push({ trigger, filter: compileFilter(trigger.configuration["filter"]) });
    bytes += bytesOf(trigger);
    yield;
  }
  return { triggers, bytes };
}

const bytesOf = ({ configuration, policy }: Trigger): number =>
  ENTRY_BYTES + 4 * JSON.stringify(configuration).length + POLICY_BYTES * JSON.stringify(policy).length;
