/**
 * A draft says who saved it, when, and how often (`agents/draft-store.ts`): so far only its text was kept. `draft_revision` stays
 * when the draft goes, so that no two drafts of an agent have the same. A version gets an id, a UUIDv7 of its time.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = `
alter table agents
  add column draft_revision integer not null default 0,
  add column draft_saved_at timestamptz,
  add column draft_saved_by_kind text
    check (draft_saved_by_kind in ('user', 'key', 'trigger', 'run', 'link', 'system')),
  add column draft_saved_by_id uuid;
update agents set draft_revision = 1, draft_saved_at = updated_at, draft_saved_by_kind = 'system' where draft is not null;
alter table agents add check (
  (draft is null) = (draft_saved_at is null) and (draft is null) = (draft_saved_by_kind is null)
  and (draft is null or draft_revision > 0));

alter table agent_versions add column id uuid;
update agent_versions set id = (lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0') || '7' ||
  substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;
alter table agent_versions alter column id set not null;
create unique index agent_versions_id on agent_versions (organization_id, id)`;

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS.split(";\n")) await sql.raw(statement).execute(db);
}
