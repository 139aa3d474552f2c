/** docs/errors.md and the code have the same lists, in the same order. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { badInput, CODES, conflict, FIELD_CODES, RARE_REASONS, REASONS, Refusal, type FieldProblem } from "./errors.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/errors.md"), "utf8");

/** The words in backquotes in the first columns of the table with this head. */
function tableOf(head: string, columns: number): string[] {
  const lines = page.split("\n");
  const from = lines.findIndex((line) => line.startsWith(`| ${head} |`)) + 2;
  const rows = lines.slice(from, lines.indexOf("", from));
  return rows.map((row) =>
    Array.from(row.matchAll(/`([\w-]+)` \|/g), ([, word]) => word)
      .slice(0, columns)
      .join(" "),
  );
}

test("docs/errors.md lists every code, and no other", () => {
  expect(tableOf("code | when", 1)).toEqual([...CODES]);
});

test("docs/errors.md lists every reason under its code, and no other", () => {
  const reasons = Object.entries({ ...REASONS, ...RARE_REASONS }).flatMap(([code, list]) =>
    list.map((reason) => `${code} ${reason}`),
  );
  expect(tableOf("code | reason", 2)).toEqual(reasons);
});

test("docs/errors.md lists every code of a field, and no other", () => {
  expect(tableOf("field code", 1)).toEqual([...FIELD_CODES]);
});

test("every reason and every code of a field is sent by something", () => {
  const sources = readdirSync(join(import.meta.dirname, ".."), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/\.(?:db\.)?test\.ts$|lib\/errors\.ts$/.test(name))
    .map((name) => readFileSync(join(import.meta.dirname, "..", name), "utf8"))
    .join("\n");
  const words = [...Object.values({ ...REASONS, ...RARE_REASONS }).flat(), ...FIELD_CODES];
  expect(words.filter((word) => !sources.includes(`"${word}"`))).toEqual([]);
});

test("a task in none of the lists does not compile", () => {
  // @ts-expect-error a conflict without a reason
  const bare = () => conflict("the run has ended");
  // @ts-expect-error a reason of another code
  const wrong = () => conflict("invalid_input", "the run has ended");
  // @ts-expect-error a made-up reason
  const made = () => badInput("bad", "n is missing");
  // @ts-expect-error a made-up code of a field
  const field: FieldProblem = { path: "n", code: "missing", message: "is missing" };
  // @ts-expect-error a code that has reasons, without one
  const refusal = () => new Refusal("CONFLICT", "the run has ended");
  expect([bare, wrong, made, field, refusal]).toHaveLength(5);
});
