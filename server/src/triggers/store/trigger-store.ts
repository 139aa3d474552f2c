/** The SQL of triggers. */
import { isDeepStrictEqual } from "node:util";
import type { AgentId, OrganizationId, ProjectId, RunId, TriggerId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { PageRequest } from "../../lib/page.ts";
import { reaches, reached, type Within } from "../../lib/reach.ts";
import type { Database, Query, Row } from "../../storage/database.ts";
import { isDuplicate } from "../../storage/pg-errors.ts";
import type { TriggerStatus } from "../../storage/schema.ts";
import { kindOf, type TriggerType } from "../kinds/kinds.ts";
import type { Due } from "../kinds/contract/trigger-kind.ts";
import type { Trigger } from "./trigger.ts";

export const COLUMNS = `id, organization_id, project_id, agent_id, name, type, status, configuration, policy, next_due_at,
  is_managed,
  created_by_kind, created_by_id, created_at, updated_at, deleted_at`;

export const triggerOf = (row: Row): Trigger => ({
  id: row.id,
  organizationId: row.organization_id,
  projectId: row.project_id,
  agentId: row.agent_id,
  name: row.name,
  type: row.type,
  status: row.status,
  configuration: row.configuration,
  policy: row.policy,
  nextDueAt: row.next_due_at,
  isManaged: row.is_managed,
  createdBy: { kind: row.created_by_kind, id: row.created_by_id },
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  deletedAt: row.deleted_at,
});

/** `next_due_at` and `wakes_at`. */
const timesOf = (due: Due | null): [Date | null, Date | null] =>
  due ? [new Date(due.at), new Date(due.wakesAt)] : [null, null];

type NewTrigger = Pick<
  Trigger,
  | "id"
  | "organizationId"
  | "projectId"
  | "agentId"
  | "name"
  | "type"
  | "status"
  | "configuration"
  | "policy"
  | "isManaged"
  | "createdBy"
> & { due: Due | null; now: number };

/** Undefined: the agent has one of that name. */
export async function insertTrigger(query: Query, trigger: NewTrigger): Promise<Trigger | undefined> {
  const [row] = await query(
    `insert into triggers (organization_id, id, project_id, agent_id, name, type, status, configuration, policy, next_due_at, wakes_at,
        created_by_kind, created_by_id, created_at, updated_at, is_managed)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $15)
     on conflict do nothing returning ${COLUMNS}`,
    [
      trigger.organizationId,
      trigger.id,
      trigger.projectId,
      trigger.agentId,
      trigger.name,
      trigger.type,
      trigger.status,
      JSON.stringify(trigger.configuration),
      JSON.stringify(trigger.policy),
      ...timesOf(trigger.due),
      trigger.createdBy.kind,
      trigger.createdBy.id,
      new Date(trigger.now),
      trigger.isManaged,
    ],
  );
  return row && triggerOf(row);
}

/** The triggers that start runs on an event, by id. */
export async function readEventTriggers(
  database: Database,
  organizationId: OrganizationId,
  source: string,
  event: string,
): Promise<Trigger[]> {
  const rows = await database.query(
    `select ${COLUMNS} from triggers
      where organization_id = $1 and type = 'event' and deleted_at is null and status = 'active'
        and configuration ->> 'source' = $2 and configuration ->> 'event' = $3
      order by id limit $4`,
    [organizationId, source, event, LIMITS.triggersPerEvent],
    organizationId,
  );
  return rows.map(triggerOf);
}

/** Those that start runs on an event of a source, or on its others, and that the caller reaches, newest first. */
export async function readSourceTriggers(
  database: Database,
  { organizationId, reach }: Within,
  { source, event, isOther = false }: { source: string; event: string; isOther?: boolean },
  most: number,
): Promise<Trigger[]> {
  const ofSource = `type = 'event' and deleted_at is null and configuration ->> 'source' = $2
      and configuration ->> 'event' ${isOther ? "<>" : "="} $4`;
  const rows = reach
    ? await database.query(
        // The newest of each project, and all of the agents, which have 100 at most.
        `select ${COLUMNS} from triggers where organization_id = $1 and id in (
          select one.id from unnest($5::uuid[]) as project (id) cross join lateral (
            select id from triggers where organization_id = $1 and project_id = project.id and ${ofSource}
             order by id desc limit $3) one
          union select id from triggers where organization_id = $1 and agent_id = any($6::uuid[]) and ${ofSource}
          order by id desc limit $3)
         order by id desc`,
        [organizationId, source, most, event, reach.projectIds, reach.agentIds],
        organizationId,
      )
    : await database.query(
        `select ${COLUMNS} from triggers where organization_id = $1 and ${ofSource} order by id desc limit $3`,
        [organizationId, source, most, event],
        organizationId,
      );
  return rows.map(triggerOf);
}

/** How many of its type, itself among them, have the same values of these keys. */
export async function countAlike(
  query: Query,
  { organizationId, type, configuration }: Trigger,
  keys: readonly string[],
): Promise<number> {
  const alike = keys.map((key, index) => `configuration ->> '${key}' = $${index + 3}`).join(" and ");
  const [row] = await query(
    `select count(*)::int as count from triggers
      where organization_id = $1 and type = $2 and deleted_at is null and ${alike}`,
    [organizationId, type, ...keys.map((key) => configuration[key])],
  );
  return row!["count"];
}

/** How many the organization and the agent have. */
export async function countTriggers(
  query: Query,
  organizationId: OrganizationId,
  agentId: AgentId,
): Promise<{ all: number; ofAgent: number }> {
  const [row] = await query(
    `select (select count(*)::int from triggers where organization_id = $1 and deleted_at is null) as "all",
        (select count(*)::int from triggers where organization_id = $1 and agent_id = $2 and deleted_at is null) as "ofAgent"`,
    [organizationId, agentId],
  );
  return row as { all: number; ofAgent: number };
}

/** Until the transaction ends, nobody else changes it. */
export async function lockTrigger(query: Query, within: Within, id: TriggerId): Promise<Trigger | undefined> {
  const [row] = await query(
    `select ${COLUMNS} from triggers where organization_id = $1 and id = $2 and deleted_at is null for no key update`,
    [within.organizationId, id],
  );
  return reached(within, row && triggerOf(row));
}

/** Those that the agent's definition brings. */
export async function readManaged(query: Query, organizationId: OrganizationId, agentId: AgentId): Promise<Trigger[]> {
  const rows = await query(
    `select ${COLUMNS} from triggers
      where organization_id = $1 and agent_id = $2 and is_managed and deleted_at is null order by id`,
    [organizationId, agentId],
  );
  return rows.map(triggerOf);
}

/** When it is due next, from `now` on; null while it is paused, and of a kind without a schedule. */
const dueOf = (trigger: Trigger, now: number): Due | null =>
  (trigger.status === "active" && kindOf(trigger.type).schedule?.next(trigger, now)) || null;

/** The same for one that was changed; undefined: as before, so what is due and has not fired yet still does. */
export function dueAfter(before: Trigger, after: Trigger, now: number): Due | null | undefined {
  const { schedule } = kindOf(after.type);
  const isDue = schedule && before.nextDueAt !== null && before.status === after.status;
  return isDue && isDeepStrictEqual(schedule.timing(before), schedule.timing(after)) ? undefined : dueOf(after, now);
}

/** Updates a locked trigger; without `due` its times stay. Undefined: the agent has another of that name. */
export async function updateTriggerRow(
  query: Query,
  { organizationId, id, name, status, configuration, policy }: Trigger,
  { due, now }: { due: Due | null | undefined; now: number },
): Promise<Trigger | undefined> {
  const updated = query(
    `update triggers set name = $3, status = $4, configuration = $5, policy = $6, updated_at = $9,
        next_due_at = case when $10 then next_due_at else $7 end, wakes_at = case when $10 then wakes_at else $8 end
      where organization_id = $1 and id = $2 and not exists (
        select from triggers o where o.organization_id = $1 and o.agent_id = triggers.agent_id and o.name = $3 and o.id <> $2
          and o.deleted_at is null)
      returning ${COLUMNS}`,
    [
      organizationId,
      id,
      name,
      status,
      JSON.stringify(configuration),
      JSON.stringify(policy),
      ...timesOf(due ?? null),
      new Date(now),
      due === undefined,
    ],
  );
  try {
    const [row] = await updated;
    return row && triggerOf(row);
  } catch (error) {
    // Two take a name at the same moment. The transaction is over.
    if (isDuplicate(error, "triggers_name")) return undefined;
    throw error;
  }
}

/** The run that it started last, of one whose firings must not overlap. */
export async function readLastRun(
  database: Database,
  { organizationId, id }: Pick<Trigger, "organizationId" | "id">,
): Promise<RunId | null> {
  const [row] = await database.query(
    "select last_run_id from triggers where organization_id = $1 and id = $2",
    [organizationId, id],
    organizationId,
  );
  return row?.["last_run_id"] ?? null;
}

/** It is not there: its month was dropped, or its firing was a repeat. Leaves a trigger that somebody changes: the next one forgets it. */
export const forgetLastRun = (
  database: Database,
  { organizationId, id }: Pick<Trigger, "organizationId" | "id">,
  runId: RunId,
): Promise<unknown> =>
  database.query(
    `update triggers set last_run_id = null where organization_id = $1 and id in (
       select id from triggers where organization_id = $1 and id = $2 and last_run_id = $3 for no key update skip locked)`,
    [organizationId, id, runId],
    organizationId,
  );

export async function markDeleted(query: Query, { organizationId, id }: Trigger, now: number): Promise<Trigger> {
  const [row] = await query(
    `update triggers set deleted_at = $3, updated_at = $3, next_due_at = null, wakes_at = null
      where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    [organizationId, id, new Date(now)],
  );
  return triggerOf(row!);
}

export async function readTriggerRows(
  database: Database,
  within: Within,
  ids: readonly TriggerId[],
): Promise<Map<TriggerId, Trigger>> {
  const rows = await database.query(
    `select ${COLUMNS} from triggers where organization_id = $1 and id = any($2::uuid[]) and deleted_at is null`,
    [within.organizationId, ids],
    within.organizationId,
  );
  const found = rows.map(triggerOf).filter((trigger) => reaches(within, trigger));
  return new Map(found.map((trigger) => [trigger.id, trigger]));
}

/** Also of those that were deleted. */
export async function triggerNames(
  database: Database,
  organizationId: OrganizationId,
  ids: readonly TriggerId[],
): Promise<Map<TriggerId, string>> {
  const rows = await database.query(
    "select id, name from triggers where organization_id = $1 and id = any($2::uuid[])",
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row.id, row.name]));
}

/** A missing field does not filter; an empty list matches nothing. */
export type TriggerFilter = {
  projectId?: readonly ProjectId[] | undefined;
  agentId?: readonly AgentId[] | undefined;
  type?: readonly TriggerType[] | undefined;
  status?: readonly TriggerStatus[] | undefined;
};

/** Newest first, one more than asked for. */
export async function pageOfTriggerRows(
  database: Database,
  { organizationId, reach }: Within,
  { first, after }: PageRequest,
  { projectId, agentId, type, status }: TriggerFilter,
): Promise<Trigger[]> {
  const rows = await database.query(
    `select ${COLUMNS} from triggers
      where organization_id = $1 and deleted_at is null and ($2::uuid is null or id < $2)
        and ($3::uuid[] is null or project_id = any($3)) and ($4::uuid[] is null or agent_id = any($4))
        and ($5::text[] is null or type = any($5)) and ($6::text[] is null or status = any($6))
        and ($8::uuid[] is null or project_id = any($8) or agent_id = any($9))
      order by id desc limit $7`,
    [
      organizationId,
      after ?? null,
      projectId ?? null,
      agentId ?? null,
      type ?? null,
      status ?? null,
      first + 1,
      reach?.projectIds ?? null,
      reach?.agentIds ?? null,
    ],
    organizationId,
  );
  return rows.map(triggerOf);
}
