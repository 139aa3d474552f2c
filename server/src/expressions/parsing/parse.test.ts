/** The parser accepts what jq accepts: each of these goes to both. */
import { beforeAll, expect, test } from "vitest";
import { loadJq, type Jq } from "jq-wasm";
import { SyntaxProblem } from "./lexer.ts";
import { parseExpression } from "./parse.ts";

const TAKEN = [
  ".",
  "..",
  ".a",
  ".a.b",
  '."a"',
  '.a."b"',
  '.["a"]',
  ".a[0]",
  ".a.[0]",
  ".[]",
  ".a[]?",
  ".a?",
  ".a??",
  ".[1:2]",
  ".[:2]",
  ".[1:]",
  '."a\\(1)"',
  '.@base64 "x"',
  "-1",
  "- -1",
  "-.a?",
  "1.",
  ".5",
  "1.5e3",
  "1e-3",
  "1,2|3,4",
  "1 as $x | 2 as $y | $x",
  "1 + 2 * 3 - 4 / 5 % 6",
  "1 == 2 and 3 < 4 or true",
  "1 // 2 // 3",
  ".a = 1",
  ".a |= . + 1",
  ".a //= 3",
  ".a += 1 | .b",
  "def f: 1; f",
  "def f($a; g): $a + g; f(1; 2)",
  "1, def f: 2; f | 3",
  "label $l | 1, break $l",
  "reduce .[] as $x (0; . + $x)",
  "foreach .[] as [$a, {b: $c}] (0; . + $a; [., $c])",
  "reduce . + . as $x (0; 1)",
  "if . then 1 end",
  "if . then 1 else 2 end",
  "if . then 1 elif . then 2 else 3 end",
  "try error",
  "try -1 catch .",
  "try error catch . + 1",
  "{}",
  "{a: 1,}",
  '{a, $x, $x: 1, "b c", "d\\(1)": 2, @text "e": 3, ("f"): 4}',
  "{if: 1, and: 2, end}",
  "{a: 1 | 2}",
  "{a: 1 + 2}",
  "{a: -1}",
  '"a\\(1 + 2)b\\("c\\(3)")"',
  '@json "x\\(.)"',
  "@text",
  '"\\u00e9\\ud83d\\ude00\\n\\/"',
  '"a\nb"',
  ". as [$a] ?// {a: $a} | $a",
  '. as {a: $b, $c: [$d], "e": $f, ("g"): $h} | $b',
  "1 # a comment",
  "1 # a comment\n+ 1",
  "[limit(1; .[])]",
  "[]",
  "[1, 2][0]",
  '"abc"[1:]',
  "{a: 1}.a",
  "(1)",
  "-(1)",
  "$x.a.b",
  "$x[0]",
  ".and.or",
  "1 as $x | -$x",
  ".a as $x | .b as [$y] | $x + $y",
  "not | not",
  "..|..",
  "...a",
];
const REFUSED = [
  "",
  "(",
  ")",
  "[",
  "1 +",
  "+ 1",
  ".a.",
  ".a[",
  ". a",
  ".[1:2",
  ".a.[1:2]",
  "1 < 2 < 3",
  "1 == 2 == 3",
  ".a = 1 = 2",
  "{a b}",
  "{1: 2}",
  "{(1): 2}",
  "{-1: 2}",
  "{,}",
  "{(1)}",
  '"\\q"',
  '"\\ud800"',
  '"abc',
  '"\\(1"',
  "1 2",
  ".a?//1",
  "if . then",
  "if . end",
  "def f: 1",
  "reduce .[] as $x (0)",
  "break",
  "label l | 1",
  "try",
  "1 as x | 2",
  ". as [] | 1",
  "$",
  "@",
  "&",
  "'a'",
  ".a | ",
  "| .a",
  "1;2",
  "f(",
  "f()",
  "{a:}",
  "..a",
  "[1,]",
  "1 as $x | ",
  "1 | as $x | 2",
  "and",
  "then",
];

let jq: Jq;
beforeAll(async () => {
  jq = await loadJq();
});

/** Compiled but not run; names that nobody defined do not matter here. */
function isTakenByJq(text: string): boolean {
  const { exitCode, stderr } = jq.raw("null", `null as $x | empty | (\n${text}\n)`);
  return exitCode === 0 || (/ is not defined/.test(stderr) && !/syntax error|try \.\[/.test(stderr));
}

function isTakenHere(text: string): boolean {
  try {
    parseExpression(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxProblem) return false;
    throw error;
  }
}

test.each(TAKEN)("takes %s", (text) => {
  expect([isTakenHere(text), isTakenByJq(text)]).toEqual([true, true]);
});

test.each(REFUSED)("refuses %s", (text) => {
  expect([isTakenHere(text), isTakenByJq(text)]).toEqual([false, false]);
});

test("operators bind as in jq", () => {
  const shape = (text: string): string => shown(parseExpression(text));
  expect(shape("1 + 2 * 3")).toBe("(1 + (2 * 3))");
  expect(shape("1 - 2 - 3")).toBe("((1 - 2) - 3)");
  expect(shape("1 // 2 // 3")).toBe("(1 // (2 // 3))");
  expect(shape("1 or 2 and 3 == 4 + 5")).toBe("(1 or (2 and (3 == (4 + 5))))");
  expect(shape("1, 2 | 3, 4")).toBe("((1 , 2) | (3 , 4))");
  expect(shape("1 | 2 | 3")).toBe("(1 | (2 | 3))");
});

function shown(node: ReturnType<typeof parseExpression>): string {
  if (node.kind === "number") return node.text;
  const sign = { pipe: "|", comma: "," }[node.kind as string] ?? ("operator" in node ? node.operator : "?");
  return "left" in node ? `(${shown(node.left)} ${sign} ${shown(node.right)})` : node.kind;
}
