import { record } from "../audit/record.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import { badInput, conflict, notFound } from "../lib/errors.ts";
import type { TriggerId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { kindOf } from "./kinds/kinds.ts";
import { lockTrigger } from "./store/trigger-store.ts";
import { replaceTokens } from "./webhooks/token-store.ts";
import type { Trigger } from "./store/trigger.ts";
import { tellChanged } from "./memory.ts";
import type { Triggers } from "./triggers.ts";
import { makeToken } from "./webhooks/webhook-url.ts";

type RotateRequest = { triggerId: TriggerId; overlapMinutes: number };

/**
 * Gives a webhook another URL. The present one is good for `overlapMinutes` more; one that was replaced before is not, from now on.
 * Throws BAD_USER_INPUT, NOT_FOUND, or CONFLICT for a trigger that has no URL.
 */
export async function rotateToken(
  triggers: Triggers,
  caller: Acting,
  { triggerId: id, overlapMinutes }: RotateRequest,
): Promise<Trigger> {
  if (overlapMinutes < 0 || overlapMinutes > LIMITS.tokenOverlapMinutes) {
    const message = `must be 0 to ${LIMITS.tokenOverlapMinutes}`;
    throw badInput("invalid_input", `overlapMinutes ${message}`, [
      { path: "input.overlapMinutes", code: "out_of_range", message },
    ]);
  }
  const rotated = await triggers.database.transaction(async (query) => {
    const trigger = await lockTrigger(query, caller, id);
    if (!trigger) throw notFound("Trigger");
    if (!kindOf(trigger.type).hasUrl) throw conflict("wrong_state", `a trigger of type ${trigger.type} has no URL`);
    const now = triggers.clock.now();
    const present = await makeToken(triggers, query, trigger);
    await replaceTokens(query, trigger, present, { until: now + overlapMinutes * 60_000, now });
    await record(query, whoOf(caller), now, {
      action: "webhook_token_rotated",
      subject: { kind: "trigger", id, name: trigger.name },
      detail: { overlapMinutes },
    });
    return trigger;
  }, caller.organizationId);
  tellChanged(triggers, rotated);
  return rotated;
}
