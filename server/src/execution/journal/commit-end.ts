/** Ends a run at once and without its journal, in whichever process it is advanced. */
import { notFound } from "../../lib/errors.ts";
import type { ApprovalId, OrganizationId, RunId } from "../../lib/ids.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Database, Query, Row } from "../../storage/database.ts";
import type { RunStatus } from "../../storage/schema.ts";
import { partitionOf } from "../../storage/partitions.ts";
import { RUN_COLUMNS, runFromRow } from "./read-rows.ts";
import type { Run, RunError } from "../run/run.ts";
import { mayBecome, OPEN_STATUSES_SQL } from "../run/states.ts";
import type { Follower, OtherParts, PartRow } from "./part.ts";

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
export async function commitEnd(
  { database, clock, parts }: { database: Database; clock: Clock; parts: OtherParts },
  which: Which,
  ending: Ending,
): Promise<EndedRun> {
  const month = partitionOf(database, which.id);
  const now = clock.now();
  const following = followingRows(parts, which, { status: ending.status, finished_at: now });
  const ended = await database.transaction(async (query) => {
    const { run, epoch } = await lock(query, month, which);
    const isOurs = which.epoch === undefined || which.epoch === epoch;
    if (!isOurs || !mayBecome(run.status, ending.status)) return { run, changed: false, withdrawn: [] };
    return { ...(await end(query, month, which, { ...ending, now: new Date(now), following })), changed: true };
  }, which.organizationId);
  for (const { part } of following) part.afterCommit?.();
  return ended;
}

type Following = { part: Follower; rows: PartRow[] }[];

/** The parts that other rooms have written with the end of this run. */
function followingRows(
  { followers }: OtherParts,
  { organizationId, id }: Which,
  update: { status: RunStatus; finished_at: number },
): Following {
  const happened = { organizationId, runId: id, update, approvals: [] };
  const following: Following = followers.map((part) => ({ part, rows: [] }));
  for (const { part, rows } of following) part.collect(happened, rows);
  return following.filter(({ rows }) => rows.length > 0);
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
  { status, error, now, following }: Ending & { now: Date; following: Following },
): Promise<Pick<EndedRun, "run" | "withdrawn">> {
  const own = [id, organizationId, now, status, error && JSON.stringify(error)];
  const others = following.map(({ part }, index) =>
    part.sql(part.rows.from(own.length + 1 + index), { month, refused: "", has: () => false }),
  );
  const [row] = await query(
    `with open as (
       select ${KEPT}, row_number() over (order by number) as place from steps_${month}
        where run_id = $1 and status in ('pending', 'running', 'paused')),
     live as (
       update runs_${month} set status = $4::text, cancelled_at = case when $4::text = 'cancelled' then $3::timestamptz end,
         error = $5::json, finished_at = $3, owner = null, wake_at = null,
         epoch = epoch + 1, revision = revision + 1 + (select count(*) from open),
         current_step = (select max(number) from steps_${month} where run_id = $1)
        where id = $1 and organization_id = $2 and status in (${OPEN_STATUSES_SQL})
        returning *),
     s as (
       insert into steps_${month} (${KEPT}, status, finished_at, revision)
       select ${KEPT}, 'cancelled', $3, (select revision - 1 - (select count(*) from open) from live) + place
         from open where exists (select 1 from live)
       on conflict (run_id, number) do update set
         status = excluded.status, finished_at = excluded.finished_at, revision = excluded.revision),
     a as (
       update approvals set status = 'withdrawn', decided_at = $3
        where run_id = $1 and organization_id = $2 and status = 'open' and exists (select 1 from live)
       returning id),
     unlistened as (
       delete from listeners where run_id = $1 and organization_id = $2 and exists (select 1 from live)),
     unheard as (
       delete from heard_events where run_id = $1 and organization_id = $2 and exists (select 1 from live))
     ${others.map((sql) => `, ${sql}`).join("")}
     select ${RUN_COLUMNS}, limited, array(select id from a) as withdrawn from live`,
    [...own, ...following.map(({ part, rows }) => part.rows.value(rows))],
  );
  return { run: endedFromRow(row!), withdrawn: row!["withdrawn"] as ApprovalId[] };
}
