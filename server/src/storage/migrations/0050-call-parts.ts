/** The headers and the query of a webhook's call, where its trigger's mapping uses them. */
import { sql, type Kysely } from "kysely";

const STATEMENTS = ["alter table firings add column request json"];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
