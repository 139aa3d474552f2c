/**
 * The only place that writes runs, steps and attempts: starts, checkpoints and ends from one tick become one statement
 * per month (storage/batch.ts). An update that lost its fence (`epoch`) writes none of its steps. Writing the same again
 * changes nothing: the batch repeats a write whose answer was lost.
 */
import { Batch } from "../storage/batch.ts";
import type { Database } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import { RowSet } from "../storage/unnest.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import {
  APPROVAL,
  APPROVAL_CHANGE,
  ATTEMPT,
  KEY,
  START,
  STEP,
  UPDATE,
  type ApprovalChange,
  type ApprovalRow,
  type AttemptRow,
  type KeyRow,
  type StartRow,
  type StepRow,
  type UpdateRow,
} from "./rows.ts";

/** All that one run commits at once: a start or an update, and the rows that go with it. */
export type Write = {
  runId: RunId;
  organizationId: OrganizationId;
  start?: StartRow;
  /** Of the start. */
  key?: KeyRow;
  update?: UpdateRow;
  steps: StepRow[];
  attempts: AttemptRow[];
  approvals: ApprovalRow[];
  approvalChanges: ApprovalChange[];
  /** About how much the payloads weigh, for the batch's limit. */
  bytes: number;
};

export type Written =
  /** `wakeSeq` differs from the update's when somebody woke the run meanwhile. */
  | { kind: "written"; wakeSeq: number }
  /** The idempotency key of a start is taken. */
  | { kind: "duplicate" }
  /** Another process or a cancel has the run now, or the approval to expire was decided; nothing was written. */
  | { kind: "lost" };

export type Writer = { add(write: Write): Promise<Written> };

export const createWriter = (database: Database): Batch<Write, Written> =>
  new Batch<Write, Written>({
    id: (write) => write.runId,
    organizationId: (write) => write.organizationId,
    bytes: (write) => write.bytes,
    write: (writes) => writeAll(database, writes),
  });

const KEYS = new RowSet<KeyRow>("q", KEY);
const STARTS = new RowSet<StartRow>("s", START);
const UPDATES = new RowSet<UpdateRow>("c", UPDATE);
const STEPS = new RowSet<StepRow>("x", STEP);
const ATTEMPTS = new RowSet<AttemptRow>("t", ATTEMPT);
const APPROVALS = new RowSet<ApprovalRow>("p", APPROVAL);
const CHANGES = new RowSet<ApprovalChange>("d", APPROVAL_CHANGE);

/** Each part of the statement, in parameter order; parts without rows are left out. */
const PARTS = [
  {
    name: "k",
    rows: KEYS,
    of: ({ key }: Write) => (key ? [key] : []),
    sql: (from: string) => `
      q as materialized (select * from ${from}),
      k as (
        insert into idempotency_keys as known (${KEYS.list})
        select distinct on (q.organization_id, q.agent_id, q.key) ${KEYS.selected}
          from q order by q.organization_id, q.agent_id, q.key, q.run_id
        on conflict (organization_id, agent_id, key) do update set run_id = excluded.run_id
          where known.run_id = excluded.run_id
        returning run_id)`,
  },
  {
    name: "s",
    rows: STARTS,
    of: ({ start }: Write) => (start ? [start] : []),
    sql: (from: string, month: string, hasKeys: boolean) => `
      i as materialized (
        select * from ${from}
        ${hasKeys ? "where (s.id in (select run_id from q except select run_id from k)) is not true" : ""}),
      wi as (
        insert into runs_${month} (${STARTS.list})
        select ${STARTS.selected} from i as s
        on conflict do nothing)`,
  },
  {
    name: "u",
    rows: UPDATES,
    of: (write: Write) => (write.update ? [write.update] : []),
    sql: (from: string, month: string) => `
      u as (
        update runs_${month} r set
          status = c.status, output = ${UPDATES.column("output")}, error = ${UPDATES.column("error")},
          state = coalesce(${UPDATES.column("state")}, r.state),
          started_at = coalesce(r.started_at, ${UPDATES.column("started_at")}), finished_at = ${UPDATES.column("finished_at")},
          revision = c.revision, current_step = c.current_step, progress = c.progress,
          held_bytes = c.held_bytes,
          blamed = case when c.moved then 0 else r.blamed end,
          owner = case when c.release then null else r.owner end,
          wake_at = case
            when c.finished_at is not null then null
            when not c.release then r.wake_at
            when r.wake_seq <> c.wake_seq then to_timestamp(c.now / 1000.0)
            else ${UPDATES.column("wake_at")} end
        from ${from}
        where r.id = c.id and r.epoch = c.epoch and r.status = c.from_status
          and (not c.exact or r.wake_seq = c.wake_seq)
        returning r.id, r.wake_seq)`,
  },
  {
    name: "x",
    rows: STEPS,
    of: (write: Write) => write.steps,
    sql: (from: string, month: string) => `
      wx as (
        insert into steps_${month} (${STEPS.list})
        select ${STEPS.selected} from ${from} where (x.run_id in (select id from live)) is true
        on conflict (run_id, number) do update set
          status = excluded.status, round = excluded.round, attempt = excluded.attempt, state = excluded.state,
          input = excluded.input, output = excluded.output, error = excluded.error, response = excluded.response, started_at = excluded.started_at,
          finished_at = excluded.finished_at, revision = excluded.revision)`,
  },
  {
    name: "t",
    rows: ATTEMPTS,
    of: (write: Write) => write.attempts,
    sql: (from: string, month: string) => `
      wt as (
        insert into attempts_${month} (${ATTEMPTS.list})
        select ${ATTEMPTS.selected} from ${from} where (t.run_id in (select id from live)) is true
        on conflict do nothing)`,
  },
  {
    name: "p",
    rows: APPROVALS,
    of: (write: Write) => write.approvals,
    sql: (from: string) => `
      wp as (
        insert into approvals (${APPROVALS.list})
        select ${APPROVALS.selected} from ${from} where (p.run_id in (select id from live)) is true
        on conflict do nothing)`,
  },
  {
    name: "d",
    rows: CHANGES,
    of: (write: Write) => write.approvalChanges,
    sql: (from: string) => `
      wd as (
        update approvals a set status = d.status, decided_at = ${CHANGES.column("decided_at")} from ${from}
        where a.organization_id = d.organization_id and a.id = d.id and a.status = 'open'
          and (d.run_id in (select id from live)) is true)`,
  },
] as const;

