import { expect, test } from "vitest";
import { sharedPostgres } from "../../../test/postgres.ts";
import { createLog } from "../lib/log/log.ts";
import { openDatabase, type Database } from "./database.ts";
import { bool, hex, int4, json, ms, nullable, RowSet, text, uuid } from "./unnest.ts";

type Sample = {
  a: string | null;
  b: string | null;
  c: number | null;
  d: boolean | null;
  e: string | null;
  f: number | null;
  g: string | null;
  h: string | null;
};
const ROWS = new RowSet<Sample>("r", "sample_row", {
  a: nullable(uuid()),
  b: nullable(text()),
  c: nullable(int4()),
  d: nullable(bool()),
  e: nullable(json()),
  f: nullable(ms()),
  g: nullable(hex()),
  h: nullable(text()),
});
const TYPES = `
  create domain kind as text check (value in ('one', 'two'));
  create type sample_row as (a uuid, b text, c int, d bool, e json, f timestamptz, g bytea, h kind)`;

const NOTHING: Sample = { a: null, b: null, c: null, d: null, e: null, f: null, g: null, h: null };

async function openSamples(connectionString: string): Promise<Database> {
  const database = openDatabase({ connection: { connectionString }, isEmbedded: false, log: createLog("silent") });
  await database.query(TYPES);
  return database;
}

test("rows come back from PostgreSQL as they were", async () => {
  await using postgres = await sharedPostgres();
  await using database = await openSamples(await postgres.createDatabase());
  const long = "ä€😀x".repeat(40_000);
  const rows: Sample[] = [
    {
      a: "0190f0a1-5b7c-7def-8123-456789abcdef",
      b: "plain",
      c: -2_147_483_648,
      d: true,
      e: '{"n":"\\u0000"}',
      f: 1_763_740_000_123,
      g: "00ff7f80".repeat(8),
      h: "one",
    },
    // Short ones go another way than long ones.
    { ...NOTHING, b: "é", e: '"ä€😀"' },
    NOTHING,
    {
      a: "ffffffff-ffff-ffff-ffff-ffffffffffff",
      b: 'quote " \\ {,} NULL',
      c: 0,
      d: false,
      e: "[1]",
      f: 0,
      g: "",
      h: "two",
    },
    { ...NOTHING, a: "00000000-0000-0000-0000-000000000000", b: long, c: 7, e: JSON.stringify(long), f: -1 },
    // Beyond what the buffer has left after its last growth.
    ...Array.from({ length: 3_000 }, (_, c) => ({ ...NOTHING, c })),
    { ...NOTHING, b: "", c: 1, d: false, e: "null", f: 253_402_300_799_999, g: "ab".repeat(70_000) },
  ];
  const select = `select ${ROWS.selected}, e::text as text, encode(g, 'hex') as hex from ${ROWS.from(1)}`;
  const found = await database.hot("samples", select, [ROWS.value(rows)]);
  const read = found.map(({ a, b, c, d, text, f, hex, h }) => ({
    a,
    b,
    c,
    d,
    e: text,
    f: f && f.getTime(),
    g: hex,
    h,
  }));
  expect(read).toEqual(rows);
});

test("a time is kept to the microsecond", async () => {
  await using postgres = await sharedPostgres();
  await using database = await openSamples(await postgres.createDatabase());
  const rows = [-1, 0, 946_684_799_999.999, 946_684_800_000.001, 1_763_740_000_123.456].map((f) => ({ ...NOTHING, f }));
  const found = await database.hot("times", `select extract(epoch from r.f)::text as seconds from ${ROWS.from(1)}`, [
    ROWS.value(rows),
  ]);
  expect(found.map(({ seconds }) => seconds)).toEqual([
    "-0.001000",
    "0.000000",
    "946684799.999999",
    "946684800.000001",
    "1763740000.123456",
  ]);
});

test("what a domain does not allow is refused, and text that is no JSON too", async () => {
  await using postgres = await sharedPostgres();
  await using database = await openSamples(await postgres.createDatabase());
  const write = (row: Partial<Sample>): Promise<unknown> =>
    database.hot("refused", `select ${ROWS.selected} from ${ROWS.from(1)}`, [ROWS.value([{ ...NOTHING, ...row }])]);
  await expect(write({ h: "three" })).rejects.toMatchObject({ code: "23514" });
  await expect(write({ e: "{" })).rejects.toMatchObject({ code: "22P02" });
});
