import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { bundled } from "../../../test/bundle.ts";
import { eventually } from "../../../test/client.ts";
import { sharedPostgres, type SharedPostgres } from "../../../test/postgres.ts";
import { createLog } from "../lib/log/log.ts";
import { openDatabase, type Database } from "./database.ts";
import { migrate, MIGRATIONS, migrationsOf } from "./migrate.ts";

let server: SharedPostgres;
let url: string;
let database: Database;

beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  url = await server.createDatabase();
  database = openDatabase({ connection: { connectionString: url }, isEmbedded: false, log: createLog("silent") });
});
afterEach(async () => {
  await database[Symbol.asyncDispose]();
});

const tablesNamed = async (name: string): Promise<number> =>
  (await database.query("select count(*) as count from pg_tables where tablename = $1", [name]))[0]!.count as number;

test("an empty database gets every migration, and then none again", async () => {
  expect(await migrate(database)).toEqual(Object.keys(MIGRATIONS));
  expect(await migrate(database)).toEqual([]);
  expect(await migrationsOf(database)).toEqual(Object.keys(MIGRATIONS));
  expect(await tablesNamed("runs_default")).toBe(1);
});

test("eight processes at once on an empty database: all end well, partitions too", async () => {
  const all = Array.from({ length: 8 }, () =>
    spawn(process.execPath, [bundled("storage/storage.testsuite"), url], { stdio: ["ignore", "inherit", "inherit"] }),
  );
  const codes = await Promise.all(all.map(async (child) => ((await once(child, "close")) as [number])[0]));
  expect(codes).toEqual(Array.from({ length: 8 }, () => 0));
  expect(await migrationsOf(database)).toEqual(Object.keys(MIGRATIONS));
  const [row] = await database.query("select count(*) as count from pg_inherits where inhparent = 'runs'::regclass");
  expect(row!.count).toBe(4);
});

test("a database that is behind gets what it lacks and keeps its rows", async () => {
  await migrate(database);
  await database.query("insert into settings values ('kept', '1')");
  const more = { ...MIGRATIONS, "9999-later": "alter table settings add column note text not null default 'new'" };
  expect(await migrate(database, more)).toEqual(["9999-later"]);
  expect(await database.query("select * from settings")).toEqual([{ name: "kept", value: 1, note: "new" }]);
});

test("a schema newer than the program is refused in one line", async () => {
  await migrate(database);
  await database.query("insert into autograph_migrations values ('9999-later')");
  await expect(migrate(database)).rejects.toMatchObject({
    name: "OperatorError",
    message: expect.stringMatching(
      /^The database's schema \(9999-later\) is newer than this program's \(\d{4}-.*\): start the newer Autograph/,
    ),
  });
});

test("a schema that lacks a migration before its last is refused in one line", async () => {
  await migrate(database, { "0001-first": "", "0003-third": "create table third ()" });
  const all = { "0001-first": "", "0002-second": "create table second ()", "0003-third": "" };
  await expect(migrate(database, all)).rejects.toMatchObject({
    name: "OperatorError",
    message: "The database's schema lacks 0002-second, but has 0003-third: restore a backup",
  });
  expect(await tablesNamed("second")).toBe(0);
});

test("data of a version before the first release is refused, and left as it is", async () => {
  await database.query(
    "create table agent_versions (id int); create table kysely_migration (name text, timestamp text)",
  );
  const refusal = {
    name: "OperatorError",
    message: expect.stringMatching(
      /^This data is of a version before the first release.*: start with a new data folder/,
    ),
  };
  await expect(migrate(database)).rejects.toMatchObject(refusal);
  await expect(migrationsOf(database)).rejects.toMatchObject(refusal);
  expect(await database.query("select tablename from pg_tables where schemaname = 'public' order by 1")).toEqual([
    { tablename: "agent_versions" },
    { tablename: "kysely_migration" },
  ]);
});

test("a migration that fails leaves nothing behind, of those before it neither, and says why", async () => {
  const broken = {
    ...MIGRATIONS,
    "9999-broken": "create table left_behind (id int); create table left_behind (id int)",
  };
  await expect(migrate(database, broken)).rejects.toMatchObject({ code: "42P07" });
  expect(await tablesNamed("left_behind")).toBe(0);
  expect(await tablesNamed("runs_default")).toBe(0);
  expect(await migrate(database)).toEqual(Object.keys(MIGRATIONS));
  expect(await tablesNamed("runs_default")).toBe(1);
});

test("a process that is killed within a migration leaves nothing of it; the next one carries it out", async () => {
  const start = (): ChildProcess =>
    spawn(process.execPath, [bundled("storage/storage.testsuite"), url], { stdio: ["ignore", "inherit", "inherit"] });
  // One of the last tables of the schema: its creation waits for this one to be there, or not.
  const holder = await database.dedicated();
  await holder.query("begin; create table audit_events ()");
  const killed = start();
  await eventually(async () => {
    const waiting = "select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'";
    return (await database.query(waiting)).length > 0;
  }, 60_000);
  killed.kill("SIGKILL");
  await once(killed, "close");
  expect(await migrationsOf(database)).toEqual([]);
  expect(await tablesNamed("organizations")).toBe(0);
  const closed = once(start(), "close");
  await holder.query("rollback");
  await holder.end();
  expect(await closed).toEqual([0, null]);
  expect(await migrationsOf(database)).toEqual(Object.keys(MIGRATIONS));
});

test("a migration may take longer than a list's statement may", async () => {
  const slow = { "0001-slow": "create table found as select current_setting('statement_timeout') as timeout" };
  await migrate(database, slow);
  expect(await database.query("select timeout from found")).toEqual([{ timeout: "0" }]);
});