type Rows = RowSet<Record<string, unknown>>;
const statements = new Map<string, string>();

/** Up to this many rows of each part are spelled out in the statement's text if a run has the statement to itself. */
const MOST_LISTED = 3;

/** How many rows each part has, and whether the statement's text spells them out. */
type Shape = { counts: readonly number[]; listed: boolean; month: string };

/** The statement of this shape; made once, then prepared once per connection under its name. */
function statement(shape: Shape): { name: string; text: string } {
  const { counts, listed, month } = shape;
  const parts = PARTS.map(({ name }, index) => (counts[index] === 0 ? "" : `${name}${listed ? counts[index] : ""}`));
  const name = `write_${month}_${parts.join("")}`;
  let text = statements.get(name);
  if (!text) statements.set(name, (text = compose(shape)));
  return { name, text };
}

function compose({ counts, listed, month }: Shape): string {
  let first = 1;
  const written: string[] = [];
  const [hasKeys = false, hasStarts, hasUpdates] = counts.map((count) => count > 0);
  const live = [hasStarts ? "select id, wake_seq from i" : "", hasUpdates ? "select id, wake_seq from u" : ""];
  PARTS.forEach((part, index) => {
    // Rows of the later parts are written only together with the run that is written here.
    if (index === 3) written.push(`live as materialized (${live.filter(Boolean).join(" union all ")})`);
    const rows = counts[index]!;
    if (rows === 0) return;
    const from = listed ? part.rows.listed(first, rows) : part.rows.from(first);
    written.push(part.sql(from, month, hasKeys));
    first += part.rows.parameters * (listed ? rows : 1);
  });
  return `with ${written.join(",\n")}\nselect id, wake_seq from live`;
}

async function writeAll(database: Database, writes: Write[]): Promise<Written[]> {
  // Of two advances of one run only one has the fence, and one statement can't tell their steps apart: each goes alone.
  if (new Set(writes.map(({ runId }) => runId)).size < writes.length) throw new Error("two writes of one run");
  const months = Map.groupBy(writes, (write) => partitionOf(database, write.runId));
  const found = new Map<string, number>();
  // One after the other: a batch almost always falls in one month.
  for (const [month, group] of months) {
    const rows = PARTS.map((part) => group.flatMap(part.of as (write: Write) => Record<string, unknown>[]));
    const counts = rows.map((list) => list.length);
    const listed = group.length === 1 && counts.every((count) => count <= MOST_LISTED);
    const { name, text } = statement({ counts, listed, month });
    const values = PARTS.flatMap((part, index): unknown[] => {
      const of = part.rows as unknown as Rows;
      if (counts[index] === 0) return [];
      return listed ? of.listedValues(rows[index]!) : of.values(rows[index]!);
    });
    for (const row of await database.hot(name, text, values)) found.set(row["id"] as string, row["wake_seq"] as number);
  }
  return writes.map((write): Written => {
    const wakeSeq = found.get(write.runId);
    if (wakeSeq !== undefined) return { kind: "written", wakeSeq };
    return write.start ? { kind: "duplicate" } : { kind: "lost" };
  });
}
