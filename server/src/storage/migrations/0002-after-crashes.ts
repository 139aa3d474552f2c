/**
 * The executor's row says up to when the relatives of ended runs were told (`runs/sweep-runs.ts`), so that no number of
 * crashes leaves a gap, and which run is advanced alone after crashes (`engine/election.ts`).
 *
 * A check over several columns of `runs` goes: PostgreSQL parsed it at every statement, 33 us of 240. What writes runs keeps
 * to it by its form, and `test/faults` asks for it after every workload.
 */
import { sql, type Kysely } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table executor
    drop column predecessor_heartbeat_at, add column mended_at timestamptz, add column suspect uuid`.execute(db);
  await sql`alter table runs drop constraint if exists runs_check`.execute(db);
}
