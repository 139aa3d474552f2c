/**
 * Whether a trigger on an event was changed since a process read them: asked with each event that is written. And triggers on an event
 * within a project, whatever others its source has.
 */
import { sql, type Kysely } from "kysely";

const OF_EVENT = "(configuration ->> 'source'), (configuration ->> 'event')";
const STATEMENTS = [
  `create index triggers_of_event_changed on triggers (organization_id, ${OF_EVENT}, updated_at)
  where type = 'event' and deleted_at is null and status = 'active'`,
  `create index triggers_of_event_in_project on triggers (organization_id, project_id, ${OF_EVENT}, id desc)
  where type = 'event' and deleted_at is null`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
