import { expect, test } from "vitest";
import { problemWith, type ServerFacts } from "./connect.ts";

const GOOD: ServerFacts = {
  version: "16.9",
  major: 16,
  encoding: "UTF8",
  is_standby: false,
  fsync: "on",
  name: "autograph",
  schema: "public",
  may_create: true,
};

test("PostgreSQL 16 and newer will do", () => {
  expect(problemWith(GOOD)).toBeUndefined();
  expect(problemWith({ ...GOOD, version: "18.4", major: 18 })).toBeUndefined();
});

test.each([
  [{ version: "15.13", major: 15 }, "PostgreSQL 15.13 is too old: Autograph needs 16 or newer"],
  [{ is_standby: true }, "this PostgreSQL is a read-only standby: name its primary"],
  [{ encoding: "SQL_ASCII" }, "the database's encoding is SQL_ASCII: create one with encoding UTF8"],
  [{ may_create: false }, `user "autograph" may not create tables in schema "public"`],
  [{ may_create: null, schema: null }, `user "autograph" may not create tables in schema "public"`],
])("%o is refused", (facts, problem) => expect(problemWith({ ...GOOD, ...facts })).toBe(problem));
