import { isDeepStrictEqual } from "node:util";
import type { Agent } from "../agents/agent.ts";
import type { DefinedTriggers } from "../agents/agents.ts";
import { actorOf, lacksScopes, type Acting } from "../auth/caller.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { insertUntold } from "../events/outbox-store.ts";
import { allOf } from "../lib/reach.ts";
import type { Query } from "../storage/database.ts";
import { checkAlike, checkCounts, insertNew, nameTaken } from "./create-trigger.ts";
import { checkNarrowed } from "./check-caller.ts";
import { checkDefined, checkDefinedIn, definedTriggers, type DefinedTrigger } from "./defined-triggers.ts";
import { dueAfter, lockTrigger, markDeleted, readManaged, updateTriggerRow } from "./store/trigger-store.ts";
import { deleteTokens } from "./webhooks/token-store.ts";
import { dropDue } from "./schedule/skip.ts";
import type { Firing, Trigger } from "./store/trigger.ts";
import { hasListener } from "./matching/listeners.ts";
import { tellChanged, type TriggerMemory } from "./memory.ts";
import { tellFiring } from "./firings/watch-firings.ts";

/** `changed` is called with each, and `dropped` with the firings of instants that do not come any more; after the commit. */
export type Making = Pick<TriggerMemory, "clock" | "sealer"> & {
  changed: (trigger: Trigger) => void;
  dropped: (firing: Firing) => void;
};

/** Triggers as `agents/` is handed them. Tells listeners of the published agent, too. */
export function triggersOfDefinitions(memory: TriggerMemory): DefinedTriggers {
  const making: Making = {
    ...memory,
    changed: (trigger) => tellChanged(memory, trigger),
    dropped: (firing) => tellFiring(memory, firing),
  };
  return {
    check: checkDefined,
    checkIn: checkDefinedIn,
    publish: async (query, caller, agent, workflow) => {
      const { detail, tell } = await publishTriggers(making, query, caller, agent, workflow);
      const isHeard = await tellPublished(query, agent);
      return { detail, tell: () => (tell(), isHeard && memory.outbox.look()) };
    },
  };
}

/** Within the transaction, after the agent's triggers were made. Returns whether anybody listens. */
async function tellPublished(
  query: Query,
  { organizationId, id: subjectId, publishedVersion, updatedAt: at }: Agent,
): Promise<boolean> {
  const isHeard = await hasListener(query, organizationId, "agent.published");
  if (isHeard)
    await insertUntold(query, {
      organizationId,
      event: "agent.published",
      subjectId,
      at,
      version: publishedVersion!,
    });
  return isHeard;
}

type PublishedTriggers = {
  /** For the audit; undefined: nothing changed. */
  detail: { created: number; changed: number; deleted: number } | undefined;
  /** After the commit. */
  tell: () => void;
};

/**
 * Within the transaction that publishes a version: makes the agent's triggers what its definition says. They are matched by name, so
 * a webhook's URL stays as long as its name does, and so does the status. Those that were made by `createTrigger` are left alone.
 * Throws FORBIDDEN for a caller without triggers:write when anything changes, and for triggers on others' events by a narrowed key;
 * CONFLICT when one of them has a name that the definition gives, or there would be too many.
 */
export async function publishTriggers(
  { changed, dropped, ...making }: Making,
  query: Query,
  caller: Acting,
  agent: Agent,
  workflow: Workflow,
): Promise<PublishedTriggers> {
  const now = making.clock.now();
  const defined = new Map(definedTriggers(workflow).map((trigger) => [trigger.name, trigger]));
  const told: Trigger[] = [];
  const kept: { before: Trigger; one: DefinedTrigger }[] = [];
  const gone: Trigger[] = [];
  const changes: [Trigger, Trigger][] = [];
  // Nobody else publishes the agent meanwhile. A trigger is locked only if it changes, and these last: its firings wait for it.
  for (const trigger of await readManaged(query, agent.organizationId, agent.id)) {
    const one = defined.get(trigger.name);
    if (one?.type !== trigger.type) {
      gone.push(trigger);
      continue;
    }
    defined.delete(trigger.name);
    if (!isSame(trigger, one)) kept.push({ before: trigger, one });
  }
  const count = { created: defined.size, changed: kept.length, deleted: gone.length };
  if (gone.length + defined.size + kept.length === 0) return { detail: undefined, tell: () => {} };
  // Triggers start runs: agents:write alone must not.
  if (!caller.scopes.has("triggers:write"))
    throw lacksScopes(caller, new Map([["triggers:write", "document.metadata.triggers"]]));
  for (const trigger of gone) told.push(await markDeleted(query, trigger, now));
  for (const one of defined.values()) {
    checkNarrowed(caller, { ...one, projectId: agent.projectId });
    told.push(await insertNew(making, query, { ...one, agent, isManaged: true, createdBy: actorOf(caller) }));
  }
  for (const { before, one } of kept) {
    if (!isDeepStrictEqual(before.configuration, one.configuration))
      checkNarrowed(caller, { ...one, projectId: agent.projectId });
    // Whether it is paused may have changed since it was read.
    const locked = await lockTrigger(query, allOf(agent.organizationId), before.id);
    const after = { ...locked!, configuration: one.configuration, policy: one.policy };
    const updated = await updateTriggerRow(query, after, { due: dueAfter(locked!, after, now), now });
    if (!updated) throw nameTaken(one.name);
    await checkAlike(query, updated);
    told.push(updated);
    changes.push([locked!, updated]);
  }
  // After those that were made: see presentKeyId.
  for (const trigger of gone) await deleteTokens(query, trigger);
  if (count.created > 0) await checkCounts(query, { organizationId: agent.organizationId, agentId: agent.id });
  const firings: (Firing | undefined)[] = [];
  for (const [before, after] of changes) firings.push(await dropDue(making, query, before, after));
  return {
    detail: count,
    tell: () => {
      for (const trigger of told) changed(trigger);
      for (const firing of firings) if (firing) dropped(firing);
    },
  };
}

const isSame = (before: Trigger, { configuration, policy }: DefinedTrigger): boolean =>
  isDeepStrictEqual(before.configuration, configuration) && isDeepStrictEqual(before.policy, policy);
