import { expect, test } from "vitest";
import type { FieldProblem } from "../../../lib/errors.ts";
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import { checkRelativeDates, RELATIVE_DATES, resolveRelativeDates } from "./relative-dates.ts";

const on = (day: string, name: string): Json | undefined =>
  resolveRelativeDates({ name }, Date.parse(`${day}T23:59:59Z`))["name"];

test.each([
  ["2026-11-23", "@yesterday", "2026-11-22"],
  ["2026-11-23", "@today", "2026-11-23"],
  ["2026-11-23", "@tomorrow", "2026-11-24"],
  ["2026-03-01", "@yesterday", "2026-02-28"],
  ["2026-12-31", "@tomorrow", "2027-01-01"],
  ["2026-11-23", "@this-week.start", "2026-11-23"],
  ["2026-11-22", "@this-week.start", "2026-11-16"],
  ["2026-11-22", "@this-week.end", "2026-11-22"],
  ["2026-01-01", "@last-week.start", "2025-12-22"],
  ["2026-01-01", "@last-week.end", "2025-12-28"],
  ["2026-11-23", "@next-week.start", "2026-11-30"],
  ["2026-11-23", "@next-week.end", "2026-12-06"],
  ["2026-03-31", "@last-month.start", "2026-02-01"],
  ["2026-03-31", "@last-month.end", "2026-02-28"],
  ["2028-03-31", "@last-month.end", "2028-02-29"],
  ["2026-01-15", "@last-month.end", "2025-12-31"],
  ["2026-12-15", "@next-month.start", "2027-01-01"],
  ["2026-12-15", "@this-month.end", "2026-12-31"],
  ["2026-02-15", "@last-quarter.start", "2025-10-01"],
  ["2026-02-15", "@last-quarter.end", "2025-12-31"],
  ["2026-06-30", "@this-quarter.start", "2026-04-01"],
  ["2026-06-30", "@this-quarter.end", "2026-06-30"],
  ["2026-12-01", "@next-quarter.end", "2027-03-31"],
  ["2026-11-23", "@last-year.start", "2025-01-01"],
  ["2026-11-23", "@this-year.end", "2026-12-31"],
  ["2026-11-23", "@next-year.start", "2027-01-01"],
])("on %s %s is %s", (day, name, expected) => {
  expect(on(day, name)).toBe(expected);
});

test("there are 27 of them", () => {
  expect(RELATIVE_DATES).toHaveLength(27);
  for (const name of RELATIVE_DATES) expect(on("2026-11-23", name)).toMatch(/^\d{4}-\d\d-\d\d$/);
});

test("only whole texts are resolved, at any depth, and @@ keeps one that is meant as it is", () => {
  const input: JsonObject = {
    when: "@today",
    list: ["@tomorrow", { deep: "@yesterday", "@today": 1 }],
    text: "see @today",
    person: "@anna",
    literal: "@@today",
    twice: "@@@x",
    number: 1,
    nothing: null,
    ["__proto__x"]: "@today ",
  };
  expect(resolveRelativeDates(input, Date.UTC(2026, 10, 23))).toEqual({
    when: "2026-11-23",
    list: ["2026-11-24", { deep: "2026-11-22", "@today": 1 }],
    text: "see @today",
    person: "@anna",
    literal: "@today",
    twice: "@@x",
    number: 1,
    nothing: null,
    ["__proto__x"]: "@today ",
  });
});

test("names invalid ones with their place", () => {
  const problems: FieldProblem[] = [];
  const input = {
    a: "@todayy",
    b: ["@last-week", { c: "@Today" }],
    d: "@anna",
    e: "@@last-week",
    f: "@now",
    g: "@today",
  };
  checkRelativeDates(input, "input.trigger.input", (problem) => problems.push(problem));
  expect(problems.map(({ path, code }) => ({ path, code }))).toEqual(
    ["a", "b.0", "b.1.c", "f"].map((path) => ({ path: `input.trigger.input.${path}`, code: "not_a_choice" })),
  );
});
