/**
 * The reactions to events: triggers, which start runs on them (`triggers/matching/event-reactions.ts`), and runs that listen
 * (`triggers/listening/hear-event.ts`). The code of this room knows no more
 * of triggers; its SQL (event-store.ts) asks whether one was changed since an event, and keeps events that a firing shows.
 */
import type { OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { Within } from "../lib/reach.ts";
import type { ToFire } from "./events-to-fire.ts";

export type Reactions = {
  /** Those to events of this name, from memory; a promise only if they must be read. */
  to(organizationId: OrganizationId, source: string, event: string): Reacting | Promise<Reacting>;
  /**
   * The same as they are now in the database, for events that another process wrote: it may know of one that this process has not
   * heard of. The function that it returns reads each once, for all events of a page.
   */
  now(): ReactingNow;
  /** Tells runs that listen of an event. Resolves when all know. */
  hear(toFire: ToFire): Promise<void>;
  /** Whether runs may listen to events of this name. */
  mayBeHeard(organizationId: OrganizationId, event: string): Promise<boolean>;
  /** They have changed: `to` reads them again. */
  forget(organizationId: OrganizationId): void;
};

export type ReactingNow = (organizationId: OrganizationId, source: string, event: string) => Promise<Reacting>;

/** All that may react to events of one name. */
export type Reacting = {
  readonly count: number;
  /** When the newest of them was changed, ms; 0 without any. */
  readonly changedAt: number;
  /** Those that its publisher reaches and that take its data; a promise only if there are many. */
  match(within: Within, data: JsonObject): Match | Promise<Match>;
  /** Those of them that were there when the event was published, and have not reacted to it yet. */
  matchLeft(toFire: ToFire): Promise<Match>;
};

/** All that react to one event. */
export type Match = {
  readonly count: number;
  /** Throws the first error, after all others have reacted: the event is fired again later. */
  fire(toFire: ToFire): Promise<void>;
};

export const NO_MATCH: Match = { count: 0, fire: async () => {} };
export const NOTHING_REACTS: Reacting = {
  count: 0,
  changedAt: 0,
  match: () => NO_MATCH,
  matchLeft: async () => NO_MATCH,
};
