/**
 * The only place that writes runs, steps and attempts: starts, checkpoints and ends that come together become one statement
 * per month (storage/batch.ts). An update that lost its fence (`epoch`) writes none of its steps. Writing the same again
 * changes nothing: the batch repeats a write whose answer was lost.
 */
import { LRUCache } from "lru-cache";
import { Batch, type WriteLane } from "../../storage/batch.ts";
import type { Database, Hot, Row } from "../../storage/database.ts";
import { partitionOf, readMonths } from "../../storage/partitions.ts";
import { isOtherPartition } from "../../storage/pg-errors.ts";
import { RowSet } from "../../storage/unnest.ts";
import type { OrganizationId, RunId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import {
  APPROVAL,
  APPROVAL_CHANGE,
  ATTEMPT,
  DRAFT_TEXT,
  FIRING,
  KEY,
  START,
  STEP,
  TURN,
  UNTOLD,
  UPDATE,
  type ApprovalChange,
  type ApprovalRow,
  type AttemptRow,
  type DraftTextRow,
  type FiringRow,
  type KeyRow,
  type StartRow,
  type StepRow,
  type TurnRow,
  type UntoldRow,
  type UpdateRow,
} from "./rows.ts";
import { untoldOf, type Untold } from "./untold.ts";

/** All that one run commits at once: a start or an update, and the rows that go with it. */
export type Write = {
  runId: RunId;
  organizationId: OrganizationId;
  start?: StartRow;
  /** Of the start. */
  key?: KeyRow;
  /** What started it, of the start too. */
  firing?: FiringRow;
  /** Of the firing: only if the trigger's last run has ended. */
  turn?: TurnRow;
  /** The sentence that a start was reviewed from. */
  draft?: DraftTextRow;
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
  /** The idempotency key of a start is taken, its firing was a repeat or had no turn, or its trigger is paused or deleted. */
  | { kind: "duplicate" }
  /** Somebody changes the trigger at the moment, so its firing's turn is not known. */
  | { kind: "locked" }
  /** Another process or a cancel has the run now, or the approval to expire was decided; nothing was written. */
  | { kind: "lost" };

export type Writer = { add(write: Write): Promise<Written> };

export const createWriter = (database: Database, untold: Untold): Batch<Write, Written> =>
  new Batch<Write, Written>({
    id: (write) => write.runId,
    organizationId: (write) => write.organizationId,
    bytes: (write) => write.bytes,
    write: (writes, lane) => writeAll(database, untold, writes, lane),
  });

const KEYS = new RowSet<KeyRow>("q", "key_row", KEY);
const TURNS = new RowSet<TurnRow>("o", "turn_row", TURN);
const FIRINGS = new RowSet<FiringRow>("g", "firing_row", FIRING);
const STARTS = new RowSet<StartRow>("s", "start_row", START);
const UPDATES = new RowSet<UpdateRow>("c", "update_row", UPDATE);
const STEPS = new RowSet<StepRow>("x", "step_row", STEP);
const ATTEMPTS = new RowSet<AttemptRow>("t", "attempt_row", ATTEMPT);
const APPROVALS = new RowSet<ApprovalRow>("p", "approval_row", APPROVAL);
const CHANGES = new RowSet<ApprovalChange>("d", "approval_change_row", APPROVAL_CHANGE);
const DRAFT_TEXTS = new RowSet<DraftTextRow>("w", "draft_text_row", DRAFT_TEXT);
const UNTOLDS = new RowSet<UntoldRow>("n", "untold_row", UNTOLD);

/** A null wake_seq marks a trigger that was locked, as opposed to one whose turn it was not. */
const LOCKED = "union all select run_id, null from o where run_id not in (select run_id from h)";

/** It may have been paused or deleted since the firing was prepared. */
const FIRES = (trigger: string, byHand: string): string =>
  `${trigger}.deleted_at is null and (${trigger}.status = 'active' or ${byHand})`;

/** For firings whose run has no turn. */
const NO_TURN = "and (g.run_id in (select run_id from o except select run_id from l)) is not true";

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
    name: "o",
    rows: TURNS,
    of: ({ turn }: Write) => (turn ? [turn] : []),
    // Waits for no trigger: a transaction of its tenant may hold one for seconds, and this batch is everybody's. What is compared is
    // read by itself: PostgreSQL 18.4 crashes when it checks a condition again that looks into partitions.
    sql: (from: string) => `
      o as materialized (select * from ${from}),
      h as materialized (
        select o.run_id, o.organization_id, o.trigger_id, t.last_run_id, (${FIRES("t", "o.by_hand")}) as fires
          from o join triggers t on t.organization_id = o.organization_id and t.id = o.trigger_id
           for no key update of t skip locked),
      e as materialized (
        select distinct on (h.trigger_id) h.run_id, h.organization_id, h.trigger_id from h
         where h.fires and (h.last_run_id is null or h.last_run_id = h.run_id or exists (
           select from runs r where r.organization_id = h.organization_id and r.id = h.last_run_id and r.status in ('completed', 'failed', 'cancelled')))
         order by h.trigger_id, h.run_id),
      l as (
        update triggers t set last_run_id = e.run_id from e
         where t.organization_id = e.organization_id and t.id = e.trigger_id
        returning e.run_id)`,
  },
  {
    name: "f",
    rows: FIRINGS,
    of: ({ firing }: Write) => (firing ? [firing] : []),
    sql: (from: string, _month: string, _refused: string, hasTurns: boolean) => `
      g as materialized (select * from ${from}),
      f as (
        insert into firings as known (${FIRINGS.list})
        select distinct on (g.trigger_id, g.once) ${FIRINGS.selected} from g
         where exists (
           select from triggers t where t.organization_id = g.organization_id and t.id = g.trigger_id
              and ${FIRES("t", "g.fired_by_kind is not null")})
         ${hasTurns ? NO_TURN : ""}
         order by g.trigger_id, g.once, g.id
        on conflict (trigger_id, once) do update set run_id = excluded.run_id where known.id = excluded.id
        returning run_id)`,
  },
  {
    name: "s",
    rows: STARTS,
    of: ({ start }: Write) => (start ? [start] : []),
    sql: (from: string, month: string, refused: string) => `
      i as materialized (
        select * from ${from}
        ${refused === "" ? "" : `where (s.id in (${refused})) is not true`}),
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
          status = c.status, output = c.output, error = c.error,
          state = coalesce(c.state, r.state),
          started_at = coalesce(r.started_at, c.started_at), finished_at = c.finished_at,
          revision = c.revision, current_step = c.current_step, progress = c.progress,
          held_bytes = c.held_bytes,
          blamed = case when c.moved then 0 else r.blamed end,
          owner = case when c.release then null else r.owner end,
          wake_at = case
            when c.finished_at is not null then null
            when not c.release then r.wake_at
            when r.wake_seq <> c.wake_seq then c.now
            else c.wake_at end
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
        update approvals a set status = d.status, decided_at = d.decided_at from ${from}
        where a.organization_id = d.organization_id and a.id = d.id and a.status = 'open'
          and (d.run_id in (select id from live)) is true)`,
  },
  {
    name: "w",
    rows: DRAFT_TEXTS,
    of: ({ draft }: Write) => (draft ? [draft] : []),
    sql: (from: string) => `
      ww as (
        insert into draft_texts (${DRAFT_TEXTS.list})
        select ${DRAFT_TEXTS.selected} from ${from} where (w.run_id in (select id from live)) is true
        on conflict do nothing)`,
  },
  {
    name: "n",
    rows: UNTOLDS,
    of: (write: Write, untold: Untold) => untoldOf(untold, write),
    sql: (from: string) => `
      wn as (
        insert into untold_events (${UNTOLDS.list})
        select ${UNTOLDS.selected} from ${from} where (n.run_id in (select id from live)) is true
        on conflict do nothing)`,
  },
] as const;

