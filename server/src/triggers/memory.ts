/**
 * This process's memory of triggers, and how it hears of changes. It knows no agents and no runs: publishing an agent changes its
 * triggers, and the end of a run may release another one, so `join-rooms.ts` makes it before both.
 */
import type { Outbox } from "../events/outbox.ts";
import type { Clock } from "../lib/clock.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { Feeds } from "../realtime/feed.ts";
import { Hub } from "../realtime/hub.ts";
import { noNotices, type Notices } from "../realtime/notices.ts";
import type { Sealer } from "../secrets/seal.ts";
import type { Database } from "../storage/database.ts";
import type { Firings } from "./firings/firings.ts";
import { Queues } from "./firings/queues.ts";
import { KnownTriggers } from "./matching/known-triggers.ts";
import { Listeners } from "./matching/listeners.ts";
import { DueClock } from "./schedule/due-clock.ts";
import type { FiringMessage, Trigger } from "./store/trigger.ts";
import { KnownWebhooks } from "./webhooks/find-webhook.ts";
import { createTokenSealer } from "./webhooks/token.ts";

export type TriggerMemory = Pick<Firings, "clock" | "queues" | "changes" | "feed"> & {
  notices: Pick<Notices, "send" | "on" | "onMissed">;
  sealer: Sealer;
  webhooks: KnownWebhooks;
  /** The triggers on events. */
  known: KnownTriggers;
  listeners: Listeners;
  /** The events of runs and published agents themselves; `events/` publishes them. */
  outbox: Outbox;
  due: DueClock;
};

type MemoryOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  derive: (purpose: string) => Buffer;
  /** If left out, no other process is told. */
  notices?: Pick<Notices, "send" | "on" | "onMissed"> | undefined;
};

export function createTriggerMemory({ derive, notices = noNotices, ...base }: MemoryOptions): TriggerMemory {
  const { database, clock } = base;
  const changes: TriggerMemory["changes"] = new Hub();
  const listeners = new Listeners(base);
  const memory: TriggerMemory = {
    clock,
    notices,
    changes,
    feed: new Feeds({ hub: changes, keyOf: ({ id }: FiringMessage) => id, most: LIMITS.changesWaiting }),
    queues: new Queues(),
    sealer: createTokenSealer(derive),
    webhooks: new KnownWebhooks(database, clock),
    known: new KnownTriggers(database, clock),
    listeners,
    outbox: { isHeard: listeners.has, look: () => {} },
    due: new DueClock({ ...base, notices }),
  };
  notices.on("trigger", (organizationId) => forget(memory, organizationId));
  notices.on("firing", (organizationId, id) => changes.publish(organizationId, { id }));
  notices.onMissed(() => {
    memory.webhooks.forgetAll();
    memory.known.forgetAll();
    listeners.forget();
  });
  return memory;
}

type Remembering = Pick<TriggerMemory, "webhooks" | "known" | "listeners" | "due">;

function forget({ webhooks, known, listeners, due }: Remembering, organizationId: Trigger["organizationId"]): void {
  webhooks.forget(organizationId);
  known.forget(organizationId);
  listeners.changed(organizationId);
  due.look();
}

/** After the commit: what is kept of it in memory is read again, here and in other processes. */
export function tellChanged(
  memory: Remembering & Pick<TriggerMemory, "notices">,
  { organizationId, id }: Trigger,
): void {
  forget(memory, organizationId);
  memory.notices.send({ kind: "trigger", organizationId, id });
}
