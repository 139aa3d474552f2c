/**
 * Of a session, since when its user is no member any longer of the organization that it is in: a later membership there does not
 * bring it back. Sessions of memberships that have ended already are marked, too: since when is not known.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table sessions add column left_at timestamptz",
  `update sessions s set left_at = refreshed_at
    where not exists (select from members m where m.organization_id = s.organization_id and m.user_id = s.user_id)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
