/** Of an event that came of another one and fires: the first of those that led to it, and how many that fire came of that one until then. */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table events add column root_id uuid, add column root_number integer",
  "create index events_of_root on events (organization_id, root_id) where root_id is not null",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
