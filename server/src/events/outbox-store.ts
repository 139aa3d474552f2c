/** The SQL of the outbox (`outbox.ts`): what has happened and is not published yet. */
import type { AgentId, ApprovalId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import { ms, RowSet, text, uuid, type RowOf } from "../storage/unnest.ts";
import type { OwnEvent } from "./own-source.ts";

const KEY = { organization_id: uuid<OrganizationId>(), event: text(), subject_id: uuid<string>(), at: ms() };
export const KEYS = new RowSet<RowOf<typeof KEY>>("k", "told_row", KEY);

/** An approval's. */
export type ApprovalEvent = Extract<OwnEvent, `approval.${string}`>;

/** `subjectId`: the event's subject. */
type Of<Event extends OwnEvent | Notice, Id> = {
  organizationId: OrganizationId;
  event: Event;
  subjectId: Id;
  /** When it happened. */
  at: Date;
};
/** Mails about what happened to an approval. It is no event: nobody listens to it. */
export type Notice<Event extends ApprovalEvent = ApprovalEvent> = Event extends `approval.${infer What}`
  ? `mail.${What}`
  : never;
export type UntoldNotice = Of<Notice, ApprovalId>;
export type UntoldEvent =
  | Of<"run.completed" | "run.failed" | "run.cancelled", RunId>
  | Of<ApprovalEvent, ApprovalId>
  | (Of<"agent.published", AgentId> & { version: string });
export type Untold = UntoldEvent | UntoldNotice;

export const isNotice = (untold: Untold): untold is UntoldNotice => untold.event.startsWith("mail.");

const untoldOf = (row: Row): Untold => ({
  organizationId: row["organization_id"],
  event: row["event"],
  subjectId: row["subject_id"],
  at: row["at"],
  version: row["version"],
});

export type Taking = {
  /** Organizations after this one, and none of these. */
  after: string;
  without: OrganizationId[];
  /** The maximum in total. */
  most: number;
  now: number;
  /** No other process takes them before. */
  until: number;
};

/** Gives up all claims, of processes that have ended. */
export const releaseUntold = (database: Database): Promise<unknown> =>
  database.query("update untold_events set take_at = null where organization_id is not null and take_at is not null");

/**
 * Takes the oldest of each organization, in the order of the organizations: as many of each as its share of `most` is. What is taken
 * already is walked past, so a sweep leaves out organizations with one that was not published.
 */
export async function takeUntold(database: Database, { after, without, most, now, until }: Taking): Promise<Untold[]> {
  const rows = await database.query(
    `with recursive others as (
       (select organization_id from untold_events where organization_id > $1 order by organization_id limit 1)
       union all
       select (select organization_id from untold_events where organization_id > o.organization_id
               order by organization_id limit 1)
         from others o where o.organization_id is not null),
     turns as materialized (
       select o.organization_id from others o cross join lateral (
         select from untold_events where organization_id = o.organization_id and (take_at is null or take_at <= $4) limit 1) u
        where o.organization_id <> all($2::uuid[]) limit $3),
     taken as materialized (
       select u.* from turns o cross join lateral (
         select * from untold_events where organization_id = o.organization_id
            and (take_at is null or take_at <= $4)
          order by at limit (select $3 / count(*) from turns) for update skip locked) u)
     update untold_events u set take_at = $5 from taken t
      where u.organization_id = t.organization_id and u.event = t.event and u.subject_id = t.subject_id and u.at = t.at
     returning u.organization_id, u.event, u.subject_id, u.at, u.version`,
    [after, without, most, new Date(now), new Date(until)],
  );
  return rows.map(untoldOf);
}

/** They have been published, or nobody listens. */
export const deleteUntold = (database: Database, told: readonly Untold[]): Promise<unknown> =>
  database.hot(
    "delete_untold_events",
    `delete from untold_events u using ${KEYS.from(1)}
      where u.organization_id = k.organization_id and u.event = k.event and u.subject_id = k.subject_id
        and u.at = k.at`,
    [
      KEYS.value(
        told.map(({ organizationId, event, subjectId, at }) => ({
          organization_id: organizationId,
          event,
          subject_id: subjectId,
          at: at.getTime(),
        })),
      ),
    ],
  );

/** Within the transaction that makes it true, if people are mailed about the approval. Returns whether they are. */
export async function insertNotice(
  query: Query,
  { organizationId, event, subjectId, at }: UntoldNotice,
): Promise<boolean> {
  const rows = await query(
    `insert into untold_events (organization_id, event, subject_id, at)
     select organization_id, $2, id, $4 from approvals where organization_id = $1 and id = $3 and notify
     on conflict do nothing returning event`,
    [organizationId, event, subjectId, at],
  );
  return rows.length > 0;
}

/** Within the transaction that tells it. False: it has been told. */
export async function takeNotice(
  query: Query,
  { organizationId, event, subjectId, at }: UntoldNotice,
): Promise<boolean> {
  const rows = await query(
    `delete from untold_events where organization_id = $1 and event = $2 and subject_id = $3 and at = $4
     returning subject_id`,
    [organizationId, event, subjectId, at],
  );
  return rows.length > 0;
}

/** Within the transaction that makes it true, if somebody is to be told. */
export const insertUntold = (query: Query, untold: Untold): Promise<unknown> =>
  query(
    `insert into untold_events (organization_id, event, subject_id, at, version)
     values ($1, $2, $3, $4, $5) on conflict do nothing`,
    [
      untold.organizationId,
      untold.event,
      untold.subjectId,
      untold.at,
      untold.event === "agent.published" ? untold.version : null,
    ],
  );
