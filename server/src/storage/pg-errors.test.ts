import { expect, test } from "vitest";
import { isDeadlock, isDuplicate, isOtherPartition, isUnavailable } from "./pg-errors.ts";

const withCode = (code: string, more: object = {}): Error => Object.assign(new Error(code), { code, ...more });

test.each(["57P01", "57P02", "57P03", "08006", "53100", "53300", "57014", "25006", "ECONNREFUSED", "ENOENT", "EPIPE"])(
  "%s is unavailable",
  (code) => expect(isUnavailable(withCode(code))).toBe(true),
);

test.each([
  "Connection terminated unexpectedly",
  "Connection terminated due to connection timeout",
  "Client has encountered a connection error and is not queryable",
  "timeout exceeded when trying to connect",
  "Cannot use a pool after calling end on the pool",
])("%s is unavailable", (message) => expect(isUnavailable(new Error(message))).toBe(true));

test.each(["23505", "23514", "42601", "42P01", "22P02", "40P01", "ERR_INVALID_ARG_TYPE"])("%s is not", (code) =>
  expect(isUnavailable(withCode(code))).toBe(false),
);

test("what is no error of a database is not unavailable", () => {
  for (const value of [undefined, null, "57P01", new TypeError("x is not a function"), { code: 57 }]) {
    expect(isUnavailable(value)).toBe(false);
  }
});

test("deadlocks and duplicates are told apart", () => {
  expect(isDeadlock(withCode("40P01"))).toBe(true);
  expect(isDeadlock(withCode("23505"))).toBe(false);
  expect(isDuplicate(withCode("23505", { constraint: "users_email" }), "users_email")).toBe(true);
  expect(isDuplicate(withCode("23505", { constraint: "users_email" }), "runs_pkey")).toBe(false);
  expect(isDuplicate(withCode("23505"))).toBe(true);
});

test("a row that belongs to another partition is told apart from one that a CHECK refuses", () => {
  expect(isOtherPartition(withCode("23514", { table: "runs_default" }))).toBe(true);
  expect(isOtherPartition(withCode("23514", { table: "runs_default", constraint: "runs_status" }))).toBe(false);
  expect(isOtherPartition(withCode("23505"))).toBe(false);
});
