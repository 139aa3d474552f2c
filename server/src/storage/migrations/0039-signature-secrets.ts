/** Which webhooks check signatures with a secret: an organization may have 100,000 triggers. */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create index triggers_by_secret on triggers (organization_id, project_id, (policy #>> '{signature,secret}'))
  where deleted_at is null and policy #>> '{signature,secret}' is not null`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
