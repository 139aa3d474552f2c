import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { expectInTime } from "../../../test/in-time.ts";
import { sharedPostgres, type SharedPostgres } from "../../../test/postgres.ts";
import type { RunId } from "../lib/ids.ts";
import { createLog } from "../lib/log/log.ts";
import { openDatabase, type Database } from "./database.ts";
import { ensurePartitions, partitionOf } from "./partitions.ts";

const NOVEMBER = Date.parse("2026-11-21T12:00:00Z");
let server: SharedPostgres;
let url: string;
let database: Database;

beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  url = await server.createMigrated();
  database = open();
});
afterEach(async () => {
  await database[Symbol.asyncDispose]();
});

const open = (): Database =>
  openDatabase({ connection: { connectionString: url }, isEmbedded: false, log: createLog("silent") });

/** A run id for a time; `tail` makes several for one millisecond. */
function idAt(time: number | string, tail = "7000-8000-000000000000"): RunId {
  const hex = new Date(time).getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-${tail}` as RunId;
}

async function insertRun(id: RunId, into = "runs"): Promise<void> {
  await database.query(
    `insert into ${into} (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
       created_at, revision, progress, epoch, wake_seq) values ($1, $1, $1, $1, '1.0.0', 'pending', 'user', $1, '{}', $2, 1, 0, 0, 0)`,
    [id, new Date(NOVEMBER)],
  );
}

const homeOf = async (id: RunId): Promise<string> =>
  (await database.query("select tableoid::regclass::text as home from runs where id = $1", [id]))[0]!.home as string;

test("this month and the next two, also over the turn of the year", async () => {
  await ensurePartitions(database, NOVEMBER);
  expect([...database.months].toSorted()).toEqual(["2026_11", "2026_12", "2027_01"]);
  await ensurePartitions(database, Date.parse("2027-01-31T23:59:59.999Z"));
  expect([...database.months].toSorted()).toEqual(["2026_11", "2026_12", "2027_01", "2027_02", "2027_03"]);
});

test("a run lies in the month of its id, to the millisecond, and partitionOf says so", async () => {
  await ensurePartitions(database, NOVEMBER);
  const last = idAt("2026-11-30T23:59:59.999Z", "7fff-bfff-ffffffffffff");
  const first = idAt("2026-12-01T00:00:00.000Z");
  for (const [id, month] of [
    [last, "2026_11"],
    [first, "2026_12"],
  ] as const) {
    expect(partitionOf(database, id)).toBe(month);
    await insertRun(id);
    expect(await homeOf(id)).toBe(`runs_${month}`);
  }
});

test("a wrong clock's run lies in the default partition, and partitionOf says so", async () => {
  await ensurePartitions(database, NOVEMBER);
  for (const id of [idAt("1999-01-01T00:00:00Z"), idAt("2039-05-05T00:00:00Z")]) {
    expect(partitionOf(database, id)).toBe("default");
    await insertRun(id);
    expect(await homeOf(id)).toBe("runs_default");
  }
});

test("a month of which the default partition has rows stays there whole; the others are made", async () => {
  const early = idAt("2026-12-05T00:00:00Z");
  await insertRun(early);
  await ensurePartitions(database, NOVEMBER);
  expect([...database.months].toSorted()).toEqual(["2026_11", "2027_01"]);
  expect(partitionOf(database, early)).toBe("default");
  for (const table of ["runs", "steps", "attempts"]) {
    expect(await database.query("select to_regclass($1) as name", [`${table}_2026_12`])).toEqual([{ name: null }]);
  }
});

test("from many processes at once, and writing goes on meanwhile", async () => {
  const others = Array.from({ length: 6 }, open);
  await Promise.all([
    ...others.map((other) => ensurePartitions(other, NOVEMBER)),
    ...Array.from({ length: 20 }, (_, index) =>
      insertRun(idAt(NOVEMBER, `7000-8000-${String(index).padStart(12, "0")}`)).catch(() => {}),
    ),
  ]);
  for (const other of others) {
    expect([...other.months].filter((month) => month !== "2026_11").toSorted()).toEqual(["2026_12", "2027_01"]);
    await other[Symbol.asyncDispose]();
  }
});

test("who reads the default partition for long is waited for briefly: the next hour tries again", async () => {
  const reader = await database.dedicated();
  await reader.query("begin");
  await reader.query("select count(*) from runs");
  const startedAt = performance.now();
  await ensurePartitions(database, NOVEMBER);
  expectInTime(performance.now() - startedAt, 20_000);
  expect(database.months.size).toBe(0);
  await reader.query("commit");
  await reader.end();
  await ensurePartitions(database, NOVEMBER);
  expect(database.months.size).toBe(3);
});

test("a partition has the keys, checks and indexes of its table", async () => {
  await ensurePartitions(database, NOVEMBER);
  const id = idAt(NOVEMBER);
  await insertRun(id, "runs_2026_11");
  await expect(insertRun(id, "runs_2026_11")).rejects.toMatchObject({ code: "23505" });
  await expect(database.query("update runs_2026_11 set status = 'lost'")).rejects.toMatchObject({ code: "23514" });
  const indexes = (table: string): Promise<unknown[]> =>
    database.query("select count(*) as count from pg_index where indrelid = $1::regclass", [table]);
  expect(await indexes("runs_2026_11")).toEqual(await indexes("runs"));
});
