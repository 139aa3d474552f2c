/** Fires a trigger that is due, for the clock. */
import { encodeId } from "../../lib/ids.ts";
import { Refusal } from "../../lib/errors.ts";
import { fire, refuseFiring } from "../firings/fire.ts";
import { kindOf } from "../kinds/kinds.ts";
import { hasFired, skip } from "./skip.ts";
import type { Due, DueNow } from "../kinds/contract/trigger-kind.ts";
import type { Trigger } from "../store/trigger.ts";
import type { Firings } from "../firings/firings.ts";

/**
 * Fires it, or keeps that instants were missed: what comes after these is due at once then. One whose schedule cannot be
 * read any longer is not due any more, and a refused firing says why. Throws UNAVAILABLE when the server takes
 * no runs, or somebody has the trigger locked: it stays due.
 */
export async function fireDue(
  firings: Firings,
  trigger: Trigger,
): Promise<{ next_due_at: number | null; wakes_at: number | null }> {
  const { schedule } = kindOf(trigger.type);
  if (!schedule) throw new Error(`${encodeId("trigger", trigger.id)} has no schedule`);
  const due = trigger.nextDueAt!.getTime();
  const at = firings.clock.now();
  let now: DueNow;
  let next: Due | null;
  try {
    now = schedule.dueNow(trigger, due, at);
    next = schedule.next(trigger, now.skipped?.to ?? now.fire ?? due);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    await refuseFiring(firings, trigger, { dueAt: due, payload: undefined }, error);
    return { next_due_at: null, wakes_at: null };
  }
  const { skipped, fire: instant } = now;
  if (!skipped) {
    if (instant !== undefined) await fire(firings, trigger, { dueAt: instant, payload: undefined });
  } else if (await hasFired(firings, trigger, due)) {
    // The process that fired it was killed before the next one was written down: it does not count as missed.
    next = schedule.next(trigger, due);
  } else {
    await skip(firings, trigger, { dueAt: due, policy: "missed", count: skipped.count }, next);
  }
  return { next_due_at: next?.at ?? null, wakes_at: next?.wakesAt ?? null };
}
