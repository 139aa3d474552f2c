/**
 * `runs`, `steps` and `attempts` have one partition a month by the time in the run's UUIDv7. Statements of the hot path
 * name the partition: `id between` over a batch would read everything between a fresh run and an old one (400 ms).
 */
import { timeOfId, type RunId } from "../lib/ids.ts";
import type { Database, Query } from "./database.ts";
import { codeOf } from "./pg-errors.ts";

const TABLES = ["runs", "steps", "attempts"] as const;
const MONTHS_AHEAD = 2;
/** Attaching waits for whoever reads the default partition and holds up those behind it: give up soon, the next hour tries again. */
const LOCK_TIMEOUT = "2s";
const LOCK = "hashtextextended('autograph partitions', 0)";

/** `2026_11`, of a time in ms, in UTC. */
const monthOf = (time: number): string => new Date(time).toISOString().slice(0, 7).replace("-", "_");

/** The time in ms at which the month `offset` months from this one begins, in UTC. */
export function startOfMonth(time: number, offset: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset);
}

/** The least UUIDv7 of a time. */
function boundary(time: number): string {
  const hex = time.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** What to write behind `runs_`, `steps_`, `attempts_`: the run's month, or `default` when it has no partition of its own. */
export function partitionOf(database: Database, runId: RunId): string {
  const time = timeOfId(runId);
  // Almost all are of one month, and a date costs 2 us.
  if (time < known.from || time >= known.to) {
    known = { from: startOfMonth(time, 0), to: startOfMonth(time, 1), month: monthOf(time) };
  }
  return database.months.has(known.month) ? known.month : "default";
}

let known = { from: 0, to: 0, month: "" };

/** Creates the partitions of this month and the next two, and reads which there are. To be called at start and every hour. */
export async function ensurePartitions(database: Database, now: number): Promise<void> {
  await readMonths(database);
  for (let offset = 0; offset <= MONTHS_AHEAD; offset++) {
    const from = startOfMonth(now, offset);
    if (database.months.has(monthOf(from))) continue;
    await database.transaction((query) => createMonth(query, from)).catch(tolerate);
  }
  await readMonths(database);
}

async function createMonth(query: Query, from: number): Promise<void> {
  const month = monthOf(from);
  await query(`select pg_advisory_xact_lock(${LOCK})`);
  await query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
  const [existing] = await query("select to_regclass($1) as name", [`runs_${month}`]);
  if (existing?.name !== null) return;
  for (const table of TABLES) {
    // Attached rather than created in place, so that writers of the other partitions are not locked out. A
    // quarter of each page is kept for checkpoints, which change no indexed column: PostgreSQL's CPU of a run of three
    // calls falls by 5 to 10 %.
    await query(`create table ${table}_${month} (like ${table} including all) with (fillfactor = 75)`);
    await query(
      `alter table ${table} attach partition ${table}_${month}
         for values from ('${boundary(from)}') to ('${boundary(startOfMonth(from, 1))}')`,
    );
  }
}

/** Rows of that month lie in the default partition already (23514): the month stays there. Busy (55P03): the next hour. */
function tolerate(error: unknown): void {
  const code = codeOf(error);
  if (code !== "23514" && code !== "55P03") throw error;
}

/** Reads which months have partitions. */
export async function readMonths(database: Database): Promise<void> {
  const rows = await database.query(
    `select right(inhrelid::regclass::text, 7) as month from pg_inherits
      where inhparent in (select to_regclass(name) from unnest($1::text[]) as name) and inhrelid::regclass::text ~ '_\\d{4}_\\d{2}$'
      group by 1 having count(*) = ${TABLES.length}`,
    [TABLES],
  );
  database.months = new Set(rows.map((row) => row.month as string));
}
