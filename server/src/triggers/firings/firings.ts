/** The parts that firing a trigger needs. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Slots } from "../../fairness/slots.ts";
import type { Feeds } from "../../realtime/feed.ts";
import type { Hub } from "../../realtime/hub.ts";
import type { Notices } from "../../realtime/notices.ts";
import type { Runs } from "../../runs/handle/runs.ts";
import type { Database } from "../../storage/database.ts";
import type { FiringMessage } from "../store/trigger.ts";
import type { Queues } from "./queues.ts";

export type Firings = {
  database: Database;
  clock: Clock;
  log: Log;
  runs: Runs;
  notices: Pick<Notices, "send" | "on">;
  queues: Queues;
  /** For one large input that a mapping made, until it is written. */
  largeInputs: Slots;
  /** New firings, by organization, and what subscriptions read of them. */
  changes: Hub<FiringMessage>;
  feed: Feeds<FiringMessage>;
};
