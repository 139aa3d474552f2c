/** Generated expressions with their results here and in jq: for the differential test, recorded for `npm run mutants`. */
import { parseStored, type Json } from "../../lib/json/json.ts";
import { newId } from "../../lib/ids.ts";
import { Generator, OPERATIONS } from "./generated-expressions.testsuite.ts";
import { JqFailure, type JqPool } from "../jq/jq-pool.ts";
import { EMPTY, LEFT_TO_JQ, Raised, startCounting } from "./signals.ts";
import type { Variables } from "./streams.ts";
import { compileExpression } from "../template.ts";

export const ORGANIZATION = newId<"organization">();
/** How many cases of each operator and builtin yield a value, and how many of any kind may fail. */
export type HowMany = { valuesOfEach: number; ofAnyKind: number };
export const ALL: HowMany = { valuesOfEach: 60, ofAnyKind: 600 };
/** Few of the values generated for `tonumber` or `join` fit. */
const MAX_DRAWN = 50_000;

export type Result = ["value", Json] | ["none"] | ["error", Json];
export type Asked = { text: string; data: Json; variables: Variables };
export type Case = Asked & { ours: Result };

/** In jq 1.8.2, two slices of one list with the same length are equal whatever they contain; here they are not. */
const hasTwoSlices = (text: string): boolean => (text.match(/\[[^[\]]*:[^[\]]*\]/g)?.length ?? 0) > 1;

/** Undefined if it is not evaluated here. */
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

export function generatedCases(seed: number, { valuesOfEach, ofAnyKind } = ALL): Case[] {
  const generator = new Generator(seed);
  const draw = (text: string): Case | undefined => {
    if (hasTwoSlices(text)) return undefined;
    const data = generator.data();
    const variables = { context: generator.data(3), input: generator.data(2) };
    const ours = nativeResult(text, data, variables);
    return ours && { text, data, variables, ours };
  };
  const cases: Case[] = [];
  for (const operation of OPERATIONS) {
    let values = 0;
    for (let drawn = 0; values < valuesOfEach && drawn < MAX_DRAWN; drawn++) {
      const one = draw(generator.of(operation));
      if (one?.ours[0] !== "value") continue;
      cases.push(one);
      values++;
    }
    if (values < valuesOfEach) throw new Error(`${values} values of ${operation}, seed ${seed}`);
  }
  for (let any = 0; any < ofAnyKind;) {
    const one = draw(generator.expression());
    if (!one) continue;
    cases.push(one);
    any++;
  }
  return cases;
}

/**
 * Undefined where jq has too little memory for it: it makes a list of a text's characters for some builtins, and we do not. Together
 * jq may have too little for what it can do in halves.
 */
export async function jqResults(pool: JqPool, cases: Asked[]): Promise<(Result | undefined)[]> {
  try {
    return await together(pool, cases);
  } catch (error) {
    if (!(error instanceof JqFailure)) throw error;
    if (cases.length === 1) return [undefined];
    const half = Math.ceil(cases.length / 2);
    return [...(await jqResults(pool, cases.slice(0, half))), ...(await jqResults(pool, cases.slice(half)))];
  }
}

async function together(pool: JqPool, cases: Asked[]): Promise<Result[]> {
  const each = cases.map(
    ({ text }, at) => `(try ($all[${at}] | .v.context as $context | .v.input as $input | .d | [limit(2; (\n${text}\n))]
      | if length == 0 then ["none"] elif length == 1 then ["value", .[0]] else ["many"] end) catch ["error", .])`,
  );
  const input = JSON.stringify(cases.map(({ data, variables }) => ({ d: data, v: variables })));
  const { stdout, stderr } = await pool.run(
    { program: `. as $all | [${each.join(",\n")}] | tojson`, input: () => input },
    ORGANIZATION,
  );
  if (stderr) throw new Error(stderr);
  return parseStored(stdout) as Result[];
}
