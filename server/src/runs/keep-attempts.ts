import type { JournalStep } from "../execution/journal/loaded-run.ts";
import type { Run } from "../execution/run/run.ts";
import type { RunId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";

/**
 * Copies the attempts before the newest one of each kept step. Called before the new run is written: if that fails, nobody
 * finds them, and they go with their month.
 */
export async function keepAttempts(
  database: Database,
  { id, organizationId }: Pick<Run, "id" | "organizationId">,
  kept: readonly JournalStep[],
  newRunId: RunId,
): Promise<void> {
  const tried = kept.filter(({ attempt }) => attempt > 1);
  if (tried.length === 0) return;
  await database.query(
    `insert into attempts_${partitionOf(database, newRunId)}
       (run_id, number, attempt, organization_id, status, error, response, started_at, finished_at)
     select $3, a.number, a.attempt, a.organization_id, a.status, a.error, a.response, a.started_at, a.finished_at
       from unnest($4::integer[], $5::integer[]) as step (number, attempt)
       join attempts_${partitionOf(database, id)} a
         on a.run_id = $2 and a.organization_id = $1 and a.number = step.number and a.attempt < step.attempt`,
    [organizationId, id, newRunId, tried.map(({ number }) => number), tried.map(({ attempt }) => attempt)],
    organizationId,
  );
}
