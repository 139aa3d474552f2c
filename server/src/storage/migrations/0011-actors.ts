/**
 * One list of words for who did something. A version says whether a user or a key published it: so far only the user was
 * kept, and nobody for what came with Autograph.
 */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  const kinds = sql.raw("('user', 'key', 'trigger', 'run', 'link', 'system')");
  await sql`alter domain starter_kind rename to actor_kind`.execute(db);
  await sql`alter domain actor_kind drop constraint starter_kind_check`.execute(db);
  await sql`alter domain actor_kind add constraint actor_kind_check check (value in ${kinds})`.execute(db);
  await sql`alter table agent_versions drop constraint agent_versions_created_by_fkey`.execute(db);
  await sql`alter table agent_versions rename column created_by to created_by_id`.execute(db);
  await sql`alter table agent_versions add column created_by_kind actor_kind`.execute(db);
  await sql`update agent_versions set created_by_kind = case when created_by_id is null then 'system' else 'user' end`.execute(
    db,
  );
  await sql`alter table agent_versions alter column created_by_kind set not null`.execute(db);
}
