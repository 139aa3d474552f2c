import { record } from "../audit/record.ts";
import { nameProblem, tidyName } from "../auth/names.ts";
import { actorOf, whoOf, type Acting } from "../auth/caller.ts";
import { readAgent } from "../agents/published.ts";
import type { Agent } from "../agents/agent.ts";
import { refuseAny, conflict, notFound, type FieldProblem, type Refusal } from "../lib/errors.ts";
import { encodeId, newIdAt, type AgentId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Query } from "../storage/database.ts";
import type { TriggerStatus } from "../storage/schema.ts";
import { agentFor, problemsFor } from "./check-trigger.ts";
import { checkMaySign, checkNarrowed } from "./check-caller.ts";
import { configured, GIVEN_AT, kindOf, type Given } from "./kinds/kinds.ts";
import { countAlike, countTriggers, insertTrigger } from "./store/trigger-store.ts";
import { makeToken } from "./webhooks/webhook-url.ts";
import type { Trigger } from "./store/trigger.ts";
import { tellChanged } from "./memory.ts";
import type { Triggers } from "./triggers.ts";

type CreateRequest = Given & { agentId: AgentId; name: string };

/**
 * From then on it starts runs of the agent. Throws NOT_FOUND for the agent, BAD_USER_INPUT with every field that is wrong,
 * FORBIDDEN for a signature if the caller may not name secrets, or CONFLICT when the agent is archived, has a trigger of that name, or the maximum is reached.
 */
export async function createTrigger(triggers: Triggers, caller: Acting, request: CreateRequest): Promise<Trigger> {
  const problems: FieldProblem[] = [];
  const wrongName = nameProblem(request.name, "input.name");
  if (wrongName) problems.push(wrongName);
  const made = configured(request, GIVEN_AT, problems);
  refuseAny(problems);
  const agent = await readAgent(triggers.agents, caller, request.agentId);
  if (!agent) throw notFound("Agent");
  if (agent.status === "archived")
    throw conflict("wrong_state", "the agent is archived: it gets no triggers until setAgentStatus makes it active");
  checkNarrowed(caller, { ...request, ...made, projectId: agent.projectId });
  checkMaySign(caller, made.policy);
  refuseAny(
    await problemsFor(
      triggers.agents,
      { ...request, ...made },
      await agentFor(triggers.agents, caller, agent),
      GIVEN_AT,
    ),
  );
  const trigger = await triggers.database.transaction(
    (query) => create(triggers, query, caller, { ...request, ...made, name: tidyName(request.name) }, agent),
    caller.organizationId,
  );
  tellChanged(triggers, trigger);
  return trigger;
}

async function create(
  triggers: Triggers,
  query: Query,
  caller: Acting,
  { name, type, configuration, policy }: Pick<Trigger, "name" | "type" | "configuration" | "policy">,
  agent: Agent,
): Promise<Trigger> {
  const trigger = await insertNew(triggers, query, {
    agent,
    name,
    type,
    configuration,
    policy,
    isManaged: false,
    createdBy: actorOf(caller),
  });
  await checkCounts(query, trigger);
  await record(query, whoOf(caller), triggers.clock.now(), {
    action: "trigger_created",
    subject: { kind: "trigger", id: trigger.id, name },
    detail: { agentId: encodeId("agent", agent.id), type },
  });
  return trigger;
}

type NewOne = Pick<Trigger, "name" | "type" | "configuration" | "policy" | "isManaged" | "createdBy"> & {
  /** By default active. */
  status?: TriggerStatus;
  agent: Agent;
};

/** With a token, if it has a URL. Throws CONFLICT for a name that is taken. `checkCounts` comes after it. */
export async function insertNew(
  triggers: Pick<Triggers, "clock" | "sealer">,
  query: Query,
  { agent, name, type, status = "active", configuration, policy, isManaged, createdBy }: NewOne,
): Promise<Trigger> {
  const now = triggers.clock.now();
  const kind = kindOf(type);
  const id = newIdAt<"trigger">(now);
  const trigger = await insertTrigger(query, {
    id,
    organizationId: agent.organizationId,
    projectId: agent.projectId,
    agentId: agent.id,
    name,
    type,
    status,
    configuration,
    policy,
    due: (status === "active" && kind.schedule?.next({ id, configuration, policy }, now)) || null,
    isManaged,
    createdBy,
    now,
  });
  if (!trigger) throw nameTaken(name);
  await checkAlike(query, trigger);
  if (kind.hasUrl) await makeToken(triggers, query, trigger);
  return trigger;
}

export const nameTaken = (name: string): Refusal =>
  conflict("name_taken", `the agent already has a trigger named ${name}: choose another name, or change that trigger`);

/**
 * With the new ones, once for all of them: it counts up to 100,000. Throws CONFLICT. Triggers made at the same time may exceed the
 * limits by a few.
 */
export async function checkCounts(
  query: Query,
  { organizationId, agentId }: Pick<Trigger, "organizationId" | "agentId">,
): Promise<void> {
  const { all, ofAgent } = await countTriggers(query, organizationId, agentId);
  if (ofAgent > LIMITS.triggersPerAgent)
    throw conflict("limit_reached", `an agent has at most ${LIMITS.triggersPerAgent} triggers: delete one first`);
  if (all > LIMITS.triggersPerOrganization)
    throw conflict(
      "limit_reached",
      `an organization has at most ${LIMITS.triggersPerOrganization} triggers: delete one first`,
    );
}

/** Throws CONFLICT when too many would fire on the same. With the new one; made at the same time, they may exceed the limit by a few. */
export async function checkAlike(query: Query, trigger: Trigger): Promise<void> {
  const { shared } = kindOf(trigger.type);
  if (!shared || (await countAlike(query, trigger, shared.keys)) <= shared.most) return;
  const same = shared.keys.join(" and ");
  throw conflict(
    "limit_reached",
    `an organization has at most ${shared.most} ${trigger.type} triggers with the same ${same}: delete one first`,
  );
}
