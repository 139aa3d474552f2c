import { actorOf, type Caller } from "../auth/caller.ts";
import { badInput, notFound } from "../lib/errors.ts";
import type { TriggerId } from "../lib/ids.ts";
import { isObject, type Json } from "../lib/json/json.ts";
import { fire } from "./firings/fire.ts";
import { readTrigger } from "./store/list-triggers.ts";
import type { Firing } from "./store/trigger.ts";
import type { Triggers } from "./triggers.ts";

/**
 * Fires it by hand, now, also if it is paused. `payload`: what would have come with it. A refusal is a firing like any other. Throws
 * NOT_FOUND, BAD_USER_INPUT for a payload that is no object, UNAVAILABLE.
 */
export async function fireTrigger(
  triggers: Triggers,
  caller: Caller,
  { triggerId, payload }: { triggerId: TriggerId; payload: Json | undefined },
): Promise<Firing> {
  if (payload !== undefined && !isObject(payload)) {
    const message = "must be an object";
    throw badInput("invalid_input", `payload ${message}`, [{ path: "input.payload", code: "wrong_type", message }]);
  }
  const trigger = await readTrigger(triggers, caller, triggerId);
  if (!trigger) throw notFound("Trigger");
  const fired = await fire(triggers, trigger, { dueAt: null, payload, firedBy: actorOf(caller) });
  if (!fired) throw notFound("Trigger");
  return fired.firing;
}
