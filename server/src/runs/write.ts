/**
 * The one place that writes runs, steps and attempts: starts, checkpoints and ends that meet in one tick become one
 * statement a month (storage/batch.ts). An update that lost its fence (`epoch`) writes none of its steps. Writing the
 * same again changes nothing: the batch repeats a write whose answer was lost.
 */
import { Batch } from "../storage/batch.ts";
import type { Database } from "../storage/database.ts";
import { partitionOf } from "../storage/partitions.ts";
import { RowSet } from "../storage/unnest.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import type { ApprovalRow, ApprovalChange, AttemptRow, StartRow, StepWrite, UpdateRow } from "./rows.ts";

/** All that one run commits at once: a start or an update, and the rows that go with it. */
export type Write = {
  runId: RunId;
  organizationId: OrganizationId;
  start?: StartRow;
  update?: UpdateRow;
  steps: StepWrite[];
  attempts: AttemptRow[];
  approvals: ApprovalRow[];
  approvalChanges: ApprovalChange[];
  /** About what the payloads weigh, for the batch's limit. */
  bytes: number;
};

export type Written =
  /** `wakeSeq` differs from the update's when somebody woke the run meanwhile. */
  | { kind: "written"; wakeSeq: number }
  /** The idempotency key of a start is taken. */
  | { kind: "duplicate" }
  /** Another process or a cancel has the run now, or it was decided what the write expires; nothing was written. */
  | { kind: "lost" };

export type Writer = { add(write: Write): Promise<Written> };

export const createWriter = (database: Database): Writer =>
  new Batch<Write, Written>({
    id: (write) => write.runId,
    organizationId: (write) => write.organizationId,
    bytes: (write) => write.bytes,
    write: (writes) => writeAll(database, writes),
  });

type KeyRow = Pick<StartRow, "organization_id" | "agent_id" | "key" | "body_hash" | "created_at"> & { run_id: RunId };

const KEY = new RowSet<KeyRow>("q", {
  run_id: "uuid",
  organization_id: "uuid",
  agent_id: "uuid",
  key: "text",
  body_hash: "hex",
  created_at: "ms",
});
const START = new RowSet<Omit<StartRow, "key" | "body_hash">>("s", {
  id: "uuid",
  organization_id: "uuid",
  project_id: "uuid",
  agent_id: "uuid",
  version: "text",
  status: "text",
  started_by_kind: "text",
  started_by_id: "uuid",
  input: "json",
  output: "json",
  error: "json",
  state: "json",
  created_at: "ms",
  started_at: "ms",
  finished_at: "ms",
  revision: "int4",
  current_step: "int4",
  progress: "int4",
  epoch: "int4",
  owner: "uuid",
  wake_at: "ms",
  wake_seq: "int4",
  run_at: "ms",
  parent_run_id: "uuid",
  parent_awaits: "bool",
  retry_of: "uuid",
  limited: "bool",
  held_bytes: "int4",
});
const UPDATE = new RowSet<UpdateRow>("c", {
  id: "uuid",
  epoch: "int4",
  from_status: "text",
  status: "text",
  output: "json",
  error: "json",
  state: "json",
  now: "ms",
  started_at: "ms",
  finished_at: "ms",
  revision: "int4",
  current_step: "int4",
  progress: "int4",
  moved: "bool",
  release: "bool",
  wake_at: "ms",
  wake_seq: "int4",
  exact: "bool",
  held_bytes: "int4",
});
const STEP = new RowSet<StepWrite>("x", {
  run_id: "uuid",
  number: "int4",
  organization_id: "uuid",
  key: "text",
  name: "text",
  kind: "text",
  status: "text",
  round: "text",
  attempt: "int4",
  state: "json",
  input: "json",
  output: "json",
  error: "json",
  started_at: "ms",
  finished_at: "ms",
  revision: "int4",
});
const ATTEMPT = new RowSet<AttemptRow>("t", {
  run_id: "uuid",
  number: "int4",
  attempt: "int4",
  organization_id: "uuid",
  status: "text",
  error: "json",
  started_at: "ms",
  finished_at: "ms",
});
const APPROVAL = new RowSet<ApprovalRow>("p", {
  organization_id: "uuid",
  id: "uuid",
  project_id: "uuid",
  agent_id: "uuid",
  run_id: "uuid",
  step_number: "int4",
  status: "text",
  question: "text",
  context: "json",
  assignee: "text",
  form: "json",
  expires_at: "ms",
  created_at: "ms",
});
const CHANGE = new RowSet<ApprovalChange>("d", {
  run_id: "uuid",
  organization_id: "uuid",
  id: "uuid",
  status: "text",
  decided_at: "ms",
});

const START_COLUMNS = [
  "id",
  "organization_id",
  "project_id",
  "agent_id",
  "version",
  "status",
  "started_by_kind",
  "started_by_id",
  "input",
  "output",
  "error",
  "state",
  "created_at",
  "started_at",
  "finished_at",
  "revision",
  "current_step",
  "progress",
  "epoch",
  "owner",
  "wake_at",
  "wake_seq",
  "run_at",
  "parent_run_id",
  "parent_awaits",
  "retry_of",
  "limited",
  "held_bytes",
] as const;
const KEY_COLUMNS = ["organization_id", "agent_id", "key", "body_hash", "run_id", "created_at"] as const;
const STEP_COLUMNS = [
  "run_id",
  "number",
  "organization_id",
  "key",
  "name",
  "kind",
  "status",
  "round",
  "attempt",
  "state",
  "input",
  "output",
  "error",
  "started_at",
  "finished_at",
  "revision",
] as const;
const ATTEMPT_COLUMNS = [
  "run_id",
  "number",
  "attempt",
  "organization_id",
  "status",
  "error",
  "started_at",
  "finished_at",
] as const;
const APPROVAL_COLUMNS = [
  "organization_id",
  "id",
  "project_id",
  "agent_id",
  "run_id",
  "step_number",
  "status",
  "question",
  "context",
  "assignee",
  "form",
  "expires_at",
  "created_at",
] as const;