export const ROW_SETS = PARTS.map(({ rows }) => rows);
/** Steps and what comes after them. */
const FIRST_OF_LIVE = PARTS.findIndex(({ name }) => name === "x");
const UNTOLD_PART = PARTS.findIndex(({ name }) => name === "n");

type Rows = RowSet<Record<string, unknown>>;
/** Those of past months go. */
const STATEMENTS_REMEMBERED = 1_000;
const statements = new LRUCache<string, string>({ max: STATEMENTS_REMEMBERED });

/** Approximate bytes of a row without its texts. */
const ROW_BYTES = 100;

/** Which parts have rows. `isRest`: further rows of a run that the transaction has written; its id is the first parameter. */
type Shape = { has: readonly boolean[]; month: string; isRest: boolean };

/** The statement of this shape; made once, then prepared once per connection under its name. */
function statement(shape: Shape): { name: string; text: string } {
  const { has, month, isRest } = shape;
  const name = `write_${month}_${isRest ? "rest_" : ""}${PARTS.map((part, index) => (has[index] ? part.name : "")).join("")}`;
  let text = statements.get(name);
  if (!text) statements.set(name, (text = compose(shape)));
  return { name, text };
}

function compose({ has, month, isRest }: Shape): string {
  let parameter = isRest ? 2 : 1;
  const written: string[] = [];
  const [hasKeys, hasTurns = false, hasFirings, hasStarts, hasUpdates] = has;
  const refused = [
    hasKeys ? "(select run_id from q except select run_id from k)" : "",
    hasFirings ? "(select run_id from g except select run_id from f)" : "",
  ];
  const live = [
    hasStarts ? "select id, wake_seq from i" : "",
    hasUpdates ? "select id, wake_seq from u" : "",
    isRest ? "select $1::uuid as id, 0 as wake_seq" : "",
  ];
  PARTS.forEach((part, index) => {
    // Rows of the later parts are written only together with the run that is written here.
    if (index === FIRST_OF_LIVE) written.push(`live as materialized (${live.filter(Boolean).join(" union all ")})`);
    if (!has[index]) return;
    written.push(part.sql(part.rows.from(parameter++), month, refused.filter(Boolean).join(" union all "), hasTurns));
  });
  return `with ${written.join(",\n")}\nselect id, wake_seq from live ${hasTurns ? LOCKED : ""}`;
}

