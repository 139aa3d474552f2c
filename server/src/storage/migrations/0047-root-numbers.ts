/** How many came of a root is read from the newest number, instead of counting them all. */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "create index events_of_root_by_number on events (organization_id, root_id, root_number) where root_id is not null",
  "drop index events_of_root",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
