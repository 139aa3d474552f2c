import type { Actor } from "../lib/actor.ts";
import type { EventId, OrganizationId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import type { Reach, Within } from "../lib/reach.ts";
import type { Payload } from "../lib/json/json-text.ts";

/** Something that happened elsewhere, as somebody published it. */
export type Event = {
  id: EventId;
  organizationId: OrganizationId;
  /** Which triggers it may fire: those that its publisher reaches. */
  reach: Pick<Reach, "projectIds" | "agentIds"> | undefined;
  /** Where it happened. */
  source: string;
  /** The name of what happened. */
  event: string;
  /** The id that its source gave it: published again, it is the same event. */
  sourceId: string;
  /** The thing at its source that it is about. */
  subject: string | null;
  /** When it happened. */
  time: Date;
  /** When it was published. */
  at: Date;
  data: Payload;
  /** How many events led to it, each by a run that the one before started. */
  depth: number;
  /** The first of them, and how many that fire came of that one, this one too; null for one that fires nothing. */
  rootId: EventId | null;
  rootNumber: number | null;
  publishedBy: Actor;
};

/** As its publisher gives it. */
export type GivenEvent = {
  source: string;
  event: string;
  id: string;
  /** Now, if left out. */
  time?: Date | undefined;
  /** Must be an object. */
  data: Json;
  /** The thing at its source that it is about. */
  subject?: string | undefined;
};

/** A new event. Those that wait for a slow reader hold no data in memory. */
export type EventMessage = { id: EventId; event?: WeakRef<Event> };

/** The projects that its publisher reaches. */
export const publisherOf = ({ organizationId, reach }: Event): Within => ({
  organizationId,
  reach: reach && { ...reach, shownProjectIds: [] },
});
