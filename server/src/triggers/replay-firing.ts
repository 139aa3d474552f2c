import { actorOf, type Caller } from "../auth/caller.ts";
import { conflict, notFound } from "../lib/errors.ts";
import type { FiringId } from "../lib/ids.ts";
import { parseStored, type JsonObject } from "../lib/json/json.ts";
import { allOf } from "../lib/reach.ts";
import { readEvent } from "../events/list-events.ts";
import { fire } from "./firings/fire.ts";
import { kindOf } from "./kinds/kinds.ts";
import { readFiringPayloads, readFiringRequests } from "./store/firing-store.ts";
import { readFiring } from "./store/list-firings.ts";
import { readTrigger } from "./store/list-triggers.ts";
import type { Firing } from "./store/trigger.ts";
import type { Triggers } from "./triggers.ts";

/**
 * Fires a trigger again with what came then, by the trigger as it is now, also if it is paused. A refusal is a firing like any
 * other. Throws NOT_FOUND for a firing that is not kept, and for a trigger that was deleted; CONFLICT for a call that was refused
 * before anything of it was kept; UNAVAILABLE.
 */
export async function replayFiring(triggers: Triggers, caller: Caller, firingId: FiringId): Promise<Firing> {
  const firing = await readFiring(triggers, caller, firingId);
  if (!firing) throw notFound("Firing");
  const trigger = await readTrigger(triggers, caller, firing.triggerId);
  if (!trigger) throw notFound("Trigger");
  const event = firing.eventId && (await readEvent(triggers, allOf(caller.organizationId), firing.eventId));
  const text = (await readFiringPayloads(triggers.database, caller.organizationId, [firingId])).get(firingId);
  if (text === undefined && kindOf(trigger.type).hasUrl && !firing.firedBy)
    throw conflict("wrong_state", "what came with this call was not kept, so it cannot be replayed");
  const parts = (await readFiringRequests(triggers.database, caller.organizationId, [firingId])).get(firingId);
  const fired = await fire(triggers, trigger, {
    dueAt: null,
    payload: text === undefined ? undefined : (parseStored(text) as JsonObject),
    parts: parts === undefined ? undefined : (parseStored(parts) as JsonObject),
    ...(event && { event }),
    asOf: (firing.dueAt ?? firing.at).getTime(),
    firedBy: actorOf(caller),
    replayOf: firingId,
  });
  if (!fired) throw notFound("Trigger");
  return fired.firing;
}
