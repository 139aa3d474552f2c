import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { sql, type Kysely } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startTestPostgres, type TestPostgres } from "../../../test/postgres.ts";
import { createLog } from "../lib/log.ts";
import { openDatabase, type Database } from "./database.ts";
import { migrate, MIGRATIONS, migrationsOf } from "./migrate.ts";

let server: TestPostgres;
let url: string;
let database: Database;

beforeAll(async () => {
  server = await startTestPostgres();
});
afterAll(() => server.stop());

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
  const program = path.join(import.meta.dirname, "storage.testsuite.ts");
  const all = Array.from({ length: 8 }, () =>
    spawn(process.execPath, [program, url], { stdio: ["ignore", "inherit", "inherit"] }),
  );
  const codes = await Promise.all(all.map(async (child) => ((await once(child, "close")) as [number])[0]));
  expect(codes).toEqual(Array.from({ length: 8 }, () => 0));
  expect(await migrationsOf(database)).toEqual(Object.keys(MIGRATIONS));
  const [row] = await database.query("select count(*) as count from pg_inherits where inhparent = 'runs'::regclass");
  expect(row!.count).toBe(4);
});

test("a schema newer than the program is refused in one line", async () => {
  await migrate(database);
  await database.query("insert into kysely_migration values ('0099-later', '2026-11-21')");
  await expect(migrate(database)).rejects.toMatchObject({
    name: "OperatorError",
    message: expect.stringMatching(
      /^The database's schema \(0099-later\) is newer than this program's \(\d{4}-.*\): start the newer Autograph/,
    ),
  });
});

test("a migration that fails leaves nothing behind and says why", async () => {
  const broken = {
    ...MIGRATIONS,
    "9999-broken": {
      async up(db: Kysely<unknown>) {
        await sql`create table left_behind (id int)`.execute(db);
        await sql`create table left_behind (id int)`.execute(db);
      },
    },
  };
  await expect(migrate(database, broken)).rejects.toMatchObject({ code: "42P07" });
  expect(await tablesNamed("left_behind")).toBe(0);
  expect(await tablesNamed("runs_default")).toBe(0);
  expect(await migrate(database)).toEqual(Object.keys(MIGRATIONS));
});

test("a migration may take longer than a list's statement may", async () => {
  const slow = {
    "0001-slow": {
      async up(db: Kysely<unknown>) {
        const { rows } = await sql<{ value: string }>`select current_setting('statement_timeout') as value`.execute(db);
        expect(rows).toEqual([{ value: "0" }]);
      },
    },
  };
  await migrate(database, slow);
});
