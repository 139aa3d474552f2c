/**
 * Events that were published. `once` is SHA-256 of who reached how far, the source and what it calls the event: a repeat is no
 * second row. `fire_at` is there as long as triggers are still to be fired: whoever fires them sets it on, and when it has passed
 * another process goes on (triggers/events/fire-events.ts). `firings.event_id` is the event that a trigger fired on.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create table events (
  id uuid not null primary key,
  organization_id uuid not null,
  once bytea not null,
  project_ids uuid[],
  agent_ids uuid[],
  source text not null,
  event text not null,
  source_id text not null,
  time timestamptz not null,
  at timestamptz not null,
  data json not null,
  body_hash bytea not null,
  depth integer not null,
  published_by_kind actor_kind not null,
  published_by_id uuid,
  fire_at timestamptz,
  unique (organization_id, once),
  check ((project_ids is null) = (agent_ids is null))
)`,
  "create index events_of_organization on events (organization_id, id desc)",
  "create index events_narrowed on events (organization_id, id desc) where project_ids is not null",
  "create index events_to_fire on events (organization_id, fire_at) where fire_at is not null",
  "alter table firings add column event_id uuid",
  "create index firings_of_event on firings (event_id, id desc) where event_id is not null",
  `create index triggers_of_event on triggers (organization_id, (configuration ->> 'source'), (configuration ->> 'event'), id)
  where type = 'event' and deleted_at is null`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
