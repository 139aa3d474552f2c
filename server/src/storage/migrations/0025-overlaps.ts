/** The run that a trigger started last, if its firings must not overlap: what has the row has the turn (execution/journal/write.ts). */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table triggers add column last_run_id uuid`.execute(db);
}
