/** The SQL of the outbox. A row is a mail that waits, or was given up; one that was sent is deleted. */
import type { MailId, OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database, Query, Row } from "../storage/database.ts";

type MailKey = { organizationId: OrganizationId; id: MailId };

/** A sealed text opens only in its row. */
export const subjectOf = ({ organizationId, id }: MailKey): string => `mail ${organizationId}/${id}`;

type NewMail = MailKey & {
  kind: string;
  recipient: string;
  messageId: string;
  sealed: string;
  queuedAt: number;
  expiresAt: number;
};

/** False: the organization has as many waiting as it may. */
export async function insertMail(query: Query, mail: NewMail): Promise<boolean> {
  const rows = await query(
    `insert into mails (organization_id, id, kind, recipient, message_id, sealed, queued_at, expires_at, due_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $7
      where (select count(*) from mails where organization_id = $1 and gave_up_at is null) < $9::int
     returning id`,
    [
      mail.organizationId,
      mail.id,
      mail.kind,
      mail.recipient,
      mail.messageId,
      mail.sealed,
      new Date(mail.queuedAt),
      new Date(mail.expiresAt),
      LIMITS.mailsWaiting,
    ],
  );
  return rows.length > 0;
}

/** One that this process has taken. */
export type TakenMail = MailKey & {
  kind: string;
  recipient: string;
  messageId: string;
  sealed: string;
  queuedAt: Date;
  expiresAt: Date;
  /** Those before this one. */
  tries: number;
};

const takenOf = (row: Row): TakenMail => ({
  organizationId: row["organization_id"],
  id: row["id"],
  kind: row["kind"],
  recipient: row["recipient"],
  messageId: row["message_id"],
  sealed: row["sealed"],
  queuedAt: row["queued_at"],
  expiresAt: row["expires_at"],
  tries: row["tries"],
});

type Taking = {
  now: number;
  /** No other process takes it before. */
  until: number;
  /** The organizations that have their share under way. */
  without: readonly OrganizationId[];
  /** Organizations after this one come first. */
  after: string;
  most: number;
};

/** Takes the mail of each organization that has been due for longest. */
export async function takeMails(
  database: Database,
  { now, until, without, after, most }: Taking,
): Promise<TakenMail[]> {
  const rows = await database.query(
    `with recursive organizations_waiting as (
       (select organization_id from mails where gave_up_at is null order by organization_id limit 1)
       union all
       select (select organization_id from mails where gave_up_at is null and organization_id > o.organization_id
                order by organization_id limit 1)
         from organizations_waiting o where o.organization_id is not null),
     taken as materialized (
       select m.organization_id, m.id from organizations_waiting o cross join lateral (
         select organization_id, id from mails
          where organization_id = o.organization_id and gave_up_at is null and due_at <= $1
            and (taken_until is null or taken_until <= $1)
          order by due_at limit 1 for update skip locked) m
        where o.organization_id <> all($3::uuid[])
        order by o.organization_id <= $4, o.organization_id limit $5)
     update mails m set taken_until = $2 from taken t
      where m.organization_id = t.organization_id and m.id = t.id returning m.*`,
    [new Date(now), new Date(until), without, after, most],
  );
  return rows.map(takenOf);
}

/** Gives up all claims, of processes that have ended. */
export const releaseMails = (database: Database): Promise<unknown> =>
  database.query("update mails set taken_until = null where organization_id is not null and taken_until is not null");

/** When the next one is due that nobody has taken, ms since 1970. `without`: as for `takeMails`. */
export async function nextDue(database: Database, without: readonly OrganizationId[]): Promise<number> {
  const [row] = await database.query(
    `select min(greatest(due_at, taken_until)) as at from mails
      where organization_id is not null and organization_id <> all($1::uuid[]) and gave_up_at is null`,
    [without],
  );
  return row!["at"] === null ? Infinity : (row!["at"] as Date).getTime();
}

/**
 * Corrects times that lie further ahead than any wait or lease: they date from before the clock was set back. A lease begins again,
 * since its process may still be sending.
 */
export const correctTimes = (
  database: Database,
  { now, until, latestDue, latestLease }: { now: number; until: number; latestDue: number; latestLease: number },
): Promise<unknown> =>
  database.query(
    `update mails set due_at = case when due_at > $3 then $1 else due_at end,
                      taken_until = case when taken_until > $4 then $2 else taken_until end
      where organization_id is not null and gave_up_at is null and (due_at > $3 or taken_until > $4)`,
    [new Date(now), new Date(until), new Date(latestDue), new Date(latestLease)],
  );

export const deleteMail = (database: Database, { organizationId, id }: MailKey): Promise<unknown> =>
  database.query("delete from mails where organization_id = $1 and id = $2", [organizationId, id]);

export const postponeMail = (
  database: Database,
  { organizationId, id }: MailKey,
  { dueAt, problem }: { dueAt: number; problem: string },
): Promise<unknown> =>
  database.query(
    `update mails set tries = tries + 1, due_at = $3, problem = $4, taken_until = null
      where organization_id = $1 and id = $2`,
    [organizationId, id, new Date(dueAt), problem],
  );

/** Its texts go at once. */
export const giveUpMail = (
  database: Database,
  { organizationId, id }: MailKey,
  { at, problem }: { at: number; problem: string },
): Promise<unknown> =>
  database.query(
    `update mails set tries = tries + 1, gave_up_at = $3, problem = $4, sealed = null, taken_until = null
      where organization_id = $1 and id = $2`,
    [organizationId, id, new Date(at), problem],
  );

/** Mails that were given up before a time, and the counts of days before a day. */
export async function forgetMails(database: Database, before: number, day: string): Promise<void> {
  await database.query("delete from mails where organization_id is not null and gave_up_at < $1", [new Date(before)]);
  await database.query("delete from mail_days where organization_id is not null and day < $1::date", [day]);
}
