/** The sentence that a run was reviewed from, kept as long as the run: its draft is forgotten after a day. */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create table draft_texts (
  organization_id uuid not null,
  run_id uuid not null,
  run_draft_id uuid not null,
  text text not null,
  primary key (organization_id, run_id)
)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
