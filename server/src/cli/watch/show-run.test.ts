import { expect, test } from "vitest";
import { createStory, durationOf, shortJson } from "./show-run.ts";
import { createTerminal, tableOf } from "../line/terminal.ts";
import type { ShownEvent, ShownStep } from "./watch-run.ts";

const stream = (isTTY: boolean) => ({ isTTY, write: () => true }) as unknown as NodeJS.WriteStream;
const terminalOf = (isTTY: boolean, environment = {}) =>
  createTerminal({ stdout: stream(isTTY), stderr: stream(isTTY), environment });

const failed = { number: 1, status: "failed", error: { type: "x", status: 500, title: null, detail: "no" } } as const;
const step = (fields: Partial<ShownStep>): ShownEvent => ({
  revision: 1,
  run: null,
  step: {
    number: 2,
    name: "fetch",
    kind: "http",
    status: "running",
    duration: 1_500,
    attempts: [],
    output: null,
    error: null,
    ...fields,
  },
});

test("a step is a line of 80 characters at most, however long its name is", () => {
  const show = createStory(terminalOf(false));
  const attempts = Array.from({ length: 12 }, (_, index) => ({
    number: index + 1,
    status: "failed",
    error: failed.error,
  }));
  const [line] = show(step({ name: "n".repeat(200), kind: "approval", duration: 86_400_000, attempts } as never));
  expect(line!.length).toBeLessThanOrEqual(80);
  expect(line).toContain("n".repeat(10));
});

test("a step's name is not cut for what the step used, which then has a line of its own", () => {
  const show = createStory(terminalOf(false));
  const usage = { inputTokens: 600, outputTokens: 80, cachedInputTokens: 0, cost: 0.00014, currency: "EUR" };
  const used = "(680 tokens, 0.00014 EUR)";
  expect(show(step({ usage }))[0]).toMatch(/^ {2}2 {2}fetch +http +running +1,500 ms {2}\(680 tokens, 0.00014 EUR\)$/);
  const [tried] = show(step({ name: "sortTheMessage", kind: "assistant", usage, attempts: [failed] }));
  expect(tried).toBe(`  2  sortTheMessage     assistant running     1,500 ms  (1 failed try)\n     ${used}`);
});

test("a table cuts its last column to what is left, and pads the others", () => {
  const rows = [
    ["id", "name"],
    ["run_1", "x".repeat(100)],
  ];
  expect(tableOf(rows, 20)).toEqual(["id     name", `run_1  ${"x".repeat(12)}…`]);
  expect(tableOf(rows)[1]).toBe(`run_1  ${"x".repeat(100)}`);
});

test("a step is shown only when its status or its failed tries change", () => {
  const show = createStory(terminalOf(false));
  expect(show(step({ status: "pending" }))).toEqual([]);
  expect(show(step({}))).toEqual(["  2  fetch              http      running     1,500 ms"]);
  expect(show(step({ duration: 1_600 }))).toEqual([]);
  expect(show(step({ attempts: [failed] }))).toEqual([expect.stringMatching(/running +1,500 ms {2}\(1 failed try\)$/)]);
  expect(show(step({ status: "failed", attempts: [failed], error: failed.error }))).toEqual([
    "  2  fetch              http      failed      1,500 ms\n     no",
  ]);
});

test("only terminals get colours, and NO_COLOR switches them off", () => {
  expect(terminalOf(true).red("x")).toBe("\u001b[31mx\u001b[39m");
  for (const terminal of [terminalOf(false), terminalOf(true, { NO_COLOR: "1" }), terminalOf(true, { TERM: "dumb" })]) {
    expect(terminal.red("x")).toBe("x");
  }
});

test("columns are as wide as their widest cell", () => {
  expect(
    tableOf([
      ["a", "b"],
      ["long", "c"],
    ]),
  ).toEqual(["a     b", "long  c"]);
  expect(tableOf([])).toEqual([]);
});

test("spans and values are short", () => {
  expect([999, 1_000, 59_999, 200_000].map(durationOf)).toEqual(["999 ms", "1.0 s", "60.0 s", "3 min 20 s"]);
  expect(shortJson({ a: "x".repeat(200) }, 10)).toBe('{"a":"xxx…');
  expect(shortJson("\u001b[31m")).toBe('"\\u001b[31m"');
});
