/** Many concurrent evaluations give this thread back in between, and no organization waits for another's. */
import { expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import type { Json } from "../../lib/json/json.ts";
import { createLog } from "../../lib/log/log.ts";
import { longestStretchMs, threadMs } from "../../lib/processor-time.testsuite.ts";
import { createExpressions } from "../expressions.ts";
import { compileExpression, compileTemplate } from "../template.ts";

const log = createLog("silent");
const [OURS, THEIRS] = [newId<"organization">(), newId<"organization">()];
/** Some 5 ms of this thread. */
const HEAVY = compileExpression("sort | length");
const LIST = Array.from({ length: 8_000 }, (_, at) => (at * 7_919) % 8_009);

test("600 heavy evaluations in one tick, 300 one after the other, and of jq hold this thread for less than 100 ms each", async () => {
  await using expressions = createExpressions({ log });
  const evaluate = (template = HEAVY, data: Json = LIST, variables = {}): Json | Promise<Json> =>
    expressions.evaluate(template, data, variables, THEIRS);
  const before = threadMs();
  const atOnce = (): Promise<unknown> => Promise.all(Array.from({ length: 600 }, async () => evaluate()));
  expect(await longestStretchMs(100, atOnce)).toBeLessThan(100);
  // Otherwise this proves nothing.
  expect(threadMs() - before).toBeGreaterThan(200);
  const inARow = async (): Promise<void> => {
    for (let at = 0; at < 300; at++) await evaluate();
  };
  expect(await longestStretchMs(100, inARow)).toBeLessThan(100);
  const byJq = compileExpression("length as $l | $a, $b, $c | select(false)");
  const large = Array.from({ length: 20_000 }, (_, at) => ({ [`k${at % 50}`]: at }));
  const variables = { a: large, b: large, c: large };
  const gathered = Array.from({ length: 6 }, () => Array(30).fill("x".repeat(20_000)) as Json);
  expect(await longestStretchMs(100, async () => evaluate(byJq, gathered, variables))).toBeLessThan(100);
});

test("another organization's evaluation waits for a turn, not for hundreds", async () => {
  await using expressions = createExpressions({ log });
  let settled = 0;
  const theirs = Array.from({ length: 300 }, async () => {
    await expressions.evaluate(HEAVY, LIST, {}, THEIRS);
    settled++;
  });
  expect(await expressions.evaluate(compileExpression(".a + 1"), { a: 1 }, {}, OURS)).toBe(2);
  // Those of the first stretch, and the turn before ours.
  expect(settled).toBeLessThan(20);
  await Promise.all(theirs);
});

test("an ordinary expression is evaluated at once", async () => {
  await using expressions = createExpressions({ log });
  const template = compileTemplate({ greeting: '${ "Hello \\(.name)" }', name: "${ .name }" });
  for (let at = 0; at < 1_000; at++) {
    const value = expressions.evaluate(template, { name: "Ada" }, {}, OURS);
    expect(value).toEqual({ greeting: "Hello Ada", name: "Ada" });
  }
});
