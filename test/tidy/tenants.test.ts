import { expect, test } from "vitest";
import { filesBelow, parse, serverSources, textOf } from "./source.ts";
import { tenantTables, withoutTenant } from "./tenants.ts";

const migrations = filesBelow("server/src/storage/migrations").map(textOf).join("\n");
const tables = tenantTables(migrations);

const EXECUTOR = "one executor advances the runs of all organizations; nothing of it is answered to a caller";
const JOURNAL = "fenced by the run's epoch, which only its executor has; many runs' writes are one statement";

/** The engine's and the clock's statements, which serve all organizations at once: `path table` and why. */
const FOR_ALL: Record<string, string> = {
  "server/src/engine/election.ts runs": EXECUTOR,
  "server/src/engine/count-due.ts runs": "one number for the operator, of all organizations together",
  "server/src/engine/embedded.ts runs": EXECUTOR,
  "server/src/engine/claims.ts runs": EXECUTOR,
  "server/src/runs/read/count-open-approvals.ts approvals":
    "one number for the operator, of all organizations together",
  "server/src/members/invitation-store.ts invitations":
    "found by its secret's hash: a holder of the link may know no organization",
  "server/src/execution/journal/read-journal.ts steps": EXECUTOR,
  "server/src/triggers/store/firing-store.ts firings": "inserts whole rows, which have their organization",
  "server/src/execution/journal/parts.ts runs": JOURNAL,
  "server/src/execution/journal/parts.ts steps": JOURNAL,
  "server/src/execution/journal/parts.ts attempts": JOURNAL,
  "server/src/execution/journal/parts.ts approvals": JOURNAL,
  "server/src/execution/journal/parts.ts model_calls": JOURNAL,
  "server/src/execution/journal/parts.ts listeners": JOURNAL,
  "server/src/runs/run-draft-texts.ts draft_texts":
    "written with the run that starts, and names its organization as it does",
  "server/src/events/outbox.ts untold_events": JOURNAL,
};

const found = serverSources()
  .filter(({ path }) => !path.startsWith("server/src/storage/migrations/"))
  .flatMap((source) => withoutTenant(source, tables))
  .map((place) => place.replace(/:\d+ /, " "));

test("the tables of tenants are read from the migrations, those that are not logged too, and none is missed", () => {
  expect(tables).toEqual(expect.arrayContaining(["agents", "runs", "steps", "approvals", "rate_windows", "events"]));
  expect(tables).not.toContain("users");
  expect(() => tenantTables("create table if not exists kept (\n  organization_id uuid\n);")).toThrow(
    "if not exists kept",
  );
});

test.each([
  ["await db.query(`select id from runs where id = $1`, [id])", 1],
  ["await db.query(`select id from runs where organization_id = $1 and id = $2`, [organization, id])", 0],
  ["await db.hot(`run_${month}`, `select id from runs_${month} where id = $1`, [id])", 1],
  [
    "const read = (db) => { const all = ['organization_id = $1']; return db.query(`select * from runs where ${all}`); };",
    0,
  ],
  ["const read = (db) => { const all = ['id = $1']; return db.query(`select * from runs where ${all}`); };", 1],
])("%s", (code, count) => {
  expect(withoutTenant(parse("sample.ts", code), tables)).toHaveLength(count);
});

test("SQL that touches a tenant's rows names organization_id, or is listed here with its reason", () => {
  expect(found.filter((place) => !(place in FOR_ALL))).toEqual([]);
});

test("the list of exceptions holds nothing that is gone", () => {
  expect(Object.keys(FOR_ALL).filter((place) => !found.includes(place))).toEqual([]);
});
