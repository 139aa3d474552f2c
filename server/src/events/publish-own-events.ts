/**
 * Publishes the service's own events, so that agents chain, and has mails sent about questions. Each is a row of the outbox, written in the statement that made it true
 * (`outbox.ts`), and is published from there, also when the process was killed meanwhile. An event's id names its subject, so it is
 * published once however often that is tried. It fires triggers of its own project alone: a key that is narrowed to
 * another project must not see what runs here.
 */
import { SYSTEM } from "../audit/event.ts";
import { messageOf, Refusal } from "../lib/errors.ts";
import { NO_ID, type OrganizationId, type ProjectId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { Loop, type Round } from "../lib/loops/loop.ts";
import type { Events } from "./events.ts";
import type { Origin } from "./event-roots.ts";
import {
  deleteUntold,
  isNotice,
  releaseUntold,
  takeUntold,
  type Untold,
  type UntoldEvent,
  type UntoldNotice,
} from "./outbox-store.ts";
import { OWN_SOURCE } from "./own-source.ts";
import { acceptEvent } from "./publish-event.ts";
import type { Reacting, ReactingNow } from "./reactions.ts";

/** After this, it is taken for left behind. */
const LEASE_MS = 30_000;
const LOOK_EVERY_MS = 5_000;
/** Taken from the table at a time; when it is so few, none had more than its share. */
const TAKEN = 128;
const FEW = 16;
const MAX_LEFT_OUT = 1_000;

/** An event's content. `id`: the same each time that the row is read. */
export type OwnEventText = { projectId: ProjectId; id: string; data: JsonObject; origin: Origin };

/** Reads a row's subject, in the rooms that know runs and agents. Undefined: it is gone. */
export type ReadSubject = (row: UntoldEvent) => Promise<OwnEventText | undefined>;

/** Queues the mails of a notice, and deletes it in the same transaction. */
export type MailNotice = (notice: UntoldNotice) => Promise<void>;

type Ways = { read: ReadSubject; mail: MailNotice };

/** Publishes what has happened: at the start, every 5 s, and when asked to. */
export function publishOwnEvents(events: Events, ways: Ways): { loop: Loop } & AsyncDisposable {
  const { database, clock, log, intake, outbox } = events;
  /** No other process can hold them. */
  let isFirst = database.isEmbedded;
  let after = NO_ID;
  /** Left out for 5 s, because one of their events was not published. Beyond a maximum the lease alone delays them. */
  const leftOut = new Set<OrganizationId>();
  let leftOutUntil = clock.now();

  const sweep = async (round: Round): Promise<void> => {
    if (isFirst) await releaseUntold(database);
    isFirst = false;
    while (round.goesOn() && !intake.isDraining()) {
      const now = clock.now();
      if (Math.abs(leftOutUntil - now) > LOOK_EVERY_MS || now >= leftOutUntil) {
        leftOut.clear();
        leftOutUntil = now + LOOK_EVERY_MS;
      }
      const without = [...leftOut];
      const taken = await takeUntold(database, { most: TAKEN, now, until: now + LEASE_MS, after, without });
      // Rows taken by a replaced look are due again when their lease is over.
      if (!round.goesOn()) return;
      const reactingNow = events.reactions.now();
      const told = await Promise.all(taken.map((one) => tell(events, ways, one, { reactingNow, leftOut })));
      await deleteTold(
        database,
        taken.filter((_, index) => told[index]),
      );
      if (!round.goesOn()) return;
      const isWhole = after === NO_ID;
      const had = new Set(taken.map(({ organizationId }) => organizationId));
      after = had.size < TAKEN ? NO_ID : lastOf(taken);
      if (isWhole && taken.length < FEW) break;
    }
  };
  const loop = new Loop({
    clock,
    log,
    name: "own-events",
    everyMs: LOOK_EVERY_MS,
    look: sweep,
    failed: "events of the service itself were not published; trying again",
  }).start();
  outbox.look = () => loop.wake();
  return {
    loop,
    async [Symbol.asyncDispose]() {
      outbox.look = () => {};
      await loop[Symbol.asyncDispose]();
    },
  };
}

const lastOf = (taken: Untold[]): string =>
  taken.reduce((last, { organizationId }) => (organizationId > last ? organizationId : last), NO_ID);

const deleteTold = async (database: Events["database"], told: Untold[]): Promise<void> => {
  if (told.length > 0) await deleteUntold(database, told);
};

type Telling = { reactingNow: ReactingNow; leftOut: Set<OrganizationId> };

/** Returns whether it needs no retry. Never throws: after a failure its organization is left out for a while. */
async function tell(
  events: Events,
  { read, mail }: Ways,
  untold: Untold,
  { reactingNow, leftOut }: Telling,
): Promise<boolean> {
  const { log, ownSlots } = events;
  const { organizationId, event, subjectId } = untold;
  try {
    await ownSlots.run(organizationId, async () =>
      isNotice(untold)
        ? mail(untold)
        : publishOwn(events, read, untold, await reactingNow(organizationId, OWN_SOURCE, event)),
    );
    return true;
  } catch (error) {
    const about = { organization: organizationId, event, subject: subjectId, reason: messageOf(error) };
    // It was published by a server that told it in other words.
    const wasPublished = error instanceof Refusal && error.code === "CONFLICT";
    if (wasPublished) log.warn(about, "an event was published before");
    else if (!leftOut.has(organizationId)) log.warn(about, "events could not be published; they will be retried");
    if (!wasPublished && leftOut.size < MAX_LEFT_OUT) leftOut.add(organizationId);
    return wasPublished;
  }
}

async function publishOwn(events: Events, read: ReadSubject, untold: UntoldEvent, reacting: Reacting): Promise<void> {
  const { organizationId, event, at: time } = untold;
  const { reactions } = events;
  const isWanted = reacting.count > 0 || (await reactions.mayBeHeard(organizationId, event));
  const text = isWanted && (await read(untold));
  if (!text) return;
  const { projectId, id, data, origin } = text;
  const reach = { projectIds: [projectId], agentIds: [], shownProjectIds: [] };
  const given = { source: OWN_SOURCE, event, id, time, data, text: JSON.stringify(data) };
  await acceptEvent(events, { organizationId, reach }, SYSTEM, given, { ...origin, reacting });
}
