/**
 * The audit (decision 0021): who did what from where. Rows are only added, and only by a function that chains them: each
 * organization's are numbered from 1 without gaps, and each has the hash of the one before. Where the cluster is our own,
 * both then belong to a role that nobody signs in as (`postgres/cluster.ts`), so that the server can't change them even if it
 * wants to; elsewhere to whoever owns the schema, whom the revoked rights and the trigger stop.
 */
import { sql, type Kysely } from "kysely";

const TABLE = `create table audit_events (
  organization_id uuid not null,
  number bigint not null,
  id uuid not null,
  at timestamptz not null,
  action text not null,
  actor_id uuid,
  event json not null check (octet_length(event::text) <= 16384),
  previous bytea not null,
  hash bytea not null,
  primary key (organization_id, number),
  unique (organization_id, id)
)`;

/**
 * The lock is the last one that a transaction takes, and kept until it ends: so numbers follow commits. Each statement of a
 * volatile function sees what was committed until then, also the last event of whoever had the lock.
 */
const append = (schema: string): string => `create function append_audit_event(
  organization uuid, event_id uuid, event_at timestamptz, event_action text, actor uuid, body text
) returns void language plpgsql volatile security definer set search_path = ${schema}, pg_temp as $$
declare
  last_number bigint;
  last_hash bytea;
begin
  perform pg_advisory_xact_lock(hashtextextended('audit ' || organization, 0));
  select e.number, e.hash into last_number, last_hash
    from audit_events e where e.organization_id = organization order by e.number desc limit 1;
  last_number := coalesce(last_number, 0);
  last_hash := coalesce(last_hash, decode(repeat('00', 32), 'hex'));
  insert into audit_events (organization_id, number, id, at, action, actor_id, event, previous, hash)
  values (organization, last_number + 1, event_id, event_at, event_action, actor, body::json, last_hash,
    sha256(convert_to('{"event":' || body || ',"number":' || last_number + 1 ||
      ',"previous":"' || encode(last_hash, 'hex') || '"}', 'UTF8')));
end $$`;

const STATEMENTS = [
  "create index audit_events_at on audit_events (organization_id, at)",
  "create index audit_events_action on audit_events (organization_id, action, number)",
  "create index audit_events_actor on audit_events (organization_id, actor_id, number)",
  `create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_events is append-only: % is refused', tg_op using errcode = 'insufficient_privilege';
end $$`,
  `create trigger audit_events_append_only before update or delete or truncate on audit_events
  for each statement execute function refuse_audit_change()`,
  "revoke all on function append_audit_event from public",
  "revoke all on audit_events from public",
  "revoke update, delete, truncate on audit_events from current_user",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{
    schema: string;
    cluster: string | null;
  }>`select quote_ident(current_schema()) as schema, to_regprocedure('public.own_audit()')::text as cluster`.execute(
    db,
  );
  const [{ schema, cluster } = { schema: "public", cluster: null }] = rows;
  for (const statement of [TABLE, append(schema), ...STATEMENTS]) await sql.raw(statement).execute(db);
  if (cluster !== null) await sql`select public.own_audit()`.execute(db);
}
