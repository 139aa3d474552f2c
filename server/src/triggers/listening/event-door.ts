/** The door between runs and events (`execution/events/event-door.ts`): runs publish them, and listen to them. */
import { LRUCache } from "lru-cache";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { EVENT_KEYS, checkEvent } from "../../events/check-event.ts";
import { publisherOf, type Event } from "../../events/event.ts";
import type { Events } from "../../events/events.ts";
import { OWN_EVENTS } from "../../events/own-source.ts";
import { acceptEvent } from "../../events/publish-event.ts";
import { Postponed } from "../../execution/effect.ts";
import type { EmittedEvent, EventDoor, ListenedEvent, ReadEvent } from "../../execution/events/event-door.ts";
import type { Head } from "../../execution/journal/loaded-run.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal, type FieldProblem } from "../../lib/errors.ts";
import { writtenPath } from "../../lib/events/event-key.ts";
import { SIGNAL_SOURCE } from "../../lib/events/event-name.ts";
import { NO_ID, type OrganizationId, type RunId, type TriggerId } from "../../lib/ids.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { allOf, reaches } from "../../lib/reach.ts";
import { readSignals, readWaiting, setTaken, type Signal } from "../../runs/signal-store.ts";
import type { Database } from "../../storage/database.ts";
import type { Notices } from "../../realtime/notices.ts";
import { originOfRun } from "../store/firing-store.ts";
import { createHeardReader, noteListened, readFiringEvent, readPublished, readWholeEvents } from "./listening-store.ts";

type DoorOptions = {
  database: Database;
  clock: Clock;
  memory: { listeners: { changed(organizationId: OrganizationId): void }; notices: Pick<Notices, "send"> };
  /** Asked when a run emits, since events are made later. */
  events: () => Events;
};

/** Events are noted as listened to again after this; `forgetListened` forgets them after a month. */
const NOTED_MS = 600_000;
const NOTED_REMEMBERED = 10_000;
/** No statement takes longer (storage/database.ts): one that began before may still write an event that does not know of it. */
const LONGEST_WRITE_MS = 35_000;
const AGAIN_MS = 5_000;

export function createEventDoor({ database, clock, memory, events }: DoorOptions): EventDoor {
  const noting = new Noting({ database, clock, memory });
  const heard = createHeardReader(database);
  return {
    emit: (head, event) => emit(events(), head, event),
    expect: (...asked) => noting.note(...asked),
    async published({ id, organizationId, startedBy }, listened, since) {
      const found = await readPublished(database, organizationId, listened, since);
      if (found.length === 0 || startedBy.kind !== "trigger") return found;
      const first = await readFiringEvent(database, organizationId, id);
      return found.filter((one) => one !== first);
    },
    heard: ({ id, organizationId }) => heard.add({ organizationId, runId: id }),
    signals: (head) => readWaiting(database, head.organizationId, signalledOf(head)),
    tookSignals: ({ id, organizationId }, ids) => setTaken(database, organizationId, id, ids),
    async read(head, ids) {
      const { organizationId, projectId, agentId } = head;
      const found = await readWholeEvents(database, organizationId, ids);
      const seen = found.filter(({ event }) => reaches(publisherOf(event), { projectId, agentId })).map(readOf);
      if (found.length === ids.length) return seen;
      const isEvent = new Set(found.map(({ event }) => event.id));
      const others = ids.filter((id) => !isEvent.has(id));
      const signals = await readSignals(database, organizationId, signalledOf(head), others);
      return [...seen, ...signals.map(readAsEvent)].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    },
  };
}

const readOf = ({ event, data }: { event: Event; data: JsonObject }): ReadEvent => ({
  id: event.id,
  sourceId: event.sourceId,
  source: event.source,
  type: event.event,
  subject: event.subject,
  time: event.time,
  data,
});

/** A retry hears what was sent to the run that it retries, too. */
const signalledOf = ({ id, retryOf }: Head): RunId[] => (retryOf ? [id, retryOf] : [id]);

const readAsEvent = ({ id, name, once, at, data }: Signal): ReadEvent => ({
  id,
  sourceId: once ?? id,
  source: SIGNAL_SOURCE,
  type: name,
  subject: null,
  time: at,
  data,
});

/** Notes to which events runs listen, and remembers what it noted. */
class Noting {
  readonly #options: Omit<DoorOptions, "events">;
  readonly #noted = new LRUCache<string, { at: number; since: number }>({ max: NOTED_REMEMBERED });

  constructor(options: Omit<DoorOptions, "events">) {
    this.#options = options;
  }

  /** Returns until when an event may be committed that does not know of it, ms; 0: none. Throws WorkflowError. */
  async note(organizationId: OrganizationId, listened: readonly ListenedEvent[]): Promise<number> {
    const now = this.#options.clock.now();
    const known = listened.map((one) => this.#noted.get(keyOf(organizationId, one)));
    const isKnown = known.every((one) => one && Math.abs(now - one.at) <= NOTED_MS);
    const since = isKnown
      ? Math.max(...known.map((one) => one!.since))
      : await this.#write(organizationId, listened, now);
    const until = since + LONGEST_WRITE_MS;
    return until > now ? until : 0;
  }

  async #write(organizationId: OrganizationId, listened: readonly ListenedEvent[], now: number): Promise<number> {
    const { database, memory } = this.#options;
    const since = await noteListened(database, organizationId, listened, now);
    if (since === undefined) throw tooMany();
    for (const one of listened) this.#noted.set(keyOf(organizationId, one), { at: now, since });
    if (listened.some(({ type }) => OWN.has(type))) tellOwnListened(memory, organizationId);
    return since;
  }
}

const keyOf = (organizationId: OrganizationId, { type, path }: ListenedEvent): string =>
  JSON.stringify([organizationId, type, writtenPath(path)]);

const tooMany = (): WorkflowError =>
  WorkflowError.of(
    "limit",
    `runs of an organization listen to at most ${LIMITS.eventsListened} kinds of event, and find those of one type by at most ${LIMITS.placesListened} places in its data`,
  );

const OWN: ReadonlySet<string> = new Set(OWN_EVENTS);

/** From now on the ends of runs and the like are written down, in every process (matching/listeners.ts). */
function tellOwnListened({ listeners, notices }: DoorOptions["memory"], organizationId: OrganizationId): void {
  listeners.changed(organizationId);
  notices.send({ kind: "trigger", organizationId, id: NO_ID as TriggerId });
}

async function emit(
  events: Events,
  head: Head,
  { type: event, id, source, subject, time, data }: EmittedEvent,
): Promise<void> {
  const { organizationId } = head;
  const given = { source, event, id, time, data, subject };
  const problems: FieldProblem[] = [];
  const text = checkEvent(given, "", { ...EVENT_KEYS, event: "type" }, problems);
  const [first] = problems;
  if (first) throw WorkflowError.of("validation", `the event was not published: its ${first.path} ${first.message}`);
  const origin = await originOfRun(events.database, organizationId, head.id);
  try {
    await acceptEvent(events, allOf(organizationId), { kind: "run", id: head.id }, { ...given, text }, origin);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "UNAVAILABLE") throw new Postponed(events.clock.now() + AGAIN_MS);
    throw WorkflowError.of("runtime", `the event was not published: ${error.message}`);
  }
}
