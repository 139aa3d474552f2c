/** Firings that started nothing, by outcome: a list may ask for a rare one among millions. */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw("create index firings_by_outcome on firings (trigger_id, outcome, id desc) where outcome <> 'started'")
    .execute(db);
}
