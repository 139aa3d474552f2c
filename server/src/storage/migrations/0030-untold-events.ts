/**
 * What has happened and its organization listens to, until it is published as an event of the service itself: written in the
 * statement that makes it true. `take_at`: somebody publishes it, and when this has passed another process does. `version`: of an
 * agent that was published. `triggers_of_own_events` finds who listens.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create table untold_events (
  organization_id uuid not null,
  event text not null,
  subject_id uuid not null,
  at timestamptz not null,
  run_id uuid,
  version text,
  take_at timestamptz,
  primary key (organization_id, event, subject_id, at)
)`,
  "create index untold_events_in_order on untold_events (organization_id, at)",
  `create index triggers_of_own_events on triggers ((configuration ->> 'event'), organization_id)
  where type = 'event' and deleted_at is null and configuration ->> 'source' = 'autograph'`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
