/** What an HTTP endpoint answered to each attempt: of the newest one in the step's row, of earlier ones in their own. */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table steps add column response json`.execute(db);
  await sql`alter table attempts add column response json`.execute(db);
}
