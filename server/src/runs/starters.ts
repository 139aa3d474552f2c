/** The people who started a run, wherever it came from, and how many others may decide what it asks. */
import { DECIDING_ROLES } from "../definition/tasks/assignees.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import type { OrganizationId, RunId, UserId } from "../lib/ids.ts";
import type { Database, Query } from "../storage/database.ts";
import { queryFor } from "./read/who-decides.ts";

/** In a line of runs of which each starts or is retried by the next. Nobody retries more often to escape. */
const MAX_RUNS = 1_000;

type Asked = { assignees: readonly string[] | null; excludesStarter: boolean };

export async function whoDecides(
  database: Database,
  { id, organizationId }: Pick<Head, "id" | "organizationId">,
  { assignees, excludesStarter }: Asked,
): Promise<{ excluded: UserId[]; deciders: number }> {
  const excluded = excludesStarter ? await startersOf(database, organizationId, id) : [];
  const query = queryFor(database, { organizationId });
  return { excluded, deciders: await countDeciders(query, organizationId, assignees, excluded) };
}

/** How many may decide besides those who are excluded. Owners and admins do in place of others. */
export async function countDeciders(
  query: Query,
  organizationId: OrganizationId,
  assignees: readonly string[] | null,
  excluded: readonly UserId[],
): Promise<number> {
  const [row] = await query(
    `select count(*)::integer as deciders from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.role = any ($2::text[]) and m.user_id <> all ($3::uuid[])
        and ($4::text[] is null or m.role in ('owner', 'admin') or lower(u.email) = any ($4) or 'role:' || m.role = any ($4))`,
    [organizationId, DECIDING_ROLES, excluded, assignees],
  );
  return row!["deciders"] as number;
}

/**
 * Who started the run, the run that it is a child of or retries, and so on up to the first: a user, who made the key, who fired the
 * trigger by hand, who published the event. A schedule and a webhook have nobody.
 */
async function startersOf(database: Database, organizationId: OrganizationId, id: RunId): Promise<UserId[]> {
  const rows = await database.query(
    `with recursive line as (
       select id, started_by_kind, started_by_id, parent_run_id, retry_of from runs where organization_id = $1 and id = $2
       union
       select r.id, r.started_by_kind, r.started_by_id, r.parent_run_id, r.retry_of
         from line cross join lateral (select * from runs where organization_id = $1 and id in (line.parent_run_id, line.retry_of)) r),
     few as materialized (select * from line limit $3),
     fired as (select f.fired_by_kind, f.fired_by_id, f.event_id from few join firings f on f.run_id = few.id
       where f.organization_id = $1 and f.outcome = 'started'),
     actors (kind, id) as (
       select started_by_kind::text, started_by_id from few
       union select fired_by_kind::text, fired_by_id from fired
       union select e.published_by_kind::text, e.published_by_id from fired join events e on e.organization_id = $1 and e.id = fired.event_id)
     select id as user_id from actors where kind = 'user' and id is not null
     union select k.user_id from actors join api_keys k on k.organization_id = $1 and k.id = actors.id where actors.kind = 'key'`,
    [organizationId, id, MAX_RUNS],
    organizationId,
  );
  return rows.map((row) => row["user_id"] as UserId);
}
