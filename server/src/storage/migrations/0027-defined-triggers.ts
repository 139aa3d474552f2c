/** Which triggers a definition brought: publishing changes and deletes them. */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table triggers add column is_managed boolean not null default false`.execute(db);
}
