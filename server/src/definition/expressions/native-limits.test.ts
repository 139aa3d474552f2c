/** Native expressions are bounded too: what grows is left to jq, or refused, before it holds this thread up. */
import { expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import type { Json } from "../../lib/json.ts";
import { createLog } from "../../lib/log.ts";
import { ExpressionError } from "./expression-error.ts";
import { createExpressions } from "./expressions.ts";
import { LEFT_TO_JQ, startCounting } from "./signals.ts";
import { compileExpression, compileTemplate } from "./template.ts";

const ORGANIZATION = newId<"organization">();
const LONG = 1_000_000;
const doubled = (step: string, times: number): string => Array(times).fill(step).join(" | ");

function nativeOutcome(text: string, data: Json): { ms: number; isLeft: boolean } {
  const { native } = compileExpression(text).expressions[0]!;
  expect(native).toBeDefined();
  const started = performance.now();
  startCounting();
  try {
    native!(data, {});
    return { ms: performance.now() - started, isLeft: false };
  } catch (error) {
    return { ms: performance.now() - started, isLeft: error === LEFT_TO_JQ };
  }
}

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
  [". - .", Array.from({ length: 5000 }, (_, at) => at)],
  ["ascii_downcase", "x".repeat(4 * LONG)],
  [doubled("map(.)", 60), Array(50_000).fill(0)],
])("%#: %.40s is left to jq at once", (text, data) => {
  const { ms, isLeft } = nativeOutcome(text, data);
  expect(isLeft).toBe(true);
  // About 10 ms, on a machine that has nothing else to do.
  expect(ms).toBeLessThan(500);
});

test("a value that shares its parts is weighed as it would be written", async () => {
  await using expressions = createExpressions({ log: createLog("silent") });
  const growing = compileExpression(doubled("[., .]", 40));
  expect(() => expressions.evaluate(growing, "xxxx", {}, ORGANIZATION)).toThrow(/nested|larger than 1048576 bytes/);
  const wide = compileTemplate(Array.from({ length: 40 }, () => "${ . }"));
  expect(() => expressions.evaluate(wide, "x".repeat(50_000), {}, ORGANIZATION)).toThrow(
    "the result is larger than 1048576 bytes",
  );
  const deep = compileTemplate(nested(40, "${ . }"));
  expect(() => expressions.evaluate(deep, nested(40, 1), {}, ORGANIZATION)).toThrow(
    "the result is nested deeper than 64 levels",
  );
  expect(() => expressions.evaluate(deep, 1, {}, ORGANIZATION)).not.toThrow();
  await expect(async () =>
    expressions.evaluate(compileExpression("[range(300000)]"), 1, {}, ORGANIZATION),
  ).rejects.toThrow(ExpressionError);
});

const nested = (depth: number, value: Json): Json => (depth === 0 ? value : [nested(depth - 1, value)]);
