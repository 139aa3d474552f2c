/**
 * Which projects and agents an API key is narrowed to; null for both: it reaches the whole organization (decision 0019).
 * A narrowed key never has the scope `admin`, whatever a later mistake in the code may write.
 */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys
    add column project_ids uuid[],
    add column agent_ids uuid[],
    add constraint api_keys_reach_is_not_empty check (
      coalesce(cardinality(project_ids), 1) > 0 and coalesce(cardinality(agent_ids), 1) > 0),
    add constraint api_keys_narrowed_has_no_admin check (
      (project_ids is null and agent_ids is null) or not 'admin' = any (scopes))`.execute(db);
}
