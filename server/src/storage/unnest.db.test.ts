import { expect, test } from "vitest";
import { sharedPostgres } from "../../../test/postgres.ts";
import { createLog } from "../lib/log/log.ts";
import { openDatabase } from "./database.ts";
import { bool, int4, json, ms, nullable, rare, RowSet, text, uuid } from "./unnest.ts";

type Sample = {
  a: string | null;
  b: string | null;
  c: number | null;
  d: boolean | null;
  e: string | null;
  f: number | null;
};
const ROWS = new RowSet<Sample>("r", {
  a: nullable(uuid()),
  b: nullable(text()),
  c: nullable(int4()),
  d: nullable(bool()),
  e: nullable(json()),
  f: nullable(ms()),
});

test("rows come back from PostgreSQL as they were", async () => {
  await using postgres = await sharedPostgres();
  await using database = openDatabase({
    connection: { connectionString: await postgres.createDatabase() },
    isEmbedded: false,
    log: createLog("silent"),
  });
  const long = "ä€😀x".repeat(40_000);
  const rows: Sample[] = [
    {
      a: "0190f0a1-5b7c-7def-8123-456789abcdef",
      b: "plain",
      c: -2_147_483_648,
      d: true,
      e: '{"n":"\\u0000"}',
      f: 1_763_740_000_123,
    },
    { a: null, b: null, c: null, d: null, e: null, f: null },
    { a: "ffffffff-ffff-ffff-ffff-ffffffffffff", b: 'quote " \\ {,} NULL', c: 0, d: false, e: "[1]", f: 0 },
    { a: "00000000-0000-0000-0000-000000000000", b: long, c: 7, d: true, e: JSON.stringify(long), f: -1 },
    { a: null, b: "", c: 1, d: false, e: "null", f: 253_402_300_799_999 },
  ];
  const select = `select ${ROWS.selected}, e::text as text from`;
  const arrays = await database.hot("arrays", `${select} ${ROWS.from(1)}`, ROWS.values(rows));
  const listed = await database.hot("listed", `${select} ${ROWS.listed(1, rows.length)}`, ROWS.listedValues(rows));
  expect(listed).toEqual(arrays);
  expect(arrays.map(({ a, b, c, d, text, to_timestamp: f }) => ({ a, b, c, d, e: text, f: f && f.getTime() }))).toEqual(
    rows,
  );
});

test("rare columns have no parameter while they are null in every row, and come back as they were", async () => {
  await using postgres = await sharedPostgres();
  await using database = openDatabase({
    connection: { connectionString: await postgres.createDatabase() },
    isEmbedded: false,
    log: createLog("silent"),
  });
  type Rare = { a: string | null; b: number; c: string | null; d: number | null };
  const set = new RowSet<Rare>("r", { a: rare(uuid()), b: int4(), c: rare(json()), d: rare(ms()) });
  const write = async (rows: Rare[]): Promise<unknown[]> => {
    const isPlain = set.isPlain(rows);
    const values = set.values(rows, isPlain);
    expect(values).toHaveLength(set.parameters(isPlain));
    const text = `select r.a, r.b, r.c, r.d from ${set.from(1, isPlain)}`;
    return database.hot(isPlain ? "plain" : "whole", text, values);
  };
  const plain: Rare[] = [1, 2].map((b) => ({ a: null, b, c: null, d: null }));
  expect(set.isPlain(plain)).toBe(true);
  expect(await write(plain)).toEqual(plain);
  const mixed: Rare[] = [...plain, { a: null, b: 3, c: "0", d: null }, { a: null, b: 4, c: null, d: 0 }];
  expect(set.isPlain(mixed)).toBe(false);
  expect(await write(mixed)).toEqual(mixed);
});
