/**
 * What is evaluated here against jq itself: generated expressions on generated data, for each operator and builtin 60 that
 * yield a value and then 600 that may fail, results and errors' words alike. Once with a fixed seed, and once with a
 * fresh one, which stands in the title: put it in SEEDS to see a red test again.
 */
import { randomInt } from "node:crypto";
import { afterAll, expect, test, vi } from "vitest";
import { newId } from "../../lib/ids.ts";
import { createLog } from "../../lib/log.ts";
import type { Json } from "../../lib/json.ts";
import { ExpressionError } from "./expression-error.ts";
import { createExpressions } from "./expressions.ts";
import { Generator, OPERATIONS } from "./generated-expressions.testsuite.ts";
import { JqPool } from "./jq-pool.ts";
import { EMPTY, LEFT_TO_JQ, Raised, startCounting } from "./signals.ts";
import type { Variables } from "./streams.ts";
import { compileExpression } from "./template.ts";

vi.setConfig({ testTimeout: 120_000 });

const ORGANIZATION = newId<"organization">();
const SEEDS = [20_261_121, randomInt(2 ** 31)];
const VALUES_OF_EACH = 60;
const OF_ANY_KIND = 600;
/** Few of what is drawn for `tonumber` or `join` fits it. */
const MOST_DRAWN = 50_000;
const IN_ONE_PROGRAM = 100;

type Result = ["value", Json] | ["none"] | ["error", Json];
type Asked = { text: string; data: Json; variables: Variables };
type Case = Asked & { ours: Result };

const log = createLog("silent");
const pool = new JqPool(log);
const expressions = createExpressions({ log });
afterAll(() => Promise.all([pool[Symbol.asyncDispose](), expressions[Symbol.asyncDispose]()]));

/** Undefined when it is not evaluated here. */
function nativeResult(text: string, data: Json, variables: Variables): Result | undefined {
  const { native, problem } = compileExpression(text).expressions[0]!;
  expect(problem, text).toBeUndefined();
  startCounting();
  try {
    return native && ["value", native(data, variables)];
  } catch (error) {
    if (error === EMPTY) return ["none"];
    if (error === LEFT_TO_JQ) return undefined;
    if (error instanceof Raised) return ["error", error.value];
    throw error;
  }
}

function generatedCases(seed: number): Case[] {
  const generator = new Generator(seed);
  const draw = (text: string): Case | undefined => {
    const data = generator.data();
    const variables = { context: generator.data(3), input: generator.data(2) };
    const ours = nativeResult(text, data, variables);
    return ours && { text, data, variables, ours };
  };
  const cases: Case[] = [];
  for (const operation of OPERATIONS) {
    let values = 0;
    for (let drawn = 0; values < VALUES_OF_EACH && drawn < MOST_DRAWN; drawn++) {
      const one = draw(generator.of(operation));
      if (one?.ours[0] !== "value") continue;
      cases.push(one);
      values++;
    }
    expect(values, `values of ${operation}, seed ${seed}`).toBe(VALUES_OF_EACH);
  }
  for (let any = 0; any < OF_ANY_KIND;) {
    const one = draw(generator.expression());
    if (!one) continue;
    cases.push(one);
    any++;
  }
  return cases;
}

async function jqResults(cases: Asked[]): Promise<Result[]> {
  const each = cases.map(
    ({ text }, at) => `(try ($all[${at}] | .v.context as $context | .v.input as $input | .d | [limit(2; (\n${text}\n))]
      | if length == 0 then ["none"] elif length == 1 then ["value", .[0]] else ["many"] end) catch ["error", .])`,
  );
  const input = JSON.stringify(cases.map(({ data, variables }) => ({ d: data, v: variables })));
  const { stdout, stderr } = await pool.run(
    { program: `. as $all | [${each.join(",\n")}] | tojson`, input },
    ORGANIZATION,
  );
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Result[];
}

test.each(SEEDS)("the same as jq, seed %i", async (seed) => {
  const cases = generatedCases(seed);
  for (let at = 0; at < cases.length; at += IN_ONE_PROGRAM) {
    const batch = cases.slice(at, at + IN_ONE_PROGRAM);
    for (const [place, theirs] of (await jqResults(batch)).entries()) {
      const { text, data, variables, ours } = batch[place]!;
      // As text: the order of keys counts.
      const message = `${text} on ${JSON.stringify({ data, variables })}, seed ${seed}`;
      expect(JSON.stringify(ours), message).toBe(JSON.stringify(theirs));
    }
  }
  expect(cases.filter(({ ours }) => ours[0] === "value").length).toBeGreaterThan(1_500);
});

