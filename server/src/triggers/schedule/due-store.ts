/** The SQL of the clock: which triggers are due, and when each is next. */
import type { OrganizationId, TriggerId } from "../../lib/ids.ts";
import type { Database, Query, Row } from "../../storage/database.ts";
import { ms, nullable, RowSet, uuid } from "../../storage/unnest.ts";
import { COLUMNS, triggerOf } from "../store/trigger-store.ts";
import type { Due } from "../kinds/contract/trigger-kind.ts";
import type { Trigger } from "../store/trigger.ts";

/** So many that are due are read as they come; of more, organizations are jumped to, which costs 24 to 40 us for each that has any. */
const FIRST_DUE = 512;

type ToWake = { due: OrganizationId[]; next: number | undefined };

/** The organizations with a trigger to look at, by their ids, and when the next one has. */
export async function organizationsToWake(database: Database, now: number): Promise<ToWake> {
  const rows = await database.hot(
    "triggers_first_due",
    `(select organization_id, null as wakes_at from triggers
       where organization_id is not null and wakes_at <= to_timestamp($1::float8 / 1000.0) order by triggers.wakes_at limit $2)
     union all
     (select null, wakes_at from triggers
       where organization_id is not null and wakes_at > to_timestamp($1::float8 / 1000.0) order by wakes_at limit 1)`,
    [now, FIRST_DUE],
  );
  return rows.filter((row) => row["organization_id"] !== null).length < FIRST_DUE
    ? toWake(rows)
    : jumpToAll(database, now);
}

const toWake = (rows: Row[]): ToWake => {
  const due = rows.map((row) => row["organization_id"]).filter((id) => id !== null);
  const next = rows.find((row) => row["organization_id"] === null)?.["wakes_at"] as Date | null | undefined;
  return { due: [...new Set(due)].toSorted((one, other) => (one < other ? -1 : 1)), next: next?.getTime() };
};

/** From one organization to the next, as `engine/due-runs.ts` does. */
async function jumpToAll(database: Database, now: number): Promise<ToWake> {
  const rows = await database.hot(
    "triggers_organizations",
    `with recursive o as (
       (select organization_id, wakes_at from triggers where wakes_at is not null
         order by organization_id, wakes_at, id limit 1)
       union all
       select next.organization_id, next.wakes_at from o
        cross join lateral (
          select t.organization_id, t.wakes_at from triggers t
           where t.wakes_at is not null and t.organization_id > o.organization_id
           order by t.organization_id, t.wakes_at, t.id limit 1) next)
     select organization_id, null as wakes_at from o where wakes_at <= to_timestamp($1::float8 / 1000.0)
     union all
     select null, min(wakes_at) from o where wakes_at > to_timestamp($1::float8 / 1000.0)`,
    [now],
  );
  return toWake(rows);
}

/** Takes at most this many of each organization for a while, so that other processes do not try the same. */
export async function takeDue(
  database: Database,
  { now, until }: { now: number; until: number },
  turns: { organizationId: OrganizationId; most: number }[],
): Promise<Trigger[]> {
  const rows = await database.hot(
    "triggers_take_due",
    `update triggers set wakes_at = to_timestamp($2::float8 / 1000.0)
       from unnest($3::uuid[], $4::int[]) as turn (organization_id, most)
      cross join lateral (
        select t.id from triggers t
         where t.organization_id = turn.organization_id and t.wakes_at <= to_timestamp($1::float8 / 1000.0)
         order by t.wakes_at, t.id limit turn.most for no key update skip locked) due
      where triggers.organization_id = turn.organization_id and triggers.id = due.id
     returning ${COLUMNS.replaceAll(/\w+/g, "triggers.$&")}`,
    [now, until, turns.map(({ organizationId }) => organizationId), turns.map(({ most }) => most)],
  );
  return rows.map(triggerOf);
}

/** Takes one that is still due at `due`: false if somebody changed it meanwhile, or has it locked. */
export async function moveOn(
  query: Query,
  { organizationId, id }: Pick<Trigger, "organizationId" | "id">,
  due: number,
  next: Due | null,
): Promise<boolean> {
  const rows = await query(
    `update triggers set next_due_at = $4, wakes_at = $5 where organization_id = $1 and id in (
       select id from triggers where organization_id = $1 and id = $2 and next_due_at = $3 for no key update skip locked)
     returning 1`,
    [organizationId, id, new Date(due), next && new Date(next.at), next && new Date(next.wakesAt)],
  );
  return rows.length > 0;
}

export type NextDue = {
  organization_id: OrganizationId;
  id: TriggerId;
  due_at: number;
  next_due_at: number | null;
  wakes_at: number | null;
};

export const NEXT = new RowSet<NextDue>("n", "next_due_row", {
  organization_id: uuid(),
  id: uuid(),
  due_at: ms(),
  next_due_at: nullable(ms()),
  wakes_at: nullable(ms()),
});

/**
 * Only those that are still due at the same instant: a change meanwhile has said when one is next. Returns those that
 * somebody has locked: many are written together, and none waits for another organization's transaction.
 */
export async function setNextDue(database: Database, rows: readonly NextDue[]): Promise<Set<TriggerId>> {
  const written = await database.hot(
    "triggers_next_due",
    `with h as materialized (
       select t.organization_id, t.id, n.next_due_at, n.wakes_at, t.next_due_at = n.due_at as is_same
         from ${NEXT.from(1)} join triggers t on t.organization_id = n.organization_id and t.id = n.id
          for no key update of t skip locked),
     u as (
       update triggers set next_due_at = h.next_due_at, wakes_at = h.wakes_at
         from h where triggers.organization_id = h.organization_id and triggers.id = h.id and h.is_same)
     select id from h`,
    [NEXT.value(rows)],
  );
  const free = new Set(written.map((row) => row["id"]));
  return new Set(rows.flatMap(({ id }) => (free.has(id) ? [] : [id])));
}
