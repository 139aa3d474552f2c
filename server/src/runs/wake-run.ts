/** The one place that makes a run due. */
import type { Signal } from "../execution/branches.ts";
import { AT_ONCE_SQL } from "../execution/run/due.ts";
import { OPEN_STATUSES_SQL } from "../execution/run/states.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { partitionOf } from "../storage/partitions.ts";
import type { Runs } from "./handle/runs.ts";

type Waking = Pick<Runs, "database" | "engine" | "notices" | "executions">;

/** The assignments that make a run due along with a statement's other changes; `hintDue` follows its commit. */
export const DUE_SQL = `wake_seq = wake_seq + 1, wake_at = ${AT_ONCE_SQL}`;

/** `signal`: what has come and one of its branches waits for. Leaves an ended run as it is. */
export async function wakeRun(runs: Waking, organizationId: OrganizationId, id: RunId, signal?: Signal): Promise<void> {
  await runs.database.query(
    `update runs_${partitionOf(runs.database, id)} set ${DUE_SQL}
      where id = $1 and organization_id = $2 and status in (${OPEN_STATUSES_SQL})`,
    [id, organizationId],
    organizationId,
  );
  hintDue(runs, organizationId, id, { signal });
}

/** After the commit that made the run due: tells the branch that waits for `signal`, or those that wait for events, and the engines of all processes. */
export function hintDue(
  { engine, notices, executions }: Waking,
  organizationId: OrganizationId,
  id: RunId,
  { signal, at = null, events }: { signal?: Signal | undefined; at?: number | null; events?: true } = {},
): void {
  if (signal !== undefined) executions.loaded.get(id)?.branches.notify(signal);
  if (events) executions.loaded.get(id)?.branches.hear();
  engine.wake(id, { organizationId, ...(at !== null && { at: new Date(at) }) });
  notices.send({ kind: "wake", organizationId, id });
}
