import fs from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../lib/log/log.ts";
import { openDatabase } from "../storage/database.ts";
import { socketConnection } from "./embedded.ts";
import type { Ready } from "./embedded.testsuite.ts";
import { Launcher, query, readyOf, stop } from "./launcher.testsuite.ts";
import { migrate } from "../storage/migrate.ts";
import { readPassword } from "./postgres-password.ts";

let launcher: Launcher;
beforeEach(async () => {
  launcher = new Launcher();
  await launcher.fill();
});
afterEach(() => launcher.cleanUp());

async function migrated(ready: Ready): Promise<void> {
  const connection = socketConnection(ready.socketFolder, readPassword(ready.dataFolder)!);
  await using database = openDatabase({ connection, isEmbedded: true, log: createLog("silent") });
  await migrate(database);
}

const append = (ready: Ready): Promise<unknown> =>
  query(
    ready,
    `select append_audit_event('00000000-0000-7000-8000-000000000001', gen_random_uuid(), '2026-11-22', 'signed_in', null, '{"a":1}')`,
  );

const FORBIDDEN = [
  "update audit_events set action = 'x'",
  "delete from audit_events",
  "truncate audit_events",
  "insert into audit_events select * from audit_events",
  "drop table audit_events",
  "drop schema public cascade",
  "alter table audit_events disable trigger all",
  "alter table audit_events owner to autograph",
  "alter function append_audit_event owner to autograph",
  "drop function append_audit_event",
  "drop function own_audit",
  "create or replace function own_audit() returns void language sql as $$ $$",
  "create or replace function refuse_audit_change() returns trigger language plpgsql as $$ begin return new; end $$",
  "set role autograph_audit",
  "set role postgres",
  "set session_replication_role = replica",
];

async function expectOwned(ready: Ready, events: number): Promise<void> {
  // Only a warning, as it has one of the rights; nothing is granted.
  await query(ready, "grant all on audit_events to autograph");
  for (const statement of FORBIDDEN)
    await expect(query(ready, statement), statement).rejects.toThrow(/permission denied|must be (able|owner)/);
  const rows = await query(ready, "select number, organization_id from audit_events order by number");
  expect(rows.map((row) => Number(row["number"]))).toEqual(Array.from({ length: events }, (_, index) => index + 1));
}

test("the server's own role adds to the audit and reads it, and can do nothing else to it", async () => {
  const one = launcher.start();
  const ready = await readyOf(one);
  await migrated(ready);
  await append(ready);
  await append(ready);
  await expectOwned(ready, 2);
  await stop(one, "SIGKILL");
  const again = await readyOf(launcher.start());
  // Adopted: nothing was stopped for what the cluster has already.
  expect(again.postgres).toBe(ready.postgres);
  await append(again);
  await expectOwned(again, 3);
});

test.each(["SIGTERM", "SIGKILL"] as const)(
  "a cluster that is not marked to have the audit's owner gets it at the next start (the last one ended by %s)",
  async (signal) => {
    const one = launcher.start();
    const before = await readyOf(one);
    await query(before, "create table kept as select 1 as value");
    await stop(one, signal);
    fs.rmSync(path.join(before.dataFolder, "postgres", "autograph.owners"));
    const ready = await readyOf(launcher.start());
    await migrated(ready);
    await append(ready);
    await expectOwned(ready, 1);
    expect(await query(ready, "select value from kept")).toEqual([{ value: 1 }]);
  },
);
