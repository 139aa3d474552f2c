/**
 * The only place that writes runs, steps and attempts: starts, checkpoints and ends that come together become one statement
 * per month (storage/batch.ts), put together from parts (part.ts). An update that lost its fence (`epoch`) writes none of
 * its steps. Writing the same again changes nothing: the batch repeats a write whose answer was lost.
 */
import { LRUCache } from "lru-cache";
import { Batch, type WriteLane } from "../../storage/batch.ts";
import type { Database, Hot, Row } from "../../storage/database.ts";
import { partitionOf, readMonths } from "../../storage/partitions.ts";
import { isOtherPartition } from "../../storage/pg-errors.ts";
import type { RunId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Follower, Guard, OtherParts, Part, PartRow, Statement, Write } from "./part.ts";
import { APPROVALS, ATTEMPTS, JOURNAL_PARTS, STARTS, STEPS, UPDATES } from "./parts.ts";

export type Written =
  /** `wakeSeq` differs from the update's when somebody woke the run meanwhile. */
  | { kind: "written"; wakeSeq: number }
  /** A guard of the start refused it. */
  | { kind: "refused" }
  /** A guard of the start can't decide: somebody has locked what it asks. */
  | { kind: "locked" }
  /** Another process or a cancel has the run now, or the approval to expire was decided; nothing was written. */
  | { kind: "lost" };

export type Writer = { add(write: Write): Promise<Written> };

type Writing = {
  database: Database;
  /** In the order of the statement and its parameters. */
  parts: readonly (Part & Pick<Guard, "refused" | "locked"> & Pick<Follower, "afterCommit">)[];
  /** By their names. */
  statements: LRUCache<string, string>;
};

/** The statements of past months fall out. */
const STATEMENTS_REMEMBERED = 1_000;

export function createWriter(database: Database, { guards, followers }: OtherParts): Batch<Write, Written> {
  const parts = [...guards, ...JOURNAL_PARTS, ...followers];
  const codes = new Set(parts.map(({ code }) => code));
  if (codes.size < parts.length)
    throw new Error(`two parts of a statement have one code: ${parts.map(({ code }) => code).join()}`);
  const writing: Writing = { database, parts, statements: new LRUCache({ max: STATEMENTS_REMEMBERED }) };
  return new Batch<Write, Written>({
    id: (write) => write.runId,
    organizationId: (write) => write.organizationId,
    bytes: (write) => write.bytes,
    write: (writes, lane) => writeAll(writing, writes, lane),
  });
}

/** The parts of which a run may have any number of rows, written after its own row. */
const SLICED: ReadonlySet<Part> = new Set([STEPS, ATTEMPTS, APPROVALS]);

/** Approximate bytes of a row without its texts. */
const ROW_BYTES = 100;

/** Which parts have rows. `isRest`: further rows of a run that the transaction has written; its id is the first parameter. */
type Shape = { has: readonly boolean[]; month: string; isRest: boolean };

/** The statement of this shape; made once, then prepared once per connection under its name. */
function statement({ parts, statements }: Writing, shape: Shape): { name: string; text: string } {
  const { has, month, isRest } = shape;
  const name = `write_${month}_${isRest ? "rest_" : ""}${parts.map(({ code }, index) => (has[index] ? code : "")).join("")}`;
  let text = statements.get(name);
  if (!text) statements.set(name, (text = compose(parts, shape)));
  return { name, text };
}

function compose(parts: Writing["parts"], { has, month, isRest }: Shape): string {
  let parameter = isRest ? 2 : 1;
  const present = parts.filter((_, index) => has[index]);
  const isPresent: Statement["has"] = ({ code }) => present.some((part) => part.code === code);
  const refused = present.flatMap((part) => part.refused ?? []).join(" union all ");
  const live = [
    isPresent(STARTS) ? "select id, wake_seq from new_runs" : "",
    isPresent(UPDATES) ? "select id, wake_seq from changed_runs" : "",
    isRest ? "select $1::uuid as id, 0 as wake_seq" : "",
  ];
  const written: string[] = [];
  for (const part of parts) {
    // Rows of the later parts are written only together with the run that is written here.
    if (part === STEPS) written.push(`live as materialized (${live.filter(Boolean).join(" union all ")})`);
    if (isPresent(part)) written.push(part.sql(part.rows.from(parameter++), { month, refused, has: isPresent }));
  }
  // A null wake_seq marks a start that is not decided, as opposed to one that is refused.
  const locked = present.flatMap((part) => (part.locked ? `union all ${part.locked}` : []));
  return `with ${written.join(",\n")}\nselect id, wake_seq from live ${locked.join(" ")}`;
}

