/** Firings whose runs wait for the one before, under the policy `overlap: queue`, by trigger and by run. Few rows at any time. */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table firings add column is_queued boolean not null default false",
  "create index firings_queued on firings (organization_id, trigger_id, id) where is_queued",
  "create index firings_queued_runs on firings (run_id) where is_queued",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
