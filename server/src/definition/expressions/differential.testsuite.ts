/** Generated expressions with what they yield here and in jq: for the differential test, and recorded for `npm run mutants`. */
import type { Json } from "../../lib/json.ts";
import { newId } from "../../lib/ids.ts";
import { Generator, OPERATIONS } from "./generated-expressions.testsuite.ts";
import type { JqPool } from "./jq-pool.ts";
import { EMPTY, LEFT_TO_JQ, Raised, startCounting } from "./signals.ts";
import type { Variables } from "./streams.ts";
import { compileExpression } from "./template.ts";

export const ORGANIZATION = newId<"organization">();
const VALUES_OF_EACH = 60;
const OF_ANY_KIND = 600;
/** Few of what is drawn for `tonumber` or `join` fits it. */
const MOST_DRAWN = 50_000;

export type Result = ["value", Json] | ["none"] | ["error", Json];
export type Asked = { text: string; data: Json; variables: Variables };
export type Case = Asked & { ours: Result };

/** Undefined when it is not evaluated here. */
export function nativeResult(text: string, data: Json, variables: Variables): Result | undefined {
  const { native, problem } = compileExpression(text).expressions[0]!;
  if (problem) throw new Error(`${text}: ${problem.message}`);
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

export function generatedCases(seed: number): Case[] {
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
    if (values < VALUES_OF_EACH) throw new Error(`${values} values of ${operation}, seed ${seed}`);
  }
  for (let any = 0; any < OF_ANY_KIND;) {
    const one = draw(generator.expression());
    if (!one) continue;
    cases.push(one);
    any++;
  }
  return cases;
}

export async function jqResults(pool: JqPool, cases: Asked[]): Promise<Result[]> {
  const each = cases.map(
    ({ text }, at) => `(try ($all[${at}] | .v.context as $context | .v.input as $input | .d | [limit(2; (\n${text}\n))]
      | if length == 0 then ["none"] elif length == 1 then ["value", .[0]] else ["many"] end) catch ["error", .])`,
  );
  const input = JSON.stringify(cases.map(({ data, variables }) => ({ d: data, v: variables })));
  const { stdout, stderr } = await pool.run(
    { program: `. as $all | [${each.join(",\n")}] | tojson`, input },
    ORGANIZATION,
  );
  if (stderr) throw new Error(stderr);
  return JSON.parse(stdout) as Result[];
}

/** Where JavaScript and jq are known to part: whichever way these are evaluated, jq's result is the one. */
export const CORNERS: [string, Json][] = [
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
  ...["+ $b", "- $b", "* $b", "/ $b", "% $b"].map((operation): [string, Json] => [
    `[.[] as $a | .[] as $b | try ($a ${operation}) catch .]`,
    [null, true, 0, 3, -2, "", "ab", [], [1], {}, { a: 1 }],
  ]),
  ["[.[] | try length catch .]", [null, true, false, -3, "é", [1], { a: 1 }]],
];
