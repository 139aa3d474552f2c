/** Sentences that a person reviews before a run is started from them, for a day. */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create table run_drafts (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  agent_id uuid,
  text text not null,
  expires_at timestamptz not null,
  primary key (organization_id, id)
)`,
  "create index run_drafts_expired on run_drafts (expires_at)",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