async function writeAll(writing: Writing, writes: Write[], lane: WriteLane): Promise<Written[]> {
  // Only one of two advances of a run has the fence, and one statement can't tell their steps apart: each goes alone.
  if (new Set(writes.map(({ runId }) => runId)).size < writes.length) throw new Error("two writes of one run");
  for (const { brought } of writes) {
    // Rows are collected by the part itself: those of another part with its code would be left out in silence.
    const unknown = brought?.find(({ part }) => !writing.parts.some((own) => own === part));
    if (unknown) throw new Error(`the journal has no part "${unknown.part.code}"`);
  }
  const found = new Map<string, number | null>();
  await writeMonths(writing, writes, lane, found);
  return writes.map((write): Written => {
    const wakeSeq = found.get(write.runId);
    if (wakeSeq === null) return { kind: "locked" };
    if (wakeSeq !== undefined) return { kind: "written", wakeSeq };
    return write.start ? { kind: "refused" } : { kind: "lost" };
  });
}

/** Puts into `found` the `wake_seq` of each run that it wrote, null if its row was locked. */
async function writeMonths(
  writing: Writing,
  writes: Write[],
  lane: WriteLane,
  found: Map<string, number | null>,
): Promise<void> {
  const { database, parts } = writing;
  const months = Map.groupBy(writes, (write) => partitionOf(database, write.runId));
  // One after the other: a batch almost always falls in one month.
  for (const [month, group] of months) {
    const rows = parts.map((part) => rowsOf(part, group));
    try {
      const written =
        lane === "small"
          ? await writeRows(writing, database.hot, month, rows)
          : await database.large((hot) => writeSlices(writing, hot, month, rows));
      for (const row of written) found.set(row["id"], row["wake_seq"]);
      parts.forEach(({ afterCommit }, index) => afterCommit && rows[index]!.length > 0 && afterCommit());
    } catch (error) {
      if (!isOtherPartition(error)) throw error;
      // Their month got a partition meanwhile. Nothing was written.
      await readMonths(database);
      if (group.every((write) => partitionOf(database, write.runId) === month)) throw error;
      await writeMonths(writing, group, lane, found);
    }
  }
}

function rowsOf(part: Part, writes: Write[]): PartRow[] {
  const rows: PartRow[] = [];
  for (const write of writes) part.collect(write, rows);
  return rows;
}

/** The rows of each part. */
type PartRows = PartRow[][];

/** One statement; returns `id` and `wake_seq` of the runs that it wrote. `restOf`: all rows are further rows of this run. */
function writeRows(writing: Writing, hot: Hot, month: string, rows: PartRows, restOf?: RunId): Promise<Row[]> {
  const { name, text } = statement(writing, {
    has: rows.map(({ length }) => length > 0),
    month,
    isRest: restOf !== undefined,
  });
  const values = writing.parts.flatMap((part, index) =>
    rows[index]!.length === 0 ? [] : [part.rows.value(rows[index]!)],
  );
  return hot(name, text, restOf === undefined ? values : [restOf, ...values]);
}

/**
 * In one transaction, of statements of about `LIMITS.batchBytes` each: the runs first, with as many of their rows as fit. Each later
 * statement has rows of one run, which is live in it; those of a run that was not written are left out.
 */
async function writeSlices(writing: Writing, hot: Hot, month: string, rows: PartRows): Promise<Row[]> {
  const [first, ...rest] = slicesOf(writing.parts, rows);
  const written = await writeRows(writing, hot, month, first!);
  for (const slice of rest) {
    const runId: RunId = slice.flat()[0]!["run_id"] as RunId;
    if (written.some((row) => row["id"] === runId && row["wake_seq"] !== null))
      await writeRows(writing, hot, month, slice, runId);
  }
  return written;
}

function slicesOf(parts: readonly Part[], rows: PartRows): PartRows[] {
  const slices = [rows.map((list, index) => (SLICED.has(parts[index]!) ? [] : list))];
  let bytes = slices[0]!.flat().reduce((sum, row) => sum + bytesOf(row), 0);
  let runId: unknown;
  rows.forEach((list, index) => {
    if (!SLICED.has(parts[index]!)) return;
    for (const row of list) {
      const more = bytesOf(row);
      const isOther = slices.length > 1 && row["run_id"] !== runId;
      if (isOther || (bytes > 0 && bytes + more > LIMITS.batchBytes)) {
        slices.push(parts.map(() => []));
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
