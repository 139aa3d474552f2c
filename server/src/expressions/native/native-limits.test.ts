/** Native expressions are bounded too: growing ones are left to jq, or refused, before they block this thread. */
import { expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import type { Json } from "../../lib/json/json.ts";
import { createLog } from "../../lib/log/log.ts";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import { ExpressionError } from "../parsing/expression-error.ts";
import { createExpressions, type Expressions } from "../expressions.ts";
import { LEFT_TO_JQ, startCounting } from "./signals.ts";
import { compileExpression, compileTemplate, type Template } from "../template.ts";

const ORGANIZATION = newId<"organization">();
const log = createLog("silent");
const LONG = 1_000_000;
const doubled = (step: string, times: number): string => Array(times).fill(step).join(" | ");

function nativeOutcome(text: string, data: Json): { cpuMs: number; isLeft: boolean } {
  const { native } = compileExpression(text).expressions[0]!;
  expect(native).toBeDefined();
  let isLeft = false;
  const evaluate = (): void => {
    startCounting();
    try {
      native!(data, {});
    } catch (error) {
      isLeft = error === LEFT_TO_JQ;
    }
  };
  return { cpuMs: leastMs(100, evaluate), isLeft };
}

const numbers = (count: number): Json[] => Array.from({ length: count }, (_, at) => at);
const keyed = (count: number): Json => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
function nested(depth: number, inner: Json): Json {
  let value = inner;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}
/** As if from the wire: no two are the same text in memory. */
const flat = (text: string): string => Buffer.from(text).toString();

test.each<[string, Json]>([
  [doubled(". + .", 60), "xxxxxxxxxxxxxxxx"],
  [doubled(". + .", 60), [1]],
  [". * 1000000000", "x"],
  [`${doubled("[., .]", 60)} | tojson`, 1],
  [`${doubled("[., .]", 60)} | . == (. | [.[0], .[1]])`, 1],
  [`${doubled("{a: ., b: .}", 60)} | . * .`, 1],
  [doubled('"\\(.)\\(.)"', 60), "x"],
  ["[.[] | [.[] | 1]] | length", Array(1000).fill(Array(1000).fill(0))],
  [`map({${Array.from({ length: 200 }, (_, at) => `a${at}: .`).join(", ")}})`, Array(100_000).fill(0)],
  [". - .", numbers(5000)],
  [". as $all | map($all - [0])", numbers(100_000)],
  [". as $all | map($all | reverse)", numbers(100_000)],
  [". as $all | map($all | .[1:])", numbers(100_000)],
  [". as $all | map($all | length)", [keyed(60_000), ...numbers(100_000)]],
  [".[0] as $o | map($o | length)", [keyed(60_000), ...numbers(100_000)]],
  [".[0] as $o | map($o | keys)", [keyed(60_000), ...numbers(100_000)]],
  [".[0] as $o | map($o + {a: 1})", [keyed(60_000), ...numbers(100_000)]],
  [".[0] as $t | map(. as $x | $x | $t == $x)", Array.from({ length: 300 }, () => flat("x".repeat(LONG)))],
  [".[1] as $t | map($t | startswith($t))", Array.from({ length: 1000 }, () => flat("x".repeat(LONG / 10)))],
  // V8's search for a long text takes the product of both lengths.
  [".text / .other", { text: flat("a".repeat(LONG / 2)), other: flat(`${"a".repeat(300)}b${"a".repeat(LONG / 4)}`) }],
  ["[.[].a.b.c.d.e, .[].a.b.c.d.e]", numbers(100_000).map(() => ({ a: { b: { c: { d: {} } } } }))],
  [`[.[] | ${doubled(".a", 900).replaceAll(" | ", "")}]`, Array(100_000).fill(null)],
  ["map(.a?)", numbers(100_000)],
  ['map({("k\\(.)"): .})', numbers(100_000)],
  ["sort", numbers(200_000).toReversed()],
  ["tojson", Array.from({ length: 50_000 }, () => Math.random())],
  ["ascii_downcase", "aX".repeat(2 * LONG)],
  [doubled("map(.)", 60), Array(50_000).fill(0)],
])("%#: %.40s holds this thread for less than 100 ms, and is left to jq", (text, data) => {
  const { cpuMs, isLeft } = nativeOutcome(text, data);
  expect(isLeft).toBe(true);
  expect(cpuMs).toBeLessThan(100);
});

const refusalOf = async (
  expressions: Expressions,
  template: Template,
  data: Json,
  variables = {},
): Promise<unknown> => {
  try {
    return await expressions.evaluate(template, data, variables, ORGANIZATION);
  } catch (error) {
    return error instanceof ExpressionError ? error.reason : error;
  }
};

test("a value that shares its parts is weighed as it would be written", async () => {
  await using expressions = createExpressions({ log });
  const growing = compileExpression(doubled("[., .]", 40));
  expect(await refusalOf(expressions, growing, "xxxx")).toMatch(/nested|larger than 1048576 bytes/);
  const wide = compileTemplate(Array.from({ length: 40 }, () => "${ . }"));
  expect(await refusalOf(expressions, wide, "x".repeat(50_000))).toBe("the result is larger than 1048576 bytes");
  const deep = compileTemplate(nested(40, "${ . }"));
  expect(await refusalOf(expressions, deep, nested(40, 1))).toBe("the result is nested deeper than 64 levels");
  expect(await refusalOf(expressions, deep, 1)).toEqual(nested(40, 1));
  expect(await refusalOf(expressions, compileExpression("[range(300000)]"), 1)).toMatch(/larger than 1048576 bytes/);
});

test.each<[string, Json, RegExp]>([
  ["reduce .[] as $x (0; [.]) | tojson", numbers(20_000), /nested|memory/],
  ["reduce .[] as $x (0; [.]) | . == [.]", numbers(20_000), /memory/],
  ["error(reduce .[] as $x (0; [.]))", numbers(20_000), /nested/],
  ['error(reduce .[] as $x ("0123456789abcdef"; if length < 1000000 then . + . else . end))', numbers(20), /larger/],
  ["@json", nested(100_000, 1), /nested too deep/],
  ["@csv", numbers(100).map(() => ["x".repeat(600_000)]), /^its data is larger than 8388608 bytes$/],
  ["@csv", { rows: Array(100).fill("x".repeat(600_000)) }, /^its data is larger than 8388608 bytes$/],
])("%#: what %s throws is an ExpressionError", async (text, data, reason) => {
  await using expressions = createExpressions({ log });
  expect(await refusalOf(expressions, compileExpression(text), data)).toMatch(reason);
});
