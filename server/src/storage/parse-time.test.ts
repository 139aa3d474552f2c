import pg from "pg";
import { expect, test } from "vitest";
import { parseTime, TIMESTAMPTZ_OID } from "./parse-time.ts";

const parse = pg.types.getTypeParser(TIMESTAMPTZ_OID, "text") as (text: string) => Date | number;

test.each([
  "2026-11-22 21:55:59.123456+00",
  "2026-11-22 21:55:59.123+00",
  "2026-11-22 21:55:59.1+00",
  "2026-11-22 21:55:59.05+00",
  "2026-11-22 21:55:59.000999+00",
  "2026-11-22 21:55:59+00",
  "1970-01-01 00:00:00+00",
  "2024-02-29 23:59:59.999999+00",
  "0999-12-31 23:59:59+00",
  "12026-01-01 00:00:00+00",
  "0044-03-15 12:00:00+00 BC",
  "2026-11-22 21:55:59.5+05:30",
  "2026-11-22 21:55:59+02",
  "infinity",
  "-infinity",
])("%s is read as node-postgres does", (text) => {
  expect(parseTime(text)).toEqual(parse(text));
});
