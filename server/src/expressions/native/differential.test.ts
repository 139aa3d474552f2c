/**
 * Compares native evaluation with jq itself: generated expressions on generated data, for each operator and builtin some that
 * yield a value and then some that may fail; both results and error texts must match. Runs with a fixed seed, `npm run test:long` with
 * a fresh one too, which the title shows: put it in SEEDS to reproduce a failure.
 */
import { randomInt } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { createLog } from "../../lib/log/log.ts";
import { CORNERS } from "./corners.testsuite.ts";
import {
  ALL,
  generatedCases,
  jqResults,
  nativeResult,
  ORGANIZATION,
  type Asked,
  type Result,
} from "./differential.testsuite.ts";
import { scaled } from "../../../../test/scale.ts";
import { ExpressionError } from "../parsing/expression-error.ts";
import { createExpressions } from "../expressions.ts";
import { JqPool } from "../jq/jq-pool.ts";
import { messageOfError } from "../jq/jq-program.ts";
import { compileExpression } from "../template.ts";

const SEEDS = scaled({ whole: [20_261_121, 484_318_516, randomInt(2 ** 31)], part: [20_261_121] });
const CASES = scaled({ whole: ALL, part: { valuesOfEach: 15, ofAnyKind: 150 } });
const IN_ONE_PROGRAM = 100;
/** Share of the thousands of a seed. The second seed has one. */
const MAX_TOO_LARGE = 5;

const log = createLog("silent");
const pool = new JqPool(log);
const expressions = createExpressions({ log });
afterAll(() => Promise.all([pool[Symbol.asyncDispose](), expressions[Symbol.asyncDispose]()]));

test.each(SEEDS)("the same as jq, seed %i", async (seed) => {
  const cases = generatedCases(seed, CASES);
  let tooLarge = 0;
  for (let at = 0; at < cases.length; at += IN_ONE_PROGRAM) {
    const batch = cases.slice(at, at + IN_ONE_PROGRAM);
    for (const [place, theirs] of (await jqResults(pool, batch)).entries()) {
      const { text, data, variables, ours } = batch[place]!;
      if (!theirs) {
        tooLarge++;
        continue;
      }
      // As text: the order of keys counts.
      const message = `${text} on ${JSON.stringify({ data, variables })}, seed ${seed}`;
      expect(JSON.stringify(ours), message).toBe(JSON.stringify(theirs));
    }
  }
  expect(cases.filter(({ ours }) => ours[0] === "value").length).toBeGreaterThan(25 * CASES.valuesOfEach);
  expect(tooLarge).toBeLessThanOrEqual(MAX_TOO_LARGE);
});

/** The result that a workflow gets. */
async function answer({ text, data, variables }: Asked): Promise<Result> {
  try {
    return ["value", await expressions.evaluate(compileExpression(text), data, variables, ORGANIZATION)];
  } catch (error) {
    return ["error", error instanceof ExpressionError ? error.reason : String(error)];
  }
}

function answerOf(theirs: Result | ["many"]): Result {
  if (theirs[0] === "none") return ["value", null];
  if (theirs[0] === "many")
    return ["error", "gave more than one result: write [ … ] for a list of them, first( … ) for one"];
  return theirs[0] === "error" ? ["error", messageOfError(theirs[1])] : theirs;
}

/** The share of the 624 expressions left to jq that are also evaluated by themselves: one in so many, coprime to the 16 values of each operation. */
const BY_JQ = scaled({ whole: 1, part: 7 });

test("the same as jq at the corners, whichever way they are evaluated", async () => {
  let left = 0;
  const cases = CORNERS.map(([text, data]) => ({ text, data, variables: { context: null, input: null } }));
  for (let at = 0; at < cases.length; at += IN_ONE_PROGRAM) {
    const batch = cases.slice(at, at + IN_ONE_PROGRAM);
    for (const [place, theirs] of (await jqResults(pool, batch)).entries()) {
      const asked = batch[place]!;
      const message = `${asked.text} on ${JSON.stringify(asked.data)}`;
      const ours = nativeResult(asked.text, asked.data, asked.variables);
      if (ours) expect(JSON.stringify(ours), message).toBe(JSON.stringify(theirs));
      else if ((theirs as Result | ["many"])[0] !== "many" && left++ % BY_JQ > 0) continue;
      expect(JSON.stringify(await answer(asked)), message).toBe(JSON.stringify(answerOf(theirs!)));
    }
  }
});
