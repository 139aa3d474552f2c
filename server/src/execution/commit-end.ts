/** Ends a run at once and without its journal, whoever advances it. */
import { notFound } from "../lib/errors.ts";
import type { ApprovalId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import { RUN_COLUMNS, runFromRow } from "./read-rows.ts";
import type { Run, RunError } from "./run.ts";
import { mayBecome, OPEN_STATUSES_SQL } from "./states.ts";

/** `epoch`: only while the run has this epoch. */
type Which = { organizationId: OrganizationId; id: RunId; epoch?: number };
type Ending = { status: "cancelled"; error: null } | { status: "failed"; error: RunError };
type Locked = { run: EndedRun["run"]; epoch: number };

export type EndedRun = {
  /** `limited`: its agent has a limit on concurrent runs, so another may begin now. */
  run: Run & { limited: boolean };
  /** False: it had ended, or another has claimed it. */
  changed: boolean;
  /** Its approvals that nobody can decide any longer. */
  withdrawn: ApprovalId[];
};

/** Throws NOT_FOUND. */
export function commitEnd(database: Database, now: number, which: Which, ending: Ending): Promise<EndedRun> {
  const month = partitionOf(database, which.id);
  return database.transaction(async (query) => {
    const { run, epoch } = await lock(query, month, which);
    const isOurs = which.epoch === undefined || which.epoch === epoch;
    if (!isOurs || !mayBecome(run.status, ending.status)) return { run, changed: false, withdrawn: [] };
    return { ...(await end(query, month, which, new Date(now), ending)), changed: true };
  }, which.organizationId);
}

/**
 * The second statement must see the steps of a checkpoint committed meanwhile, so this one locks the row first. Statements
 * planned after it read no whole partition: statistics may be missing, or older than a month's first rows.
 */
async function lock(query: Query, month: string, { organizationId, id }: Which): Promise<Locked> {
  const [row] = await query(
    `select ${RUN_COLUMNS}, limited, epoch, set_config('enable_seqscan', 'off', true) from runs_${month}
      where id = $1 and organization_id = $2 for update`,
    [id, organizationId],
  );
  if (!row) throw notFound("Run");
  return { run: endedFromRow(row), epoch: row["epoch"] };
}

const endedFromRow = (row: Row): EndedRun["run"] => ({ ...runFromRow(row), limited: row["limited"] });

/** The columns that a step's row must have, except for those that change. */
const KEPT = "run_id, number, organization_id, key, name, kind, round, attempt";

/**
 * Fences the run (`epoch`), cancels its open steps, each with its own revision, and withdraws its open approvals. Upserts
 * the steps: without statistics, joining the open ones with the table is a nested loop (10 s for 9,900 steps), while an
 * insert finds each by its key.
 */
async function end(
  query: Query,
  month: string,
  { organizationId, id }: Which,
  now: Date,
  { status, error }: Ending,
): Promise<Pick<EndedRun, "run" | "withdrawn">> {
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
