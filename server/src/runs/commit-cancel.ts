/** Ends a run at once without its journal, whoever advances it, and aborts what is in flight here. */
import { conflict, notFound } from "../lib/errors.ts";
import type { ApprovalId, InstanceId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Query, Row } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import { RUN_COLUMNS, runFromRow } from "./read-rows.ts";
import type { Run, RunError } from "./run.ts";
import { tellApproval, tellChanged, type Runs } from "./runs.ts";
import { mayBecome, OPEN_STATUSES_SQL } from "./states.ts";

/** `limited`: its agent has a limit of concurrent runs, one of which may begin now. */
type Ended = { run: Run & { limited: boolean }; changed: boolean };
type Ending = { status: "cancelled"; error: null } | { status: "failed"; error: RunError };

/** `changed` is false when it was cancelled already. Throws NOT_FOUND; CONFLICT on a run that completed or failed. */
export async function commitCancel(runs: Runs, organizationId: OrganizationId, id: RunId): Promise<Ended> {
  const cancelled = await commitEnd(runs, organizationId, id, { status: "cancelled", error: null });
  const { status } = cancelled.run;
  if (!cancelled.changed && status !== "cancelled") throw conflict(`the run is ${status} already`);
  return cancelled;
}

/** Fails a run that can't be advanced, as the executor only; `changed` is false when it had ended. Throws NOT_FOUND. */
export const commitFailure = (runs: Runs, organizationId: OrganizationId, id: RunId, error: RunError): Promise<Ended> =>
  commitEnd(runs, organizationId, id, { status: "failed", error });

async function commitEnd(runs: Runs, organizationId: OrganizationId, id: RunId, ending: Ending): Promise<Ended> {
  const month = partitionOf(runs.database, id);
  const now = new Date(runs.clock.now());
  const ended = await runs.database.transaction(async (query) => {
    const before = await lock(query, month, organizationId, id);
    if (!mayBecome(before.status, ending.status)) return { run: before, changed: false, withdrawn: [] };
    if (ending.status === "failed" && !(await isExecutor(query, runs.instanceId)))
      return { run: before, changed: false, withdrawn: [] };
    return { ...(await end(query, month, organizationId, id, now, ending)), changed: true };
  }, organizationId);
  if (ended.changed) {
    runs.engine.interrupt(id);
    tellChanged(runs, organizationId, id);
    runs.notices.send({ kind: "cancelled", organizationId, id });
    for (const approvalId of ended.withdrawn) tellApproval(runs, organizationId, approvalId);
  }
  return ended;
}

const isExecutor = async (query: Query, instanceId: InstanceId): Promise<boolean> =>
  (await query("select 1 from executor where instance_id = $1", [instanceId])).length > 0;

/**
 * The second statement must see the steps of a checkpoint that was committed meanwhile, so the row is locked first. What
 * is planned after it reads no whole partition: statistics may be missing, or older than a month's first rows.
 */
async function lock(query: Query, month: string, organizationId: OrganizationId, id: RunId): Promise<Ended["run"]> {
  const [row] = await query(
    `select ${RUN_COLUMNS}, limited, set_config('enable_seqscan', 'off', true) from runs_${month}
      where id = $1 and organization_id = $2 for update`,
    [id, organizationId],
  );
  if (!row) throw notFound("Run");
  return endedFromRow(row);
}

const endedFromRow = (row: Row): Ended["run"] => ({ ...runFromRow(row), limited: row["limited"] });

/** What a step's row must have, but for what changes. */
const KEPT = "run_id, number, organization_id, key, name, kind, round, attempt";

/**
 * Fences the run (`epoch`), cancels its open steps, each with a revision of its own, and withdraws its open approvals.
 * The steps are inserted upon themselves: a join of the open ones with the table is a loop in a loop where there are no
 * statistics (10 s for 9,900 steps), an insert finds each by its key.
 */
async function end(
  query: Query,
  month: string,
  organizationId: OrganizationId,
  id: RunId,
  now: Date,
  { status, error }: Ending,
): Promise<{ run: Ended["run"]; withdrawn: ApprovalId[] }> {
  const [row] = await query(
    `with open as (
       select ${KEPT}, row_number() over (order by number) as place from steps_${month}
        where run_id = $1 and status in ('pending', 'running', 'paused')),
     r as (
       update runs_${month} set status = $4::text, cancelled_at = case when $4::text = 'cancelled' then $3::timestamptz end,
         error = $5::json, finished_at = $3, owner = null, wake_at = null,
         epoch = epoch + 1, revision = revision + 1 + (select count(*) from open),
         current_step = (select max(number) from steps_${month} where run_id = $1)
        where id = $1 and organization_id = $2 and status in (${OPEN_STATUSES_SQL})
        returning *),
     s as (
       insert into steps_${month} (${KEPT}, status, finished_at, revision)
       select ${KEPT}, 'cancelled', $3, (select revision - 1 - (select count(*) from open) from r) + place
         from open where exists (select 1 from r)
       on conflict (run_id, number) do update set
         status = excluded.status, finished_at = excluded.finished_at, revision = excluded.revision),
     a as (
       update approvals set status = 'withdrawn', decided_at = $3
        where run_id = $1 and organization_id = $2 and status = 'open' and exists (select 1 from r)
       returning id)
     select ${RUN_COLUMNS}, limited, array(select id from a) as withdrawn from r`,
    [id, organizationId, now, status, error && JSON.stringify(error)],
  );
  return { run: endedFromRow(row!), withdrawn: row!["withdrawn"] as ApprovalId[] };
}
