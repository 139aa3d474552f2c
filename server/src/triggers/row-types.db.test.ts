/** PostgreSQL reads a row by the order of its columns alone, so two of one type could change places unnoticed. */
import { expect, test } from "vitest";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { JOURNAL_PARTS } from "../execution/journal/parts.ts";
import { KEYS as IDEMPOTENCY_KEYS } from "../runs/idempotency-key.ts";
import { DRAFT_TEXTS } from "../runs/run-draft-texts.ts";
import type { ColumnType } from "../storage/binary-rows.ts";
import { NEXT } from "./schedule/due-store.ts";
import { GIVENS } from "../events/event-store.ts";
import { KEYS } from "../events/outbox-store.ts";
import { outboxPart } from "../events/outbox.ts";
import { failedRunPart } from "./failures/failed-run-part.ts";
import { FIRING_PARTS } from "./store/firing-parts.ts";

const SQL_TYPE: Record<ColumnType, string> = {
  uuid: "uuid",
  text: "text",
  int4: "int4",
  bool: "bool",
  json: "json",
  ms: "timestamptz",
  hex: "bytea",
};

/** Types that only a process of the version before writes, while it still runs. */
const FORMER = ["approval_row", "assigned_approval_row", "reassigned_approval_row", "event_row"];

test("each row type has the columns that are written to it, in their order, and no other is there", async () => {
  await using databases = await startDatabases();
  await using database = await databases.open();
  const rows = await database.query(
    `select t.typname as type, array_agg(a.attname || ' ' || coalesce(b.typname, c.typname) order by a.attnum)::text[] as columns
       from pg_type t join pg_class r on r.oid = t.typrelid and r.relkind = 'c' and r.relnamespace = 'public'::regnamespace
       join pg_attribute a on a.attrelid = t.typrelid
       join pg_type c on c.oid = a.atttypid left join pg_type b on b.oid = c.typbasetype
      group by t.typname`,
  );
  const there = Object.fromEntries(
    rows.filter(({ type }) => !FORMER.includes(type)).map(({ type, columns }) => [type, columns]),
  );
  expect(rows.map(({ type }) => type)).toEqual(expect.arrayContaining(FORMER));
  const outbox = outboxPart({ isHeard: () => true, look: () => {} }, true);
  const failures = failedRunPart({ isOn: true, look: () => {} });
  const parts = [...JOURNAL_PARTS, IDEMPOTENCY_KEYS, DRAFT_TEXTS, ...FIRING_PARTS, outbox, failures];
  const written = [...parts.map(({ rows }) => rows), NEXT, GIVENS, KEYS].map(
    ({ type, columns }): [string, string[]] => [type, columns.map(([name, of]) => `${name} ${SQL_TYPE[of]}`)],
  );
  expect(there).toEqual(Object.fromEntries(written));
});
