/**
 * Runs that wait for the one that their trigger started before say so themselves, and `runs_parked` leaves them out: admission
 * looked up the firing of each, 100,000 of them under the agent's lock.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table runs add column queued boolean not null default false",
  `update runs r set queued = true from firings f
  where f.is_queued and f.run_id = r.id and f.organization_id = r.organization_id`,
  "drop index runs_parked",
  `create index runs_parked on runs (agent_id, id)
  where limited and not queued and status = 'pending' and owner is null and wake_at is null`,
  "drop index firings_queued_runs",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
