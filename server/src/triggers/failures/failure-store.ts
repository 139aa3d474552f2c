/** The SQL of mails about runs that failed. */
import type { AgentId, OrganizationId, RunId, UserId } from "../../lib/ids.ts";
import type { Database, Query } from "../../storage/database.ts";

type AgentKey = { organizationId: OrganizationId; agentId: AgentId };

/** The e-mails of those who get a mail and are still members, in order. An agent without any is left out. */
export async function readRecipients(
  database: Database,
  organizationId: OrganizationId,
  agentIds: readonly AgentId[],
): Promise<Map<AgentId, string[]>> {
  const rows = await database.query(
    `select f.agent_id, array_agg(u.email order by lower(u.email))::text[] as emails
       from failure_mails f join members m on m.organization_id = f.organization_id and m.user_id = any(f.user_ids)
       join users u on u.id = m.user_id
      where f.organization_id = $1 and f.agent_id = any($2::uuid[]) group by f.agent_id`,
    [organizationId, agentIds],
    organizationId,
  );
  return new Map(rows.map((row) => [row["agent_id"] as AgentId, row["emails"] as string[]]));
}

/** The members with these e-mails (in lower case), by e-mail. */
export async function findMembers(
  query: Query,
  organizationId: OrganizationId,
  emails: readonly string[],
): Promise<Map<string, UserId>> {
  const rows = await query(
    `select u.id, lower(u.email) as email from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and lower(u.email) = any($2::text[])`,
    [organizationId, emails],
  );
  return new Map(rows.map((row) => [row["email"] as string, row["id"] as UserId]));
}

/** The users chosen so far, members or not; locked until the transaction ends. */
export async function holdRecipients(query: Query, { organizationId, agentId }: AgentKey): Promise<UserId[]> {
  const [row] = await query(
    "select user_ids::text[] from failure_mails where organization_id = $1 and agent_id = $2 for update",
    [organizationId, agentId],
  );
  return row?.["user_ids"] ?? [];
}

export const writeRecipients = (query: Query, { organizationId, agentId }: AgentKey, userIds: readonly UserId[]) =>
  query(
    `insert into failure_mails (organization_id, agent_id, user_ids) values ($1, $2, $3)
     on conflict (organization_id, agent_id) do update set user_ids = excluded.user_ids,
       failed = case when excluded.user_ids = '{}' then 0 else failure_mails.failed end`,
    [organizationId, agentId, userIds],
  );

/** Moves rows of runs into the counts of their agents, in the order of the agents' keys. Returns how many. */
export async function countFailures(database: Database, most: number): Promise<number> {
  const [row] = await database.query(
    `with gone as (
       delete from failed_runs where organization_id is not null and run_id in (
         select run_id from failed_runs where organization_id is not null limit $1 for update skip locked)
       returning *),
     sums as (
       select organization_id, agent_id, count(*)::int as failed, max(at) as last_at,
              (array_agg(run_id order by at desc, run_id desc))[1] as last_run_id
         from gone group by organization_id, agent_id),
     held as (
       select f.organization_id, f.agent_id from failure_mails f
        where (f.organization_id, f.agent_id) in (select organization_id, agent_id from sums)
        order by f.organization_id, f.agent_id for update),
     counted as (
       update failure_mails f set failed = f.failed + s.failed, last_at = s.last_at, last_run_id = s.last_run_id
         from sums s join held h on h.organization_id = s.organization_id and h.agent_id = s.agent_id
        where f.organization_id = s.organization_id and f.agent_id = s.agent_id)
     select count(*) as failures from gone`,
    [most],
  );
  return row!["failures"];
}

/** `until`: a mail before then is long enough ago. `void`: one after then dates from before the clock was set back. */
export type Due = { until: number; void: number };
const IS_DUE = "f.failed > 0 and (f.mailed_at is null or f.mailed_at <= $1 or f.mailed_at > $2)";

type Asked = { due: Due; without: readonly OrganizationId[]; most: number };

/** An agent of each organization whose mail is due. */
export async function dueFailures(database: Database, { due, without, most }: Asked): Promise<AgentKey[]> {
  const rows = await database.query(
    `select distinct on (f.organization_id) f.organization_id, f.agent_id from failure_mails f
      where f.organization_id is not null and f.organization_id <> all($4::uuid[]) and ${IS_DUE}
      order by f.organization_id, f.last_at limit $3`,
    [new Date(due.until), new Date(due.void), most, without],
  );
  return rows.map((row) => ({ organizationId: row["organization_id"], agentId: row["agent_id"] }));
}

export type Failures = { failed: number; lastAt: Date; lastRunId: RunId; agent: string; emails: string[] };

/** Takes the count of an agent and starts its hour. Undefined: another process has it. */
export async function takeFailures(
  query: Query,
  { organizationId, agentId }: AgentKey,
  due: Due,
  now: number,
): Promise<Failures | undefined> {
  const [row] = await query(
    `with f as materialized (
       select f.* from failure_mails f where f.organization_id = $3 and f.agent_id = $4 and ${IS_DUE}
          for update skip locked),
     taken as (
       update failure_mails set failed = 0, mailed_at = $5 from f
        where failure_mails.organization_id = f.organization_id and failure_mails.agent_id = f.agent_id)
     select f.failed, f.last_at, f.last_run_id, a.name as agent,
            array(select u.email from members m join users u on u.id = m.user_id
                   where m.organization_id = f.organization_id and m.user_id = any(f.user_ids) order by lower(u.email))::text[] as emails
       from f join agents a on a.organization_id = f.organization_id and a.id = f.agent_id`,
    [new Date(due.until), new Date(due.void), organizationId, agentId, new Date(now)],
  );
  return (
    row && {
      failed: row["failed"],
      lastAt: row["last_at"],
      lastRunId: row["last_run_id"],
      agent: row["agent"],
      emails: row["emails"],
    }
  );
}