/** Each part of the statement, in the order of its parameters; a part without rows is left out. */
const PARTS = [
  {
    name: "k",
    rows: KEY,
    of: ({ start }: Write): KeyRow[] => (start && start.key !== null ? [{ ...start, run_id: start.id }] : []),
    sql: (from: string) => `
      q as materialized (select * from ${from}),
      k as (
        insert into idempotency_keys as known (${KEY_COLUMNS.join(", ")})
        select distinct on (q.organization_id, q.agent_id, q.key) ${KEY.columns([...KEY_COLUMNS])}
          from q order by q.organization_id, q.agent_id, q.key, q.run_id
        on conflict (organization_id, agent_id, key) do update set run_id = excluded.run_id
          where known.run_id = excluded.run_id
        returning run_id)`,
  },
  {
    name: "s",
    rows: START,
    of: ({ start }: Write) => (start ? [start] : []),
    sql: (from: string, month: string, hasKeys: boolean) => `
      i as materialized (
        select * from ${from}
        ${hasKeys ? "where (s.id in (select run_id from q except select run_id from k)) is not true" : ""}),
      wi as (
        insert into runs_${month} (${START_COLUMNS.join(", ")})
        select ${START.columns([...START_COLUMNS])} from i as s
        on conflict do nothing)`,
  },
  {
    name: "u",
    rows: UPDATE,
    of: (write: Write) => (write.update ? [write.update] : []),
    sql: (from: string, month: string) => `
      u as (
        update runs_${month} r set
          status = c.status, output = ${UPDATE.column("output")}, error = ${UPDATE.column("error")},
          state = coalesce(${UPDATE.column("state")}, r.state),
          started_at = coalesce(r.started_at, ${UPDATE.column("started_at")}), finished_at = ${UPDATE.column("finished_at")},
          revision = c.revision, current_step = c.current_step, progress = c.progress,
          held_bytes = c.held_bytes,
          blamed = case when c.moved then 0 else r.blamed end,
          owner = case when c.release then null else r.owner end,
          wake_at = case
            when c.finished_at is not null then null
            when not c.release then r.wake_at
            when r.wake_seq <> c.wake_seq then to_timestamp(c.now / 1000.0)
            else ${UPDATE.column("wake_at")} end
        from ${from}
        where r.id = c.id and r.epoch = c.epoch and r.status = c.from_status
          and (not c.exact or r.wake_seq = c.wake_seq)
        returning r.id, r.wake_seq)`,
  },
  {
    name: "x",
    rows: STEP,
    of: (write: Write) => write.steps,
    sql: (from: string, month: string) => `
      wx as (
        insert into steps_${month} (${STEP_COLUMNS.join(", ")})
        select ${STEP.columns([...STEP_COLUMNS])} from ${from} where (x.run_id in (select id from live)) is true
        on conflict (run_id, number) do update set
          status = excluded.status, round = excluded.round, attempt = excluded.attempt, state = excluded.state,
          input = excluded.input, output = excluded.output, error = excluded.error, started_at = excluded.started_at,
          finished_at = excluded.finished_at, revision = excluded.revision)`,
  },
  {
    name: "t",
    rows: ATTEMPT,
    of: (write: Write) => write.attempts,
    sql: (from: string, month: string) => `
      wt as (
        insert into attempts_${month} (${ATTEMPT_COLUMNS.join(", ")})
        select ${ATTEMPT.columns([...ATTEMPT_COLUMNS])} from ${from} where (t.run_id in (select id from live)) is true
        on conflict do nothing)`,
  },
  {
    name: "p",
    rows: APPROVAL,
    of: (write: Write) => write.approvals,
    sql: (from: string) => `
      wp as (
        insert into approvals (${APPROVAL_COLUMNS.join(", ")})
        select ${APPROVAL.columns([...APPROVAL_COLUMNS])} from ${from} where (p.run_id in (select id from live)) is true
        on conflict do nothing)`,
  },
  {
    name: "d",
    rows: CHANGE,
    of: (write: Write) => write.approvalChanges,
    sql: (from: string) => `
      wd as (
        update approvals a set status = d.status, decided_at = ${CHANGE.column("decided_at")} from ${from}
        where a.organization_id = d.organization_id and a.id = d.id and a.status = 'open'
          and (d.run_id in (select id from live)) is true)`,
  },
] as const;

type Rows = RowSet<Record<string, unknown>>;
const statements = new Map<string, string>();

/** So many rows of each part are written one by one in the statement's text when a run has its statement for itself. */
const MOST_LISTED = 3;

/** How many rows of each part there are, and whether the statement's text has a place for each. */
type Shape = { counts: readonly number[]; listed: boolean; month: string };

/** The statement of this shape; made once, then prepared once a connection under its name. */
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
    // The rows of the later parts go in only with the run that is written here.
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
  // Of two advances of one run only one has the fence, and the statement can't tell their steps apart: each goes alone.
  if (new Set(writes.map(({ runId }) => runId)).size < writes.length) throw new Error("two writes of one run");
  const months = Map.groupBy(writes, (write) => partitionOf(database, write.runId));
  const found = new Map<string, number>();
  // One after the other: a batch is almost always of one month.
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
