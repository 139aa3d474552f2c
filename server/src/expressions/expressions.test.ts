import { afterAll, describe, expect, test } from "vitest";
import { newId } from "../lib/ids.ts";
import { createLog } from "../lib/log/log.ts";
import type { Json } from "../lib/json/json.ts";
import { ExpressionError } from "./parsing/expression-error.ts";
import { createExpressions } from "./expressions.ts";
import { compileExpression, compileTemplate, type Template } from "./template.ts";

const ORGANIZATION = newId<"organization">();
const expressions = createExpressions({ log: createLog("silent") });
afterAll(() => expressions[Symbol.asyncDispose]());

const DATA: Json = { a: 1, n: 4, list: [3, 1, 2], text: "x", deep: { b: { c: "z" } } };
const VARIABLES = { context: { k: 10 }, input: null };

const evaluate = (template: string | Template, data: Json = DATA): Json | Promise<Json> =>
  expressions.evaluate(
    typeof template === "string" ? compileExpression(template) : template,
    data,
    VARIABLES,
    ORGANIZATION,
  );

async function caught(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return error;
  }
}

async function reasonOf(text: string): Promise<string> {
  const error = await caught(() => evaluate(text));
  expect(error).toBeInstanceOf(ExpressionError);
  return (error as ExpressionError).reason;
}

describe("what is evaluated in this process", () => {
  test.each<[string, Json]>([
    ["{n: (.n + 1)}", { n: 5 }],
    [".deep.b.c", "z"],
    [".nothing.at.all", null],
    [".list[-1]", 2],
    [".list[1:]", [1, 2]],
    ['"\\(.n) of \\($context.k): \\(.list)"', "4 of 10: [3,1,2]"],
    ['.missing // "default"', "default"],
    [".text.x? // 7", 7],
    ["[.list[] | select(. > 1) | . * 10]", [30, 20]],
    ["first(.list[] | select(. < 3))", 1],
    [".list | map({v: .}) | length", 3],
    ["if .a == 1 and (.n > 3) then {yes: .text} else 0 end", { yes: "x" }],
    ["reduce .list[] as $x (0; . + $x)", 6],
    [".a as $x | {$x, (.text): .n}", { x: 4 }],
    ['.a as $y | {$y, "\\(.text)-\\($y)": $y}', { y: 1, "x-1": 1 }],
    ["empty", null],
    ["first(.list[] | select(. > 9))", null],
    ['[false // 1, null // 1, 0 // 1, "" // 1, (empty // 1), (false // null)]', [1, 1, 0, "", 1, null]],
    ["[1 < 1, 1 <= 1, 1 > 1, 1 >= 1, 1 == 1, 1 != 1]", [false, true, false, true, true, false]],
    ["[1 < 2, 1 <= 2, 1 > 2, 1 >= 2, 1 == 2, 1 != 2]", [true, true, false, false, false, true]],
    ["[2 < 1, 2 <= 1, 2 > 1, 2 >= 1]", [false, false, true, true]],
    ['["a" < "a", "a" <= "a", "a" > "a", "a" >= "a", "a" < "b", "b" <= "a"]', [false, true, false, true, true, false]],
    ["[[1] < [1], [1] <= [1], [1] > [1], [1] >= [1], [1] < [1, 0], {} <= []]", [false, true, false, true, true, false]],
    ["[{a: 1} < {a: 1}, {a: 1} <= {a: 1}, {a: 1} >= {a: 1}, {a: 1} < {a: 2}]", [false, true, true, true]],
  ])("%s", (text, expected) => {
    const value = evaluate(text);
    expect(value).not.toBeInstanceOf(Promise);
    expect(value).toEqual(expected);
  });

  test("errors are in jq's words, with the expression", async () => {
    expect(await reasonOf('.a + "x"')).toBe('number (1) and string ("x") cannot be added');
    expect(await reasonOf(".a.b")).toBe('Cannot index number with string ("b")');
    expect(await reasonOf('error("mine")')).toBe("mine");
    expect(await reasonOf("error({a: 1})")).toBe('{"a":1} (not a string)');
    expect(await reasonOf("$secrets.x")).toBe("$secrets is not defined");
    expect(() => evaluate(".a.b")).toThrow('Cannot index number with string ("b") (in ${ .a.b })');
  });

  test("a key that every object has is no field", () => {
    for (const key of ["constructor", "toString", "__proto__", "hasOwnProperty"])
      expect(evaluate(`.${key}`)).toBeNull();
  });

  test("NUL and halves of surrogate pairs come back as they were", async () => {
    const text = "a\u0000b\ud800c\udfffd\ude00\ud83d";
    expect(evaluate("{t: .}", text)).toEqual({ t: text });
    expect(await evaluate("{t: ., u: (. | @json | fromjson)}", text)).toEqual({ t: text, u: text });
  });

  test("converting half of a surrogate pair to bytes fails, instead of showing its placeholder", async () => {
    for (const made of ["@uri", "@base64", "explode"]) {
      expect(await caught(() => evaluate(`[.[] | ${made}]`, ["a", "\ud800"]))).toMatchObject({
        reason: "half of a surrogate pair has no bytes, so it can't be encoded",
      });
    }
    // Not of the text that has it.
    expect(await evaluate("{a: (.a | @uri), b: (.b | ascii_upcase)}", { a: "é", b: "b\udc00" })).toEqual({
      a: "%C3%A9",
      b: "B\udc00",
    });
  });
});

