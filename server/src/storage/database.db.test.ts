import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startProxy } from "../../../test/faults/proxy.ts";
import { startTestPostgres, type TestPostgres } from "../../../test/postgres.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { createLog } from "../lib/log/log.ts";
import { openDatabase, type Database } from "./database.ts";
import { MeasuredPool } from "./measured-pool.ts";
import { isUnavailable } from "./pg-errors.ts";

let server: TestPostgres;
let database: Database;

beforeAll(async () => {
  server = await startTestPostgres({ synchronous_commit: "off", timezone: "Asia/Tokyo", datestyle: "German" });
  database = openDatabase({
    connection: { connectionString: server.url },
    isEmbedded: false,
    log: createLog("silent"),
  });
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await server.stop();
});

const OTHERS = "from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'";
/** Ends every session except the caller's, and returns when they are gone and the pools know it. */
async function endSessions(): Promise<void> {
  await database.query(`select pg_terminate_backend(pid) ${OTHERS}`);
  await expect.poll(() => database.query(`select pid ${OTHERS}`)).toEqual([]);
  // The server's last word has come before that answer: it is read in this turn of the event loop or in the next one.
  await sleep(50);
}
/** Until a long statement is under way. */
async function isAsleep(): Promise<void> {
  const text = `select pid ${OTHERS} and state = 'active' and query like 'select pg_sleep(30)%'`;
  await expect.poll(() => database.query(text)).toHaveLength(1);
}

test("json is parsed as it is, timestamptz is a Date, int8 a number, bytea a Buffer", async () => {
  const [row] = await database.query(
    `select $1::json as value, timestamptz '2026-11-21 12:00:00.123Z' as at, count(*) as count, '\\x00ff'::bytea as bytes from pg_class where false`,
    [`{"b": 1, "a": "\\u0000 \\ud800", "c": [1.5, null]}`],
  );
  expect(row).toEqual({
    value: { b: 1, a: "\u0000 \ud800", c: [1.5, null] },
    at: new Date("2026-11-21T12:00:00.123Z"),
    count: 0,
    bytes: Buffer.from([0, 255]),
  });
  expect(Object.keys(row!.value as object)).toEqual(["b", "a", "c"]);
});

test("a Date goes in and comes out as the same instant, whatever the server's time zone", async () => {
  const at = new Date("2026-03-29T01:30:00.999Z");
  expect(await database.query("select $1::timestamptz as at", [at])).toEqual([{ at }]);
});

test("commits are durable on every connection although the server's own setting says otherwise", async () => {
  const text = "select current_setting('synchronous_commit') as value";
  expect(await database.query(text)).toEqual([{ value: "on" }]);
  expect(await database.hot("durable", text, [])).toEqual([{ value: "on" }]);
  const client = await database.dedicated();
  expect((await client.query(text)).rows).toEqual([{ value: "on" }]);
  await client.end();
});

test("the hot pool prepares a named statement and keeps its generic plan; the list pool plans with the values", async () => {
  await database.hot("sum", "select $1::int + $2::int as sum", [1, 2]);
  expect(await database.hot("sum", "select $1::int + $2::int as sum", [3, 4])).toEqual([{ sum: 7 }]);
  const plans = `select name, generic_plans::int as generic, custom_plans::int as custom from pg_prepared_statements where name = 'sum'`;
  expect(await database.hot("plans", plans, [])).toEqual([{ name: "sum", generic: 2, custom: 0 }]);
  expect(await database.query("select count(*) as count from pg_prepared_statements")).toEqual([{ count: 0 }]);
});

test("a statement whose table changed under it is prepared again", async () => {
  await database.query("create table changing as select 1 as a");
  expect(await database.hot("changing", "select * from changing", [])).toEqual([{ a: 1 }]);
  await database.query("alter table changing add column b int");
  expect(await database.hot("changing", "select * from changing", [])).toEqual([{ a: 1, b: null }]);
});

test("a large write whose table changed under it is rolled back and made again", async () => {
  await database.query("create table widening as select 1 as a");
  await database.query("create table written (value int)");
  let times = 0;
  const write = (): Promise<unknown> =>
    database.large(async (hot) => {
      times++;
      await hot("written", "insert into written values (1)", []);
      return hot("widening", "select * from widening", []);
    });
  expect(await write()).toEqual([{ a: 1 }]);
  await database.query("alter table widening add column b int");
  expect(await write()).toEqual([{ a: 1, b: null }]);
  expect(times).toBe(3);
  expect(await database.query("select count(*) as count from written")).toEqual([{ count: 2 }]);
});

test("a transaction is committed whole, or not at all when its work throws", async () => {
  await database.query("create table counted (value int)");
  expect(await database.transaction(async (query) => query("insert into counted values (1) returning value"))).toEqual([
    { value: 1 },
  ]);
  const failing = database.transaction(async (query) => {
    await query("insert into counted values (2)");
    throw new Error("on second thought");
  });
  await expect(failing).rejects.toThrow("on second thought");
  expect(await database.query("select value from counted")).toEqual([{ value: 1 }]);
});

test("connections that die while idle are replaced, and nothing crashes", async () => {
  await Promise.all(Array.from({ length: 4 }, () => database.hot("nap", "select pg_sleep(0.05)", [])));
  await endSessions();
  const results = await Promise.all(Array.from({ length: 8 }, () => database.hot("one", "select 1 as one", [])));
  expect(results.flat()).toEqual(Array.from({ length: 8 }, () => ({ one: 1 })));
});

test("a connection that dies under a statement is unavailable to its caller alone", async () => {
  const cut = database.hot("long", "select pg_sleep(30)", []).catch((error: unknown) => error);
  await isAsleep();
  await endSessions();
  expect(isUnavailable(await cut)).toBe(true);
  expect(await database.hot("one", "select 1 as one", [])).toEqual([{ one: 1 }]);
});

