/**
 * A page of events costs what it shows, whatever else is there: by source, by source and name, and for a narrowed key by how far
 * those reached who published. `reach` is SHA-256 of `project_ids` and `agent_ids`, as lists of ids may be too long for an index;
 * an organization has about as many of them as narrowed keys and projects. And triggers by the source of their events.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table events add column reach bytea",
  "update events set reach = sha256(convert_to(project_ids::text || ' ' || agent_ids::text, 'UTF8')) where project_ids is not null",
  "alter table events add check ((project_ids is null) = (reach is null))",
  "drop index events_narrowed",
  "create index events_of_source on events (organization_id, source, id desc)",
  "create index events_of_name on events (organization_id, source, event, id desc)",
  "create index events_narrowed on events (organization_id, reach, id desc) where reach is not null",
  "create index events_narrowed_of_source on events (organization_id, reach, source, id desc) where reach is not null",
  "create index events_narrowed_of_name on events (organization_id, reach, source, event, id desc) where reach is not null",
  `create index triggers_of_source on triggers (organization_id, (configuration ->> 'source'), id desc)
  where type = 'event' and deleted_at is null`,
  `create index triggers_of_source_in_project on triggers (organization_id, project_id, (configuration ->> 'source'), id desc)
  where type = 'event' and deleted_at is null`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
