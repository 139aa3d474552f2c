/** The room's handle, the first parameter of each of its operations. */
import type { Agents } from "../agents/agents.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log/log.ts";
import { LIMITS } from "../lib/limits.ts";
import { Slots } from "../fairness/slots.ts";
import { Feeds } from "../realtime/feed.ts";
import { Hub } from "../realtime/hub.ts";
import { noNotices, type Notices } from "../realtime/notices.ts";
import type { Runs } from "../runs/handle/runs.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { Sealer } from "../secrets/seal.ts";
import type { Database } from "../storage/database.ts";
import type { FiringMessage, Trigger } from "./store/trigger.ts";
import { DueClock } from "./schedule/due-clock.ts";
import { createEvents, type Events } from "./events/events.ts";
import { Queues } from "./firings/queues.ts";
import { createTokenSealer } from "./webhooks/token.ts";
import { createWebhooks, type KnownWebhooks } from "./webhooks/find-webhook.ts";
import { createRefusedCalls, type RefusedCalls } from "./webhooks/refused-calls.ts";

export type Triggers = {
  database: Database;
  clock: Clock;
  log: Log;
  agents: Agents;
  runs: Runs;
  notices: Pick<Notices, "send" | "on">;
  secrets: Secrets;
  sealer: Sealer;
  /** How clients reach the server; without a slash at the end. */
  url: string;
  webhooks: KnownWebhooks;
  refusedCalls: RefusedCalls;
  events: Events;
  queues: Queues;
  due: DueClock;
  /** For one large input that a mapping made, until it is written. */
  largeInputs: Slots;
  /** New firings, by organization, and what subscriptions read of them. */
  changes: Hub<FiringMessage>;
  feed: Feeds<FiringMessage>;
};

/** What is made here. */
type Own =
  | "largeInputs"
  | "sealer"
  | "webhooks"
  | "refusedCalls"
  | "events"
  | "queues"
  | "due"
  | "notices"
  | "changes"
  | "feed";
type TriggersOptions = Omit<Triggers, Own> & {
  derive: (purpose: string) => Buffer;
  /** If left out, no other process is told. */
  notices?: Pick<Notices, "send" | "on" | "onMissed">;
};

export function createTriggers({ derive, notices = noNotices, ...base }: TriggersOptions): Triggers {
  const webhooks = createWebhooks(base.database, base.clock);
  const due = new DueClock({ ...base, notices });
  const events = createEvents(base);
  notices.on("trigger", (organizationId) => {
    webhooks.forget(organizationId);
    events.known.forget(organizationId);
    events.listeners.changed(organizationId);
    due.look();
  });
  notices.onMissed(() => {
    webhooks.forgetAll();
    events.known.forgetAll();
    events.listeners.forget();
  });
  const changes: Triggers["changes"] = new Hub();
  const feed = new Feeds({ hub: changes, keyOf: ({ id }: FiringMessage) => id, most: LIMITS.changesWaiting });
  notices.on("firing", (organizationId, id) => changes.publish(organizationId, { id }));
  notices.on("event", (organizationId, id) => events.changes.publish(organizationId, { id }));
  const sealer = createTokenSealer(derive);
  const refusedCalls = createRefusedCalls(base.clock);
  const largeInputs = new Slots(LIMITS.largeInputs, LIMITS.largeInputsOwn / LIMITS.largeInputs);
  return {
    ...base,
    largeInputs,
    notices,
    webhooks,
    refusedCalls,
    events,
    queues: new Queues(),
    due,
    changes,
    feed,
    sealer,
  };
}

/** After the commit: what is kept of it in memory is read again, here and in other processes. */
export function tellChanged({ webhooks, events, notices, due }: Triggers, { organizationId, id }: Trigger): void {
  webhooks.forget(organizationId);
  events.known.forget(organizationId);
  events.listeners.changed(organizationId);
  due.look();
  notices.send({ kind: "trigger", organizationId, id });
}
