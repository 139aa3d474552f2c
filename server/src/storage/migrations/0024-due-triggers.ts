/**
 * When the clock looks at a trigger next: when it is due, later by its jitter, or after the time for which a process has taken
 * it (`triggers/clock/due-clock.ts`). By itself for the next instant of all, by organization so that they take turns.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table triggers add column wakes_at timestamptz",
  "update triggers set wakes_at = next_due_at where next_due_at is not null",
  "drop index triggers_due",
  "create index triggers_waking on triggers (wakes_at) where wakes_at is not null",
  "create index triggers_waking_by_turns on triggers (organization_id, wakes_at, id) where wakes_at is not null",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
