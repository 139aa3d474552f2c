/** The door between tasks and events, which the rooms above publish and find. */
import type { Id, OrganizationId } from "../../lib/ids.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Head } from "../journal/loaded-run.ts";

/** An event that a task emits. `id`: the same for every attempt. */
export type EmittedEvent = {
  id: string;
  source: string;
  type: string;
  subject?: string;
  time?: Date;
  data: JsonObject;
};

/** An event as a task reads it. */
export type ReadEvent = {
  id: Id<"event">;
  /** The id that its source gave it. */
  sourceId: string;
  source: string;
  type: string;
  subject: string | null;
  time: Date;
  data: JsonObject;
};

/** A kind of event that a step listens to. `path`: where the value is by which the step is found; a field, or names. */
export type ListenedEvent = {
  type: string;
  source?: string | undefined;
  path?: string | readonly string[] | undefined;
};

export type EventDoor = {
  /** Resolves when it is committed. Throws WorkflowError, and Postponed if no event is taken now. */
  emit(head: Head, event: EmittedEvent): Promise<void>;
  /**
   * From when it resolves on, such events are matched with the steps that listen. Returns until when one may be committed that was
   * written before, ms. Throws WorkflowError.
   */
  expect(organizationId: OrganizationId, events: readonly ListenedEvent[]): Promise<number>;
  /** The newest of them that were published since, oldest first. */
  published(head: Head, events: readonly ListenedEvent[], since: number): Promise<Id<"event">[]>;
  /** The signals to the run, and to the one that it retries, that no step is known to have taken, oldest first. */
  signals(head: Head): Promise<{ id: Id<"event">; name: string }[]>;
  /** Steps that are over have taken these signals. */
  tookSignals(head: Head, ids: readonly Id<"event">[]): Promise<void>;
  /** Those that one of the run's steps may listen to, and has not looked at yet. */
  heard(head: Head): Promise<{ step: number; id: Id<"event"> }[]>;
  /** Events and signals, in the order of the ids. Those that the run must not see, or that are gone, are left out. */
  read(head: Head, ids: readonly Id<"event">[]): Promise<ReadEvent[]>;
};
