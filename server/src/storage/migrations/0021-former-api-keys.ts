/**
 * The names of API keys that were deleted a while after they had ended: of runs, versions and audit events that they made. When
 * keys ended, for who deletes them.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create table former_api_keys (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  name text not null,
  primary key (organization_id, id)
)`,
  "create index api_keys_ended on api_keys (least(revoked_at, expires_at)) where revoked_at is not null or expires_at is not null",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
