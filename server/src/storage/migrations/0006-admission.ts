/**
 * Who is next of an agent with a limit, and how many have begun (`runs/admit-runs.ts`): each by an index of its own. By
 * `runs_limited`, which had both, each end of a run read all that wait: 10,000 ends with 10,000 waiting read 50 million rows.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create index runs_begun on runs (agent_id)
     where limited and (status in ('running', 'paused') or (status = 'pending' and wake_at is not null))`,
  `create index runs_parked on runs (agent_id, id) where limited and status = 'pending' and owner is null and wake_at is null`,
  "drop index runs_limited",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
