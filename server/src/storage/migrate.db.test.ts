import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { sql, type Kysely } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { bundled } from "../../../test/bundle.ts";
import { eventually } from "../../../test/client.ts";
import { sharedPostgres, type SharedPostgres } from "../../../test/postgres.ts";
import { decodeId, encodeId, newId, timeOfId, type Id } from "../lib/ids.ts";
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

test("drafts and versions that were there before get what new ones have", async () => {
  const before = Object.entries(MIGRATIONS).filter(([name]) => name < "0008");
  await migrate(database, Object.fromEntries(before));
  const [organization, user, project, agent, other] = Array.from({ length: 5 }, () => newId());
  const at = new Date("2026-03-04T05:06:07.089Z");
  await database.query("insert into organizations values ($1, 'a', 'free', null, $2)", [organization, at]);
  await database.query("insert into users values ($1, 'a@b', 'Ada', '', null, $2)", [user, at]);
  await database.query("insert into projects values ($1, $2, 'test', 'Test', $3)", [organization, project, at]);
  for (const [id, text] of [
    [agent, "document:"],
    [other, null],
  ]) {
    await database.query(
      `insert into agents (organization_id, id, project_id, handle, name, status, draft, created_at, updated_at)
        values ($1, $2, $3, $6, 'A', 'draft', $4, $5, $5)`,
      [organization, id, project, text, at, id],
    );
  }
  for (const version of ["1.0.0", "1.0.1"]) {
    await database.query("insert into agent_versions values ($1, $2, $3, 'a', $4, $5)", [
      organization,
      agent,
      version,
      user,
      at,
    ]);
  }
  await migrate(database);
  const drafts = await database.query(
    "select draft_revision, draft_saved_at, draft_saved_by_kind, draft_saved_by_id from agents order by draft",
  );
  expect(drafts.map((row) => Object.values(row))).toEqual([
    [1, at, "system", null],
    [0, null, null, null],
  ]);
  const versions = await database.query("select id from agent_versions");
  expect(new Set(versions.map((row) => row["id"])).size).toBe(2);
  for (const { id } of versions as { id: Id<"agentVersion"> }[]) {
    expect(decodeId("agentVersion", encodeId("agentVersion", id))).toBe(id);
    expect(id).toMatch(/^.{14}7.{4}[89ab]/);
    expect(timeOfId(id)).toBe(at.getTime());
  }
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
  const first = Object.fromEntries(Object.entries(MIGRATIONS).slice(0, 1));
  const broken = {
    ...first,
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
  expect(await migrate(database, first)).toEqual(Object.keys(first));
  expect(await tablesNamed("runs_default")).toBe(1);
});

test("a process that is killed within the migrations leaves the old schema; the next one brings it up to date", async () => {
  const before = Object.entries(MIGRATIONS).filter(([name]) => name < "0008");
  await migrate(database, Object.fromEntries(before));
  const [organization, project, agent] = [newId(), newId(), newId()];
  await database.query("insert into organizations values ($1, 'a', 'free', null, now())", [organization]);
  await database.query("insert into projects values ($1, $2, 'test', 'Test', now())", [organization, project]);
  await database.query(
    `insert into agents (organization_id, id, project_id, handle, name, status, draft, created_at, updated_at)
      values ($1, $2, $3, 'a', 'A', 'draft', 'document:', now(), now())`,
    [organization, agent, project],
  );
  const start = (): ChildProcess =>
    spawn(process.execPath, [bundled("storage/storage.testsuite"), url], { stdio: ["ignore", "inherit", "inherit"] });
  // The last ones wait for this lock, with those before them done.
  const holder = await database.dedicated();
  await holder.query("begin; lock table approvals in row exclusive mode");
  const killed = start();
  await eventually(async () => {
    const waiting = "select from pg_locks where not granted and relation = 'approvals'::regclass";
    return (await database.query(waiting)).length > 0;
  }, 60_000);
  killed.kill("SIGKILL");
  await once(killed, "close");
  expect(await migrationsOf(database)).toEqual(before.map(([name]) => name));
  const closed = once(start(), "close");
  await holder.query("rollback");
  await holder.end();
  expect(await closed).toEqual([0, null]);
  expect(await migrationsOf(database)).toEqual(Object.keys(MIGRATIONS));
  expect(await database.query("select draft_revision from agents")).toEqual([{ draft_revision: 1 }]);
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

test("old steps get the number of the step that encloses them, and old errors its name", async () => {
  const before = Object.entries(MIGRATIONS).filter(([name]) => name < "0009");
  await migrate(database, Object.fromEntries(before));
  const [run, other] = ["019a0000-0000-7000-8000-000000000001", "019a0000-0000-7000-8000-000000000002"];
  const parents: [key: string, parent: number | null][] = [
    ["loop#1", null],
    ["loop#1/1/a b#1", 1],
    ["loop#1/2/a b#1", 1],
    ["loop#1/2/safe#1", 1],
    ["loop#1/2/safe#1/one#2", 4],
    ["loop#1/2/safe#1/catch/steps#1", 4],
    ["loop#1/2/safe#1/catch/steps#1/steps/ask#1", 6],
    ["loop#2", null],
    ["loop#2/11/1#1", 8],
    ["loop#2/11/1#1/1#1", 9],
  ];
  for (const id of [run, other]) {
    await database.query(
      `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
         error, created_at, finished_at, revision, progress, epoch, wake_seq)
       values ($1, $1, $1, $1, '1.0.0', 'failed', 'user', $1, '{}', $2::json, now(), now(), 1, 0, 1, 0)`,
      [
        id,
        id === run ? '{"type":"x","detail":"a \\"step\\":1}","step":7}' : '{"type":"y","instance":null,"step":null}',
      ],
    );
    await database.query(
      `insert into steps (run_id, number, organization_id, key, name, kind, status, round, attempt, revision)
       select $1, number, $1, key, 'a', 'set', 'completed', '', 1, 1 from unnest($2::text[]) with ordinality as s (key, number)`,
      [id, parents.map(([key]) => key)],
    );
  }
  expect(await migrate(database)).toContain("0009-parent-steps");
  for (const id of [run, other]) {
    const rows = await database.query("select key, parent_number from steps where run_id = $1 order by number", [id]);
    expect(rows.map((row) => [row["key"], row["parent_number"]])).toEqual(parents);
  }
  const errors = await database.query("select error::text as error from runs order by id");
  expect(errors.map((row) => JSON.parse(row["error"] as string))).toEqual([
    { type: "x", detail: 'a "step":1}', stepNumber: 7 },
    { type: "y", instance: null, stepNumber: null },
  ]);
});
