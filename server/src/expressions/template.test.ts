import { expect, test } from "vitest";
import { compileExpression, compileTemplate, expressionIn } from "./template.ts";

test("a string is an expression only if all of it is `${ }`; anything else is literal", () => {
  expect(expressionIn("${ .a }")).toBe(".a");
  expect(expressionIn("  ${.a}\n")).toBe(".a");
  expect(expressionIn("${\n  .a |\n  .b\n}")).toBe(".a |\n  .b");
  for (const literal of ["", "a", ".a", "$a", "${ .a", "x ${ .a }", "${ .a }x"]) {
    expect(expressionIn(literal)).toBeUndefined();
    expect(compileTemplate(literal).isLiteral).toBe(true);
  }
});

test("a template without an expression is its source, not a copy", () => {
  const source = { a: [1, { b: "x" }], c: null };
  const template = compileTemplate(source);
  expect(template.isLiteral).toBe(true);
  expect(template.assemble([])).toBe(source);
});

test("expressions are found with their places, and their results put there", () => {
  const fixed = { x: 1 };
  const template = compileTemplate({ a: "${ .n }", b: ["t", { c: "${ $context.k + $input }" }], fixed });
  expect(template.expressions.map(({ path, text }) => [path, text])).toEqual([
    [["a"], ".n"],
    [["b", 1, "c"], "$context.k + $input"],
  ]);
  expect([...template.variables]).toEqual(["context", "input"]);
  const value = template.assemble([1, 2]) as Record<string, unknown>;
  expect(value).toEqual({ a: 1, b: ["t", { c: 2 }], fixed: { x: 1 } });
  expect(value["fixed"]).toBe(fixed);
});

test("a result may be null, in a list and in an object", () => {
  expect(compileTemplate({ a: ["${ .n }", 1], b: "${ .n }" }).assemble([null, null])).toEqual({
    a: [null, 1],
    b: null,
  });
});

test("an expression's text may come with or without its brackets", () => {
  expect(compileExpression(" .a ").expressions[0]!.text).toBe(".a");
  expect(compileExpression("${ .a }").expressions[0]!.text).toBe(".a");
});

test("only free variables count", () => {
  const free = (text: string): string[] => [...compileExpression(text).variables].toSorted();
  expect(free("$a | . as $b | $b + $c")).toEqual(["a", "c"]);
  expect(free("(. as $b | $b) + $b")).toEqual(["b"]);
  expect(free('. as {a: $x, $y, ("k"): [$z]} | $x + $y + $z + $w')).toEqual(["w"]);
  expect(free(". as [$x] ?// {x: $y} | $x, $y")).toEqual([]);
  expect(free("reduce .[] as $i ($i; . + $i)")).toEqual(["i"]);
  expect(free("foreach .[] as $i (0; . + $i; [$i, $j])")).toEqual(["j"]);
  expect(free("def f($p; g): $p + $q; f($p; 1)")).toEqual(["p", "q"]);
  expect(free('{$u, "\\($v)": 1, a: $w}')).toEqual(["u", "v", "w"]);
  expect(free('"$no \\("\\($yes)")"')).toEqual(["yes"]);
});

test("functions that read the process or the clock are refused; fields of the same names are not", () => {
  const problem = (text: string): string | undefined => compileExpression(text).expressions[0]!.problem?.message;
  for (const text of ["env", "$ENV", "$ENV.PATH", "input", "[inputs]", "debug", 'debug("x")', "stderr", "halt"]) {
    expect(problem(text)).toMatch(/is not available/);
  }
  for (const text of ["$__prog_args", "$__loc__", "input_filename", "get_search_list", "now", ".a | map(now)"]) {
    expect(problem(text)).toMatch(/is not available/);
  }
  for (const text of ['import "a" as a; .', 'include "a"; .', "module {}; ."])
    expect(problem(text)).toMatch(/unexpected/);
  for (const text of ["{env, now, debug: .input}", ".halt.stderr", "def now: 1; now", "1 as $ENV | $ENV", '"now"']) {
    expect(problem(text)).toBeUndefined();
  }
});

test("a mistake is kept with its place, and compiling does not throw", () => {
  const template = compileTemplate(["${ .a + }", '${ "\\(1" }', "${ .a ${ }"]);
  expect(template.expressions.map(({ problem }) => problem)).toEqual([
    { message: "syntax error, unexpected end of expression", offset: 4 },
    { message: "syntax error, unexpected '\"', expecting ')'", offset: 4 },
    { message: "syntax error, unexpected '$'", offset: 3 },
  ]);
});

test("deep, long and chained texts are refused", () => {
  const problem = (text: string): string | undefined => compileExpression(text).expressions[0]!.problem?.message;
  expect(problem(`${"[".repeat(40)}${"]".repeat(40)}`)).toBeUndefined();
  expect(problem(`${"[".repeat(1000)}${"]".repeat(1000)}`)).toMatch(/nested 64 deep/);
  expect(problem(`${"-".repeat(5000)}1`)).toMatch(/nested 64 deep/);
  expect(problem(`${'"\\('.repeat(1000)}1${')"'.repeat(1000)}`)).toMatch(/nested 64 deep/);
  for (const chain of [".a".repeat(2000), Array(2000).fill(".").join("|"), Array(2000).fill("1").join("+")]) {
    expect(problem(chain)).toMatch(/1000 operators/);
  }
  expect(problem("if . then 1 elif ".repeat(900))).toBeDefined();
  expect(problem(`"${"x".repeat(20_000)}"`)).toMatch(/16000 characters/);
});
