import { readFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { startTestPostgres, type TestPostgres } from "../../../test/postgres.ts";
import { createFailedSignIns } from "../auth/sign-in/failed-sign-ins.ts";
import { encodeId, newId, type OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { createLog } from "../lib/log/log.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import { migrate } from "../storage/migrate.ts";
import { createVerifier, lineOf } from "./chain.ts";
import { SYSTEM, type What, type Who } from "./event.ts";
import { exportAuditEvents, listAuditEvents } from "./read-events.ts";
import { record } from "./record.ts";

const log = createLog("silent");
const stack = new AsyncDisposableStack();
let postgres: TestPostgres;
/** For two processes on one database. */
let one: Database;
let two: Database;

const asOwner = async (url: string, ...statements: string[]): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
};

beforeAll(async () => {
  postgres = stack.use(await startTestPostgres());
  // As an operator makes it: the role owns the database, and is no superuser.
  const url = await postgres.createDatabase();
  const name = new URL(url).pathname.slice(1);
  await asOwner(url, "create role autograph login password 'word'", `alter database ${name} owner to autograph`);
  const own = new URL(url);
  own.username = "autograph";
  own.password = "word";
  const open = (): Database =>
    stack.use(openDatabase({ connection: { connectionString: own.href }, isEmbedded: false, log }));
  [one, two] = [open(), open()];
  await migrate(one);
  recipe = () => asOwner(url, sqlOf("docs/operations.md"));
});
afterAll(() => stack.disposeAsync());

let recipe: () => Promise<void>;

/** The statements that the page tells a superuser to run. */
function sqlOf(page: string): string {
  const text = readFileSync(path.join(import.meta.dirname, "../../..", page), "utf8");
  return /```sql\n(create role autograph_audit[^`]+)```/.exec(text)![1]!;
}

const AT = Date.parse("2026-11-22T10:00:00.123Z");
const byKey = (organizationId: OrganizationId): Who => ({
  organizationId,
  actor: { kind: "key", id: newId<"apiKey">() },
  from: { address: "203.0.113.7", userAgent: "test/1" },
});
const write = (database: Database, who: Who, what: What, at = AT): Promise<void> =>
  database.transaction((query) => record(query, who, at, what));

async function linesOf(
  organizationId: OrganizationId,
  range: { createdFrom?: Date; createdBefore?: Date } = {},
): Promise<string[]> {
  const lines = [];
  for await (const event of exportAuditEvents(one, organizationId, range)) lines.push(lineOf(event));
  return lines;
}

function faultsOf(lines: readonly string[]): (string | undefined)[] {
  const verifier = createVerifier();
  return lines.map((line) => verifier.take(line)).filter((problem) => problem !== undefined);
}

test("an event is chained by the database as the verifier computes it, whatever its texts are", async () => {
  const who = byKey(newId());
  const names = [
    'quote " and \\ ',
    "ünï 😂 \u007f\u0000\u2028",
    "turned \u202eround\u2066",
    "half \ud800",
    "${1} $$ \\u0041",
  ];
  for (const name of names) {
    const subject = { kind: "project", id: newId<"project">(), name } as const;
    await write(one, who, { action: "project_created", subject, detail: { z: name.toWellFormed(), a: [1.5, null] } });
  }
  const lines = await linesOf(who.organizationId);
  expect(faultsOf(lines)).toEqual([]);
  const events = lines.map((line) => JSON.parse(line) as { event: Record<string, any>; number: number });
  expect(events.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
  expect(events[0]!.event).toMatchObject({
    id: expect.stringMatching(/^audit_\w{26}$/),
    organizationId: encodeId("organization", who.organizationId),
    at: "2026-11-22T10:00:00.123Z",
    actor: { kind: "key", id: expect.stringMatching(/^key_/) },
    address: "203.0.113.7",
    userAgent: "test/1",
    detail: { a: [1.5, null], z: names[0] },
  });
  // A reader at a terminal sees no control characters.
  expect(events.map(({ event }) => event["subject"].name)).toEqual([
    names[0],
    "ünï 😂 ???",
    "turned ?round?",
    "half �",
    names[4],
  ]);
});

test("what looks like a credential is cut out of what a client calls itself, and the rest cut off", async () => {
  const who = byKey(newId());
  for (const userAgent of [
    `curl ag_live_${"k".repeat(40)}`,
    `rt_${"r".repeat(91)} eyJhbGciOi.J9.x`,
    "x".repeat(256),
    `${"x".repeat(256)}y`,
  ])
    await write(one, { ...who, from: { address: null, userAgent } }, { action: "signed_in" });
  const { items } = await listAuditEvents(one, who.organizationId, {}, { first: 10 });
  const longest = "x".repeat(LIMITS.userAgentCharacters);
  expect(items.map(({ event }) => event.userAgent)).toEqual([longest, longest, "… …", "curl …"]);
});

test("an address with a zone of any length is cut off: the event is kept", async () => {
  const who = byKey(newId());
  const address = `fe80::1%${"a".repeat(20_000)}`;
  await write(one, { ...who, from: { address, userAgent: "test/1" } }, { action: "signed_in" });
  const { items } = await listAuditEvents(one, who.organizationId, {}, { first: 10 });
  expect(items.map(({ event }) => event.address)).toEqual([address.slice(0, LIMITS.addressCharacters)]);
});

test("many at once from two processes get numbers without gaps; what is rolled back gets none", async () => {
  const who = byKey(newId());
  const work = Array.from({ length: 60 }, (_, index) => {
    const database = index % 2 === 0 ? one : two;
    if (index % 3 > 0) return write(database, who, { action: "secret_set", detail: { index } });
    return database.transaction(async (query) => {
      await record(query, who, AT, { action: "secret_deleted" });
      throw new Error("changed its mind");
    });
  });
  await Promise.allSettled(work);
  const lines = await linesOf(who.organizationId);
  expect(lines).toHaveLength(40);
  expect(faultsOf(lines)).toEqual([]);
  expect(lines.join("")).not.toContain("secret_deleted");
});

test("an event that can't be written takes its change with it", async () => {
  const who = byKey(newId());
  const change = (id: string, characters: number): Promise<void> =>
    one.transaction(async (query) => {
      await query("insert into organizations (id, name, plan, created_at) values ($1, 'x', 'free', $2)", [
        id,
        new Date(AT),
      ]);
      await record(query, who, AT, { action: "organization_created", detail: { text: "x".repeat(characters) } });
    });
  const ids = [newId<"organization">(), newId<"organization">()];
  await change(ids[0]!, 0);
  const [{ bytes }] = (await one.query(
    "select octet_length(event::text) as bytes from audit_events where organization_id = $1",
    [who.organizationId],
  )) as [{ bytes: number }];
  const most = LIMITS.auditEventBytes - bytes;
  await expect(change(ids[1]!, most + 1)).rejects.toThrow(/audit_events_event_check/);
  expect(await one.query("select from organizations where id = $1", [ids[1]])).toEqual([]);
  await change(ids[1]!, most);
  expect(await linesOf(who.organizationId)).toHaveLength(2);
});

test("pages, filters and parts by time", async () => {
  const who = byKey(newId());
  const other = byKey(who.organizationId);
  const ACTIONS = ["signed_in", "secret_set", "signed_out"] as const;
  for (let index = 0; index < 9; index++)
    await write(one, index < 6 ? who : other, { action: ACTIONS[index % 3]! }, AT + index * 1_000);
  const numbers = async (filter: object, request = { first: 100 }): Promise<number[]> =>
    (await listAuditEvents(one, who.organizationId, filter, request)).items.map(({ number }) => number);
  expect(await numbers({})).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  const page = await listAuditEvents(one, who.organizationId, {}, { first: 3, after: "8" });
  expect([page.items.map(({ number }) => number), page.hasNextPage]).toEqual([[7, 6, 5], true]);
  expect(await numbers({ action: ["signed_in", "signed_out"] })).toEqual([9, 7, 6, 4, 3, 1]);
  expect(await numbers({ action: [] })).toEqual([]);
  expect(await numbers({ actorId: [other.actor.id] })).toEqual([9, 8, 7]);
  expect(await numbers({ createdFrom: new Date(AT + 2_000), createdBefore: new Date(AT + 5_000) })).toEqual([5, 4, 3]);
  expect(await numbers({ actorId: [who.actor.id], action: ["secret_set"], createdFrom: new Date(AT + 2_000) })).toEqual(
    [5],
  );
  const part = await linesOf(who.organizationId, {
    createdFrom: new Date(AT + 3_000),
    createdBefore: new Date(AT + 6_000),
  });
  expect(part.map((line) => (JSON.parse(line) as { number: number }).number)).toEqual([4, 5, 6]);
  expect(faultsOf(part)).toEqual([]);
  expect(await linesOf(who.organizationId, { createdFrom: new Date(AT + 60_000) })).toEqual([]);
  expect(await linesOf(newId())).toEqual([]);
});

test("more events than a page of the export are in it once, in order", async () => {
  const who = byKey(newId());
  await one.transaction(async (query) => {
    for (let index = 0; index < 1_001; index++) await record(query, who, AT, { action: "signed_in" });
  });
  const lines = await linesOf(who.organizationId);
  expect(lines).toHaveLength(1_001);
  expect(faultsOf(lines)).toEqual([]);
});

test("of failed sign-ins so many an hour are kept, and the last one says so", async () => {
  const organizationId = newId<"organization">();
  const clock = testClock();
  const at = { userId: newId<"user">(), organizationId };
  const actions = async (): Promise<unknown[]> =>
    (await linesOf(organizationId)).map((line) => (JSON.parse(line) as { event: { detail: unknown } }).event.detail);
  const failures = async (count: number): Promise<void> => {
    await using signIns = createFailedSignIns(one, clock, log);
    for (let index = 0; index < count; index++) signIns.note(at, { address: "203.0.113.7" });
  };
  // One after the other: those that are written at once may exceed it by a few.
  const most = LIMITS.auditFailedSignInsPerHour;
  for (let index = 0; index < most + 5; index++) await failures(1);
  const limit = "further ones of this hour are not recorded";
  expect(await actions()).toEqual([...Array.from({ length: most - 1 }, () => ({})), { limit }]);
  clock.pass(3_600_001);
  await failures(1);
  expect(await actions()).toHaveLength(most + 1);
});

describe("append-only, as the server's role", () => {
  const CHANGES = [
    "update audit_events set action = 'signed_out'",
    "update audit_events set action = 'signed_out' where false",
    "delete from audit_events",
    "truncate audit_events",
  ];
  const REFUSED = /permission denied for table audit_events|audit_events is append-only/;

  test("rows can't be updated, deleted or truncated", async () => {
    await write(one, byKey(newId()), { action: "signed_in" });
    for (const change of CHANGES) await expect(one.query(change), change).rejects.toThrow(REFUSED);
  });

  test("a superuser's slip is refused as well", async () => {
    const client = new pg.Client({ connectionString: urlOfSuperuser() });
    await client.connect();
    try {
      for (const change of CHANGES)
        await expect(client.query(change), change).rejects.toThrow("audit_events is append-only");
    } finally {
      await client.end();
    }
  });

  test("with an owner of its own, as docs/operations.md says, the role can't even make itself able to", async () => {
    await recipe();
    const who = byKey(newId());
    await write(one, who, { action: "signed_in" });
    // Only a warning, as it has one of the rights; nothing is granted.
    await one.query("grant all on audit_events to autograph");
    for (const change of [
      ...CHANGES,
      `insert into audit_events select organization_id, 99, id, at, action, actor_id, event, previous, hash from audit_events limit 1`,
      "alter table audit_events disable trigger all",
      "drop table audit_events",
      "alter table audit_events owner to autograph",
      "set role autograph_audit",
      "create or replace function refuse_audit_change() returns trigger language plpgsql as $$ begin return new; end $$",
    ])
      await expect(one.query(change), change).rejects.toThrow(/permission denied|must be (able|owner)|append-only/);
    expect(faultsOf(await linesOf(who.organizationId))).toEqual([]);
    expect(await linesOf(who.organizationId)).toHaveLength(1);
  });

  const urlOfSuperuser = (): string => {
    const url = new URL(postgres.url);
    url.pathname = new URL(one.connection.connectionString!).pathname;
    return url.href;
  };
});

test("no event is for the operator alone: each has its organization, and the system as who did it", async () => {
  const organizationId = newId<"organization">();
  await write(
    one,
    { organizationId, actor: SYSTEM, from: { address: null, note: "command line" } },
    { action: "plan_set" },
  );
  const { items } = await listAuditEvents(one, organizationId, {}, { first: 1 });
  expect(items[0]).toMatchObject({
    actor: { kind: "system", id: null },
    event: { actor: { kind: "system", id: null }, address: null, userAgent: null, detail: { note: "command line" } },
  });
});
