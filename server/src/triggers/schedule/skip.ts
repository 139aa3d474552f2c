/** Instants that pass without a run, and leave a firing that says so. */
import { moveOn } from "./due-store.ts";
import { onceAt, rowOf } from "../firings/fire.ts";
import { beingChanged } from "../firings/make-way.ts";
import { insertFiringIn, readFirst } from "../store/firing-store.ts";
import { kindOf } from "../kinds/kinds.ts";
import { checkTakes } from "../../runs/prepare-run.ts";
import type { Query } from "../../storage/database.ts";
import type { Due } from "../kinds/contract/trigger-kind.ts";
import type { Firing, Trigger } from "../store/trigger.ts";
import type { Firings } from "../firings/firings.ts";
import { tellFiring } from "../firings/watch-firings.ts";

/**
 * Keeps that instants passed without a run, the first of them `dueAt`, and the policy that says so; together with when it is due
 * next, as a kill in between would count them again, or leave out those after. Throws UNAVAILABLE, also when somebody has the trigger
 * locked, or has just fired the first of them.
 */
export async function skip(
  firings: Firings,
  trigger: Trigger,
  { dueAt, policy, count }: { dueAt: number; policy: string; count: number },
  next: Due | null,
): Promise<void> {
  checkTakes("runs", firings.runs);
  const row = rowOf(firings, trigger, { dueAt, payload: undefined });
  const firing = await firings.database.transaction(async (query) => {
    if (!(await moveOn(query, trigger, dueAt, next))) throw beingChanged();
    const written = await insertFiringIn(query, { ...row, outcome: "skipped", policy, skipped: count });
    if (!written) throw beingChanged();
    return written;
  }, trigger.organizationId);
  tellFiring(firings, firing);
}

/**
 * Within the transaction that changed a trigger: keeps which instants were due, had not fired yet and do not come any more. Late
 * in it, as a process that fires one of them at this moment waits for its end.
 */
export async function dropDue(
  { clock }: Pick<Firings, "clock">,
  query: Query,
  before: Trigger,
  after: Trigger,
): Promise<Firing | undefined> {
  const { schedule } = kindOf(before.type);
  const now = clock.now();
  let due = before.nextDueAt?.getTime();
  if (!schedule || due === after.nextDueAt?.getTime()) return undefined;
  const policy = after.status === "paused" ? "paused" : "changed";
  while (due !== undefined && due <= now) {
    const row = rowOf({ clock }, before, { dueAt: due, payload: undefined });
    const skipped = schedule.count(before, due, now);
    const message = `the trigger was ${policy} before it fired`;
    const firing = await insertFiringIn(query, { ...row, outcome: "skipped", policy, message, skipped });
    if (firing) return firing;
    // It has fired, and what comes after it was not written down yet.
    due = schedule.next(before, due)?.at;
  }
  return undefined;
}

/** Whether the instant has had its firing. */
export const hasFired = async (
  { database }: Firings,
  { organizationId, id }: Trigger,
  dueAt: number,
): Promise<boolean> =>
  (await readFirst(database, { organization_id: organizationId, trigger_id: id, once: onceAt(dueAt) })) !== undefined;
