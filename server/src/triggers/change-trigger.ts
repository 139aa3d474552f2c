/** Changes an existing trigger. */
import { isDeepStrictEqual } from "node:util";
import { record } from "../audit/record.ts";
import { nameProblem, tidyName } from "../auth/names.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import type { AuditAction } from "../audit/event.ts";
import { refuseAny, badInput, conflict, notFound, type FieldProblem } from "../lib/errors.ts";
import type { TriggerId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import type { Query } from "../storage/database.ts";
import type { TriggerStatus } from "../storage/schema.ts";
import { agentFor, problemsFor } from "./check-trigger.ts";
import { checkMaySign, checkNarrowed } from "./check-caller.ts";
import { readTrigger } from "./store/list-triggers.ts";
import { checkAlike, nameTaken } from "./create-trigger.ts";
import { checkedKeys, checkedPolicy, GIVEN_AT, type TriggerType } from "./kinds/kinds.ts";
import { dueAfter, lockTrigger, markDeleted, updateTriggerRow } from "./store/trigger-store.ts";
import { dropDue } from "./schedule/skip.ts";
import { tellFiring } from "./firings/watch-firings.ts";
import { signatureOf } from "./kinds/webhook/signature.ts";
import { deleteTokens } from "./webhooks/token-store.ts";
import type { Trigger } from "./store/trigger.ts";
import { tellChanged } from "./memory.ts";
import type { Triggers } from "./triggers.ts";

type UpdateRequest = {
  triggerId: TriggerId;
  name?: string | undefined;
  /** Replaces all keys; the type stays. */
  trigger?: { type: TriggerType; keys: JsonObject } | undefined;
  /** Replaces all of it. */
  policy?: JsonObject | undefined;
};

/** A missing part stays as it is. Throws NOT_FOUND, BAD_USER_INPUT with every field that is wrong, FORBIDDEN for a signature if the caller may not name secrets, CONFLICT for a name that is taken, and for a trigger of a definition. */
export async function updateTrigger(triggers: Triggers, caller: Acting, request: UpdateRequest): Promise<Trigger> {
  await checkBefore(triggers, caller, request);
  return change(triggers, caller, request.triggerId, async (query, before, now) => {
    refuseManaged(before);
    const changed = changedBy(before, request);
    if (request.trigger) checkNarrowed(caller, changed);
    const updated = await update(query, before, changed, now);
    if (!updated) throw nameTaken(changed.name);
    if (request.trigger) await checkAlike(query, updated);
    return { trigger: updated, action: "trigger_updated", detail: {} };
  });
}

/** Before the transaction: what this asks would wait for the connection that the transaction holds. */
async function checkBefore(triggers: Triggers, caller: Acting, request: UpdateRequest): Promise<void> {
  if (!request.trigger && !request.policy) return;
  const present = await readTrigger(triggers, caller, request.triggerId);
  if (!present || present.isManaged) return;
  const changed = changedBy(present, request);
  const { type, configuration, policy, agentId: id, projectId } = changed;
  const isResigned = !isDeepStrictEqual(signatureOf(present.policy), signatureOf(policy));
  if (isResigned) checkMaySign(caller, policy);
  const problems = await problemsFor(
    triggers.agents,
    { type, configuration, policy },
    await agentFor(triggers.agents, caller, { id, projectId }),
    GIVEN_AT,
  );
  // An unchanged part was valid when it was set.
  const isGiven = ({ path }: FieldProblem): boolean =>
    path.startsWith(GIVEN_AT.keys)
      ? request.trigger !== undefined
      : request.policy !== undefined && (isResigned || !path.startsWith(`${GIVEN_AT.policy}.signature`));
  refuseAny(problems.filter(isGiven));
}

function changedBy(before: Trigger, { name, trigger, policy }: UpdateRequest): Trigger {
  const problems: FieldProblem[] = [];
  const wrongName = name === undefined ? undefined : nameProblem(name, "input.name");
  if (wrongName) problems.push(wrongName);
  if (trigger && trigger.type !== before.type) {
    const message = `must be ${before.type}: a trigger keeps its type, so create another one`;
    throw badInput("invalid_input", `trigger.type ${message}`, [
      { path: "input.trigger.type", code: "not_a_choice", message },
    ]);
  }
  // An unchanged part was checked when it was set, perhaps by an older version's rules.
  const configuration = trigger
    ? checkedKeys(before.type, trigger.keys, GIVEN_AT.keys, problems)
    : before.configuration;
  const settled = policy ? checkedPolicy(before.type, policy, GIVEN_AT.policy, problems) : before.policy;
  refuseAny(problems);
  return { ...before, configuration, policy: settled, name: name === undefined ? before.name : tidyName(name) };
}

/** Setting the present status changes nothing. Throws NOT_FOUND. */
export const setTriggerStatus = (
  triggers: Triggers,
  caller: Acting,
  { triggerId, status }: { triggerId: TriggerId; status: TriggerStatus },
): Promise<Trigger> =>
  change(triggers, caller, triggerId, async (query, before, now) => {
    if (before.status === status) return { trigger: before };
    const updated = await update(query, before, { ...before, status }, now);
    return { trigger: updated!, action: "trigger_status_set", detail: { from: before.status, to: status } };
  });

/** For good: its URL is unknown from then on, in other processes within seconds. What it started stays. Throws NOT_FOUND, CONFLICT for a trigger of a definition. */
export const deleteTrigger = (triggers: Triggers, caller: Acting, triggerId: TriggerId): Promise<Trigger> =>
  change(triggers, caller, triggerId, async (query, before, now) => {
    refuseManaged(before);
    await deleteTokens(query, before);
    return { trigger: await markDeleted(query, before, now), action: "trigger_deleted", detail: {} };
  });

/** Only the definition may change a managed trigger, except for its status and its URL. */
function refuseManaged({ isManaged }: Trigger): void {
  if (isManaged)
    throw conflict("wrong_state", "the trigger comes from the agent's definition: change it there, and publish it");
}

const update = (query: Query, before: Trigger, after: Trigger, now: number): Promise<Trigger | undefined> =>
  updateTriggerRow(query, after, { due: dueAfter(before, after, now), now });

/** Without an action nothing was changed. */
type Changed = { trigger: Trigger; action?: AuditAction; detail?: Record<string, Json> };

async function change(
  triggers: Triggers,
  caller: Acting,
  id: TriggerId,
  work: (query: Query, before: Trigger, now: number) => Promise<Changed>,
): Promise<Trigger> {
  const { trigger: changed, dropped } = await triggers.database.transaction(async (query) => {
    const before = await lockTrigger(query, caller, id);
    if (!before) throw notFound("Trigger");
    const now = triggers.clock.now();
    const { trigger, action, detail = {} } = await work(query, before, now);
    if (action)
      await record(query, whoOf(caller), now, {
        action,
        subject: { kind: "trigger", id, name: trigger.name },
        detail,
      });
    return { trigger, dropped: trigger.deletedAt ? undefined : await dropDue(triggers, query, before, trigger) };
  }, caller.organizationId);
  tellChanged(triggers, changed);
  if (dropped) tellFiring(triggers, dropped);
  return changed;
}