test("nor does one that dies within a transaction", async () => {
  const cut = database.transaction(async (query) => {
    await query("select 1");
    await query("select pg_sleep(30)");
  });
  const settled = Promise.allSettled([cut]);
  await isAsleep();
  await endSessions();
  for (const result of await settled) {
    expect(result.status === "rejected" && isUnavailable(result.reason)).toBe(true);
  }
  expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
});

test("a dedicated connection that dies says so by its events and does not crash", async () => {
  const client = await database.dedicated();
  const ended = new Promise((resolve) => client.once("end", resolve));
  await endSessions();
  await ended;
});

test("a wire that is cut without a word ends its connection under a statement, however long it was idle, and only then", async () => {
  await using proxy = await startProxy(server.url);
  await using behind = openDatabase({
    connection: { connectionString: proxy.url },
    isEmbedded: false,
    log: createLog("silent"),
  });
  const patient = await behind.dedicated();
  // More than a busy machine takes for an answer.
  const client = await behind.dedicated(1_500);
  const ended = new Promise((resolve) => client.once("end", resolve));
  // Twice the allowed silence: during a statement on one connection, idle on the other.
  await patient.query("select pg_sleep(3)");
  expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  expect(proxy.freeze()).toBe(2);
  const unanswered = await client.query("select 1").catch((error: unknown) => error);
  expect(isUnavailable(unanswered)).toBe(true);
  await ended;
});

test("closing waits for all that was asked before, also for a turn, and refuses what comes then", async () => {
  const own = openDatabase({
    connection: { connectionString: server.url },
    isEmbedded: false,
    log: createLog("silent"),
  });
  const organizationId = newId<"organization">();
  const asked = Array.from({ length: 20 }, () => [
    own.query("select pg_sleep(0.02)", [], organizationId),
    own.hot("sleep", "select pg_sleep(0.02)", [], organizationId),
    own.transaction(async (query) => [...(await query("select pg_sleep(0.02)")), ...(await query("select 1"))]),
  ]).flat();
  const closed = own[Symbol.asyncDispose]();
  const late = [own.query("select 1"), own.hot("one", "select 1", []), own.transaction((query) => query("select 1"))];
  for (const one of [...late, own.dedicated()])
    await expect(one).rejects.toMatchObject({ code: "UNAVAILABLE", message: "the server is stopping" });
  await closed;
  const ended = await Promise.allSettled(asked);
  expect(ended.filter(({ status }) => status === "rejected")).toEqual([]);
});

test("closing ends dedicated clients, also one that is still connecting, whose caller is told", async () => {
  const application_name = "dedicated";
  const own = openDatabase({
    connection: { connectionString: server.url, application_name },
    isEmbedded: false,
    log: createLog("silent"),
  });
  const open = (): Promise<unknown> =>
    database.query("select pid from pg_stat_activity where application_name = $1", [application_name]);
  const client = await own.dedicated();
  const ended = once(client, "end");
  const connecting = own.dedicated().catch((error: unknown) => error);
  await own[Symbol.asyncDispose]();
  expect(isUnavailable(await connecting)).toBe(true);
  await ended;
  await expect.poll(open).toEqual([]);
});

test("a dedicated client that cannot be prepared is not left open", async () => {
  await database.query("create role unable login password 'unable'");
  await database.query("revoke execute on function set_config(text, text, boolean) from public");
  const url = new URL(server.url);
  url.username = url.password = "unable";
  await using own = openDatabase({
    connection: { connectionString: url.href },
    isEmbedded: false,
    log: createLog("silent"),
  });
  await expect(own.dedicated()).rejects.toThrow("permission denied for function set_config");
  await expect.poll(() => database.query("select from pg_stat_activity where usename = 'unable'")).toEqual([]);
});

test("a connection that is replaced for its age ends nothing that is under way", async () => {
  const pool = new MeasuredPool(new pg.Pool({ connectionString: server.url, maxLifetimeSeconds: 0.2 }));
  const replaced = once(pool.pool, "remove");
  (await pool.connect(pool.ask())).release();
  await replaced;
  const client = await pool.connect(pool.ask());
  const closed = pool.close();
  expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  expect(pool.pool.ending).toBe(false);
  client.release();
  expect(() => client.release()).toThrow("already been released");
  await closed;
  expect(pool.pool.ended).toBe(true);
});

test("a server that is not there is unavailable", async () => {
  const absent = openDatabase({
    connection: { host: "/nonexistent", port: 1 },
    isEmbedded: true,
    log: createLog("silent"),
  });
  expect(isUnavailable(await absent.query("select 1").catch((error: unknown) => error))).toBe(true);
  await absent[Symbol.asyncDispose]();
});

test.each(["hot", "query", "transaction"] as const)(
  "%s: behind 300 statements of one organization another's comes next, and the product's own waits for none of them",
  async (kind) => {
    const text = "select pg_sleep(0.005)";
    const ask = (whose?: OrganizationId): Promise<unknown> =>
      kind === "hot"
        ? database.hot("sleep", text, [], whose)
        : kind === "query"
          ? database.query(text, [], whose)
          : database.transaction((query) => query(text), whose);
    const [one, another] = [newId<"organization">(), newId<"organization">()];
    // All connections of the pool are there: to open one may take longer than many statements.
    await Promise.all(Array.from({ length: 4 }, () => ask()));
    let done = 0;
    const all = Array.from({ length: 300 }, () => ask(one).then(() => done++));
    await Promise.all([ask(another), ask()]);
    expect(done).toBeLessThan(30);
    await Promise.all(all);
    expect(done).toBe(300);
  },
);