async function writeAll(database: Database, untold: Untold, writes: Write[], lane: WriteLane): Promise<Written[]> {
  // Of two advances of one run only one has the fence, and one statement can't tell their steps apart: each goes alone.
  if (new Set(writes.map(({ runId }) => runId)).size < writes.length) throw new Error("two writes of one run");
  const found = new Map<string, number | null>();
  await writeMonths(database, untold, writes, lane, found);
  return writes.map((write): Written => {
    const wakeSeq = found.get(write.runId);
    if (wakeSeq === null) return { kind: "locked" };
    if (wakeSeq !== undefined) return { kind: "written", wakeSeq };
    return write.start ? { kind: "duplicate" } : { kind: "lost" };
  });
}

/** Puts into `found` the `wake_seq` of each run that it wrote, null if its row was locked. */
async function writeMonths(
  database: Database,
  untold: Untold,
  writes: Write[],
  lane: WriteLane,
  found: Map<string, number | null>,
): Promise<void> {
  const months = Map.groupBy(writes, (write) => partitionOf(database, write.runId));
  // One after the other: a batch almost always falls in one month.
  for (const [month, group] of months) {
    const rows = PARTS.map(({ of }) => rowsOf(group, (write) => of(write, untold)));
    try {
      const written =
        lane === "small"
          ? await writeRows(database.hot, month, rows)
          : await database.large((hot) => writeSlices(hot, month, rows));
      for (const row of written) found.set(row["id"], row["wake_seq"]);
      if (rows[UNTOLD_PART]!.length > 0) untold.look();
    } catch (error) {
      if (!isOtherPartition(error)) throw error;
      // Their month got a partition meanwhile. Nothing was written.
      await readMonths(database);
      if (group.every((write) => partitionOf(database, write.runId) === month)) throw error;
      await writeMonths(database, untold, group, lane, found);
    }
  }
}

/** By a loop: `flatMap` took a microsecond a run. */
function rowsOf(writes: Write[], of: (write: Write) => Record<string, unknown>[]): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = [];
  for (const write of writes) for (const row of of(write)) rows.push(row);
  return rows;
}

/** The rows of each part. */
type PartRows = Record<string, unknown>[][];

/** In one statement, which answers `id` and `wake_seq` of the runs that it wrote. `restOf`: the run that all the rows are further rows of. */
function writeRows(hot: Hot, month: string, rows: PartRows, restOf?: RunId): Promise<Row[]> {
  const { name, text } = statement({ has: rows.map(({ length }) => length > 0), month, isRest: restOf !== undefined });
  const values = PARTS.flatMap((part, index) =>
    rows[index]!.length === 0 ? [] : [(part.rows as unknown as Rows).value(rows[index]!)],
  );
  return hot(name, text, restOf === undefined ? values : [restOf, ...values]);
}

/**
 * In one transaction, of statements of about `LIMITS.batchBytes` each: the runs first, with as many of their rows as fit. Each later
 * statement has rows of one run, which is live in it; those of a run that was not written are left out.
 */
async function writeSlices(hot: Hot, month: string, rows: PartRows): Promise<Row[]> {
  const [first, ...rest] = slicesOf(rows);
  const written = await writeRows(hot, month, first!);
  for (const slice of rest) {
    const runId: RunId = slice.flat()[0]!["run_id"] as RunId;
    if (written.some((row) => row["id"] === runId && row["wake_seq"] !== null))
      await writeRows(hot, month, slice, runId);
  }
  return written;
}

/** The parts of which a run may have any number of rows, written after its own row. */
const SLICED: readonly string[] = ["x", "t", "p"] satisfies (typeof PARTS)[number]["name"][];

function slicesOf(rows: PartRows): PartRows[] {
  const slices = [rows.map((list, index) => (SLICED.includes(PARTS[index]!.name) ? [] : list))];
  let bytes = slices[0]!.flat().reduce((sum, row) => sum + bytesOf(row), 0);
  let runId: unknown;
  rows.forEach((list, index) => {
    if (!SLICED.includes(PARTS[index]!.name)) return;
    for (const row of list) {
      const more = bytesOf(row);
      const isOther = slices.length > 1 && row["run_id"] !== runId;
      if (isOther || (bytes > 0 && bytes + more > LIMITS.batchBytes)) {
        slices.push(PARTS.map(() => []));
        bytes = 0;
      }
      runId = row["run_id"];
      slices.at(-1)![index]!.push(row);
      bytes += more;
    }
  });
  return slices;
}

/** Approximate bytes of a row; only texts are large. */
function bytesOf(row: Record<string, unknown>): number {
  let bytes = ROW_BYTES;
  for (const value of Object.values(row)) if (typeof value === "string") bytes += value.length;
  return bytes;
}
