/** The parts that finding and firing the triggers of an event needs. */
import type { Events } from "../../events/events.ts";
import type { Slots } from "../../fairness/slots.ts";
import type { Firings } from "../firings/firings.ts";
import type { KnownTriggers } from "./known-triggers.ts";

export type Matching = Firings & {
  events: Events;
  /** The triggers on events. */
  known: KnownTriggers;
  /** For one trigger fired on an event. */
  slots: Slots;
};
