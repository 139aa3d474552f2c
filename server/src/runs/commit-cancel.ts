/** Commits `cancelled` at once, whoever advances the run, and aborts what is in flight here. */
import { conflict, notFound } from "../lib/errors.ts";
import type { ApprovalId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import { RUN_COLUMNS, runFromRow } from "./read-rows.ts";
import type { Run } from "./run.ts";
import { tellApproval, tellChanged, type Runs } from "./runs.ts";
import { isFinal, OPEN_STATUSES_SQL } from "./states.ts";

/** `changed` is false when it was cancelled already. Throws NOT_FOUND; CONFLICT on a run that completed or failed. */
export async function commitCancel(
  runs: Runs,
  organizationId: OrganizationId,
  id: RunId,
): Promise<{ run: Run; changed: boolean }> {
  const month = partitionOf(runs.database, id);
  const now = new Date(runs.clock.now());
  const cancelled = await runs.database.transaction(async (query) => {
    const before = await lock(query, month, organizationId, id);
    if (before.status === "cancelled") return { run: before, changed: false, withdrawn: [] };
    if (isFinal(before.status)) throw conflict(`the run is ${before.status} already`);
    return { ...(await cancel(query, month, organizationId, id, now)), changed: true };
  });
  if (cancelled.changed) {
    runs.engine.interrupt(id);
    tellChanged(runs, organizationId, id);
    runs.notices.send({ kind: "cancelled", organizationId, id });
    for (const approvalId of cancelled.withdrawn) tellApproval(runs, organizationId, approvalId);
  }
  return cancelled;
}

/** The second statement must see the steps of a checkpoint that was committed meanwhile, so the row is locked first. */
async function lock(query: Query, month: string, organizationId: OrganizationId, id: RunId): Promise<Run> {
  const [row] = await query(
    `select ${RUN_COLUMNS} from runs_${month} where id = $1 and organization_id = $2 for update`,
    [id, organizationId],
  );
  if (!row) throw notFound("Run");
  return runFromRow(row);
}

/** Fences the run (`epoch`), cancels its open steps, each with a revision of its own, and withdraws its open approvals. */
async function cancel(
  query: Query,
  month: string,
  organizationId: OrganizationId,
  id: RunId,
  now: Date,
): Promise<{ run: Run; withdrawn: ApprovalId[] }> {
  const [row] = await query(
    `with open as (
       select number, row_number() over (order by number) as place from steps_${month}
        where run_id = $1 and status in ('pending', 'running', 'paused')),
     r as (
       update runs_${month} set status = 'cancelled', cancelled_at = $3, finished_at = $3, owner = null, wake_at = null,
         epoch = epoch + 1, revision = revision + 1 + (select count(*) from open),
         current_step = (select max(number) from steps_${month} where run_id = $1)
        where id = $1 and organization_id = $2 and status in (${OPEN_STATUSES_SQL})
        returning *),
     s as (
       update steps_${month} s set status = 'cancelled', finished_at = $3,
         revision = (select revision - 1 - (select count(*) from open) from r) + open.place
        from open where s.run_id = $1 and s.number = open.number and exists (select 1 from r)),
     a as (
       update approvals set status = 'withdrawn', decided_at = $3
        where run_id = $1 and organization_id = $2 and status = 'open' and exists (select 1 from r)
       returning id)
     select ${RUN_COLUMNS}, array(select id from a) as withdrawn from r`,
    [id, organizationId, now],
  );
  return { run: runFromRow(row!), withdrawn: row!["withdrawn"] as ApprovalId[] };
}
