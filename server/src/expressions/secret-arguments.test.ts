import { expect, test } from "vitest";
import { secretArgumentsOf } from "./secret-arguments.ts";
import { compileExpression, compileTemplate } from "./template.ts";

const altersSecrets = (text: string): boolean => compileExpression(text).expressions[0]!.altersSecrets ?? false;

test.each([
  "$secrets.a",
  '$secrets["a-b"]',
  '"x\\($secrets.a)y\\(.b | ascii_downcase)"',
  '"x" + $secrets.a + .b',
  ".a // $secrets.a",
  "{a: $secrets.a, b: [$secrets.b, .c]}",
  "{($secrets.a): 1}",
  ". + {a: $secrets.a}",
  "if .a then $secrets.a else $secrets.b end",
  ".a as $x | [$x, $secrets.a]",
  ".a | [., $secrets.a]",
  "{a: $secrets.a} | tojson",
  '"\\({a: $secrets.a} | tostring)"',
  "[.items[] | {id, key: $secrets.a}]",
  "$secrets.a?",
])("%s passes its secrets on", (text) => expect(altersSecrets(text)).toBe(false));

test.each([
  "$secrets.a | @base64",
  '@uri "x\\($secrets.a)"',
  "$secrets.a[0:4]",
  "$secrets.a | length",
  "$secrets.a * 2",
  '$secrets.a == "x"',
  'if $secrets.a == "x" then 1 else 2 end',
  '[$secrets.a, ($secrets.b | ltrimstr("x"))]',
  "$secrets.a as $x | $x",
  "($secrets.a | fromjson).key",
  "{a: $secrets.a}.a",
  "{a: $secrets.a} | .a",
  "{a: $secrets.a} | tojson | @base64",
  "def f: $secrets.a; f",
  "try error($secrets.a) catch .",
  "reduce .[] as $i ($secrets.a; . + $i)",
  "[limit(1; $secrets.a)]",
  "$secrets.a, .b | select(.)",
  "$secrets.a | explode | implode",
  "-($secrets.a | tonumber)",
  '$secrets.a | test("a")',
])("%s alters one", (text) => expect(altersSecrets(text)).toBe(true));

test("the author's own $secrets is none", () => {
  expect(compileExpression(". as $secrets | $secrets.a | @base64").expressions[0]).not.toHaveProperty("altersSecrets");
  expect(secretArgumentsOf(compileTemplate({ a: "${ . as $secrets | $secrets.a }" }))).toBeUndefined();
});

test("what is shown has names in the place of secrets, and what is sent is put together from what is kept and what is new", () => {
  const template = compileTemplate({
    a: "${ .n }",
    b: ["${ $secrets.x | @base64 }", { c: '${ "\\($secrets.y)!" }' }],
    d: 1,
    e: "${ [$secrets.x, $secrets.y] | length }",
  });
  const split = secretArgumentsOf(template)!;
  expect(split.placeholders).toEqual({ x: "[secret x]", y: "[secret y]" });
  expect(split.shown.expressions.map(({ text }) => text)).toEqual([".n", '"\\($secrets.y)!"']);
  const shown = split.shown.assemble([5, "[secret y]!"]);
  expect(shown).toEqual({ a: 5, b: ["[secret x]", { c: "[secret y]!" }], d: 1, e: "[secret x] [secret y]" });
  expect(split.secretive.expressions.map(({ path }) => path)).toEqual([["b", 0], ["b", 1, "c"], ["e"]]);
  const kept = (path: readonly (string | number)[]): string => path.join("/");
  expect(split.assemble(["eA==", "y!", 2], kept)).toEqual({ a: "a", b: ["eA==", { c: "y!" }], d: 1, e: 2 });
  expect([["b"], ["b", 1], ["b", 1, "c"], ["a"], ["d"], []].map((path) => split.names(path))).toEqual([
    true,
    true,
    true,
    false,
    false,
    true,
  ]);
  expect([split.alters(["e"]), split.alters(["b"]), split.isOne(["b", 1, "c"]), split.isOne(["b"])]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