describe("what jq evaluates", () => {
  test("all expressions of a template, native ones beside", async () => {
    const template = compileTemplate({
      entries: "${ .deep | to_entries }",
      sorted: ["${ .list | sort_by(-.) }", "${ $context.k | pow(.; 2) }"],
      native: "${ .n }",
      none: '${ .list[] | test("x")? }',
    });
    expect(await evaluate(template)).toEqual({
      entries: [{ key: "b", value: { c: "z" } }],
      sorted: [[3, 2, 1], 100],
      native: 4,
      none: null,
    });
  });

  test("a variable of the author's own hides one of ours", async () => {
    expect(await evaluate("[$context.k, (5 as $context | $context | pow(.; 2))]")).toEqual([10, 25]);
  });

  test("no result is null, more than one is an error that says what to write", async () => {
    expect(await evaluate(".list[] | select(. > 9)")).toBeNull();
    expect(await reasonOf(".list[]")).toMatch(/more than one result: write \[ … \]/);
    expect(await reasonOf("repeat(1)")).toMatch(/more than one result/);
    expect(await evaluate("limit(1; repeat(1))")).toBe(1);
  });

  test("errors are jq's own, and name the expression of several that failed", async () => {
    const template = compileTemplate({ a: "${ .list | sort_by(.) }", b: "${ .text | test(1) }" });
    await expect(evaluate(template)).rejects.toThrow("number not a string or array (in ${ .text | test(1) })");
    expect(await reasonOf("[limit(3; error(null))]")).toBe("null (not a string)");
    expect(await reasonOf("nope(1)")).toBe("nope/1 is not defined");
  });

  test("numbers keep their digits until somebody computes, as in jq", async () => {
    expect(JSON.stringify(await evaluate("[1e1000, -1e1000, 1.0, 1e3, nan, infinite]"))).toBe(
      "[1E+1000,-1E+1000,1,1000,null,1.7976931348623157e+308]",
    );
    expect(JSON.stringify(await evaluate("[100000000000000000001, 9007199254740993, 9007199254740993 + 0]"))).toBe(
      "[100000000000000000001,9007199254740993,9007199254740992]",
    );
    expect(JSON.stringify(await evaluate("(.a - 1) * -1"))).toBe("-0");
    await expect(evaluate("1e9999999")).rejects.toThrow("the result has a number beyond 1e±999999");
    expect(await evaluate('"\\(.a * 1e17) \\(.a / 3e5)"')).toBe("1e+17 3.3333333333333333e-06");
  });

  test("keys keep the order in which they came", async () => {
    expect(Object.keys((await evaluate("to_entries | reverse | from_entries")) as object)).toEqual([
      "deep",
      "text",
      "list",
      "n",
      "a",
    ]);
  });

  test("a prototype is no key", async () => {
    expect(await reasonOf('{("__pro" + "to__"): 1}')).toMatch(/forbidden key/);
    expect(await reasonOf('setpath(["__proto__"]; 1)')).toMatch(/forbidden key/);
  });
});

describe("check", () => {
  test.each<[string, string | undefined, number?]>([
    [".a + 1", undefined],
    ["${ .list | sort_by(.x) | group_by($context.k) }", undefined],
    ["$anything | ascii", "ascii/0 is not defined", 12],
    ["${ .a |\n  nope | 2 }", "nope/0 is not defined", 7],
    ['"é😀" | foo', "foo/0 is not defined", 8],
    ["1 +", "syntax error, unexpected end of expression", 3],
    ["{(1): 2}", "an object key must be a string", 1],
    ["now", "now is not available: use $runtime.now, which stays the same when a run is resumed", 0],
    ['1e9 * "x" | @csv', "needs more than 64 MiB of memory, or too much stack", 0],
  ])("%s", async (text, message, offset) => {
    expect(await expressions.check(text, ORGANIZATION)).toEqual(message && { message, offset });
  });
});
