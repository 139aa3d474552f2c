/** What the language model counted for each organization, by day. A process of an older version adds none. */
import { sql, type Kysely } from "kysely";

const STATEMENTS = ["alter table usage_days add column model_tokens bigint not null default 0"];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
