import { messageOf } from "../../lib/errors.ts";
import type { RunId } from "../../lib/ids.ts";
import type { Runs } from "../handle/runs.ts";

/** Notices from other processes may have been lost: watchers look again, and runs cancelled meanwhile are stopped. */
export async function lookAgain(runs: Runs): Promise<void> {
  for (const runId of runs.hub.topics()) runs.hub.publish(runId, "changed");
  const heads = Array.from(runs.executions.loaded.values(), ({ journal }) => journal.head);
  try {
    const rows = await runs.database.query(
      `select id from runs where status = 'cancelled'
          and (organization_id, id) in (select * from unnest ($1::uuid[], $2::uuid[]))`,
      [heads.map(({ organizationId }) => organizationId), heads.map(({ id }) => id)],
    );
    for (const row of rows) runs.engine.interrupt(row["id"] as RunId);
  } catch (error) {
    runs.log.warn({ reason: messageOf(error) }, "what was cancelled by another process is stopped at its next commit");
  }
}
