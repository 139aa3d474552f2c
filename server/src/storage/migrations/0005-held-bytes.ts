/** About how much memory a run takes when it is loaded, known before it is (`engine/claims.ts`). 0: it was never written. */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table runs add column held_bytes integer not null default 0`.execute(db);
}