/** Where JavaScript and jq are known to part: whichever way these are evaluated, jq's result is the one. */
const CORNERS: [string, Json][] = [
  ['"\\(.n * -1) \\(-.n) \\(.n - .n)"', { n: 0 }],
  ["[.[] | tostring]", [1e15, 1e16, 1e17, 123456789012345680000, 1e21, 1.5e300, 0.0001, 0.00001, 1e-7, -0.5]],
  ["[.[] | . * 1 | tostring]", [1e15, 1e16, 1e17, 123456789012345680000, 1e21, 1.5e300, 0.0001, 0.00001, 1e-7, -0.5]],
  ["sort", ["\ue000", "😀", "a", "", "\uffff", "é", "z", "aa"]],
  ["keys", { "😀": 1, "\ue000": 2, b: 3, 10: 4, 9: 5 }],
  ["{(.[]): 1} | tojson", ["9"]],
  ['{"10": 1, "9": 2, a: 3} | tojson', null],
  ['{"10": 1, "9": 2, a: 3} | [.[]]', null],
  ["tojson", '\u0000\u001f\u007f\u0080\u2028/\\"é😀'],
  ["length", "a😀é\ue000"],
  [".[1:3]", "a😀é\ue000"],
  ['. / ""', "a😀é"],
  [". - 1", "é".repeat(40)],
  [". - 1", `x${"é".repeat(40)}`],
  [". - 1", "😀".repeat(10)],
  [". - 1", ["a".repeat(22), 1]],
  [". - 1", "a".repeat(27)],
  [". - 1", "a".repeat(28)],
  [". - 1", { key: "a".repeat(40) }],
  ["[5, -5, 5.9, -5.9, 1e18] | map(. % 3, . % -3, . % 2.9)", null],
  ["[1, -1, 1.9, 2, -2, -3, 100, -100, -0.5, -1.5, -2.25, -3.9, -4] as $i | [$i[] as $k | [0, 1, 2][$k]]", null],
  [
    "[[0, 0], [1.2, 2.5], [-1, 3], [-9, -1], [2, 1], [null, -1], [1, null], [-1.5, 9]] | map(. as $b | [1, 2, 3][$b[0]:$b[1]])",
    null,
  ],
  ["map(round, floor, ceil)", [0.5, 1.5, 2.5, -1.5, -2.5, 1e15]],
  ["map(tonumber)", ["0", "-1", "1.5", "100"]],
  ["map(try tonumber catch .)", ["1.50", "1e3", " 1", "0x10", "", "-", "1.", ".5", "+1", "00", "-0"]],
  [
    "[.[] as $x | .[] as $y | [$x < $y, $x == $y]]",
    [null, false, true, 0, 1, "", "a", [], [1], {}, { a: 1 }, { b: 0 }, { a: 2 }],
  ],
  ["map(. * 1.5)", ["ab", "", "x"]],
  ['[-1, -0.5, 0, 0.5, 1, 1.5, 3] | map(. * "ab")', null],
  ['[(1.0 + null | tostring), (2.50 * 2 | tostring), ([1.0] | tojson), "\\(1.10)"]', null],
  ["[1e1000, -1e1000] | tojson", null],
  ["9007199254740993 == 9007199254740992", null],
  ["100000000000000000000000 | tostring", null],
  [". == 0.1 + 0.2", 0.30000000000000004],
];

async function result({ text, data, variables }: Asked): Promise<Result> {
  try {
    return ["value", await expressions.evaluate(compileExpression(text), data, variables, ORGANIZATION)];
  } catch (error) {
    return ["error", error instanceof ExpressionError ? error.reason : String(error)];
  }
}

test.each(CORNERS)("the same as jq: %s on %j", async (text, data) => {
  const asked = { text, data, variables: { context: null, input: null } };
  const [theirs] = await jqResults([asked]);
  expect(JSON.stringify(await result(asked))).toBe(JSON.stringify(theirs));
});
