/**
 * One jq program made of several expressions, and its answer. Variables travel in the input: as arguments jq would parse
 * them twice, and a program's text should not depend on data.
 */
import { parseJson, type Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { ExpressionError, type ExpressionProblem } from "../parsing/expression-error.ts";
import type { Variables } from "../native/streams.ts";

/** `program`: what jq runs instead of the author's text. */
type Expression = { text: string; program?: string; variables: ReadonlySet<string> };
export type Job = { program: string; input: string };
/** The same before jq is free: thousands of waiting jobs have no text yet, which could take megabytes each. */
export type UnwrittenJob = { program: string; input: () => string | Promise<string> };
export type Reply = { stdout: string; stderr: string; exitCode: number };

const MANY = "gave more than one result: write [ … ] for a list of them, first( … ) for one";

const PRELUDE = `def __one($at; f):
  try [limit(2; f)] catch ([$at, .] | error)
  | if length > 1 then [$at, ${JSON.stringify(MANY)}] | error else .[0] end;`;

/** Returns `{"r": [results]}`, `{"e": [place, error]}`, or `{"s": size}` if that is over the limit. */
function programOf(expressions: readonly Expression[]): string {
  const each = expressions.map(({ text, program }, at) => `__one(${at};\n${program ?? text}\n)`);
  return `${PRELUDE}
${bindings(expressions, (name) => `.v[${JSON.stringify(name)}]`)}
.d | try {r: [${each.join(",\n")}]} catch {e: .}
| tojson
| utf8bytelength as $size | if $size > ${LIMITS.outputBytes} then "{\\"s\\":\\($size)}" else . end`;
}

function bindings(expressions: readonly Expression[], value: (name: string) => string): string {
  const names = new Set(expressions.flatMap(({ variables }) => [...variables]));
  return [...names].map((name) => `${value(name)} as $${name} |`).join(" ");
}

/** Work on data in this thread, each in its own stretch. */
export type Pen = { write: (value: Json) => Promise<string>; isLarge: (value: Json) => Promise<boolean> };

/** Throws ExpressionError if the input is too large: what an `each` gathers has no limit before its `output.as`. */
export const jobOf = (
  expressions: readonly Expression[],
  data: Json,
  variables: Variables,
  pen: Pen,
): UnwrittenJob => ({
  program: programOf(expressions),
  input: () => inputOf(expressions, data, variables, pen),
});

async function inputOf(
  expressions: readonly Expression[],
  data: Json,
  variables: Variables,
  pen: Pen,
): Promise<string> {
  let left: number = LIMITS.expressionDataBytes;
  const take = (bytes: number): void => {
    left -= bytes;
    if (left >= 0) return;
    throw new ExpressionError(`its data is larger than ${LIMITS.expressionDataBytes} bytes`, textOf(expressions));
  };
  const written = async (value: Json): Promise<string> => {
    const json = await pen.write(value);
    take(json.length);
    return json;
  };
  // Only such a list can be larger than an output; its items can't.
  const inPieces = async (value: Json): Promise<string> => {
    if (!(await pen.isLarge(value))) return written(value);
    if (!Array.isArray(value)) take(Infinity);
    const items: string[] = [];
    for (const item of value as Json[]) items.push(await written(item));
    return `[${items.join(",")}]`;
  };
  const input = await inPieces(data);
  const bound: string[] = [];
  for (const name of new Set(expressions.flatMap(({ variables: used }) => [...used]))) {
    bound.push(`${JSON.stringify(name)}:${await inPieces(variables[name]!)}`);
  }
  return `{"d":${input},"v":{${bound.join(",")}}}`;
}

const textOf = (expressions: readonly Expression[]): string => expressions.map(({ text }) => text).join("\n");

/** The results, or an ExpressionError. */
export function resultsOf(reply: Reply, expressions: readonly Expression[]): Json[] {
  const all = textOf(expressions);
  if (reply.exitCode !== 0 || reply.stdout === "") throw new ExpressionError(complaint(reply.stderr).message, all);
  const answer = parsed(reply.stdout, all) as { r?: Json[]; e?: [number, Json] };
  if (answer.r) return answer.r;
  if (!answer.e) throw new ExpressionError(`the result is larger than ${LIMITS.outputBytes} bytes`, all);
  throw new ExpressionError(messageOfError(answer.e[1]), expressions[answer.e[0]]!.text);
}

/** jq's wording for an error that nobody caught. */
export const messageOfError = (error: Json): string =>
  typeof error === "string" ? error : `${JSON.stringify(error)} (not a string)`;

function parsed(text: string, expression: string): Json {
  try {
    return parseJson(text, "the result");
  } catch (error) {
    throw new ExpressionError((error as Error).message, expression);
  }
}

// Checking

const CHECK_LINES_BEFORE = 1;

/** Compiles the expression without running it. */
export const checkProgramOf = (expression: Expression): string =>
  `${bindings([expression], () => "null")} empty | (\n${expression.text}\n)`;

export function problemOf(reply: Reply, text: string): ExpressionProblem | undefined {
  if (reply.exitCode === 0) return undefined;
  const { message, line, column } = complaint(reply.stderr);
  if (line === undefined || column === undefined) return { message, offset: 0 };
  const lines = text.split("\n");
  const row = line - 1 - CHECK_LINES_BEFORE;
  const start = lines.slice(0, row).reduce((length, before) => length + before.length + 1, 0);
  // jq counts bytes.
  const within = Buffer.from(lines[row] ?? "")
    .subarray(0, column - 1)
    .toString().length;
  return { message, offset: Math.min(text.length, start + within) };
}

/** Parses the first line that jq wrote on stderr. */
function complaint(stderr: string): { message: string; line?: number; column?: number } {
  const first = /^jq: error(?: \(at [^)]*\))?: (.*)/.exec(stderr)?.[1] ?? "jq ended without an answer";
  const place = /^(.*) at <top-level>, line (\d+), column (\d+):$/.exec(first);
  return place ? { message: place[1]!, line: Number(place[2]), column: Number(place[3]) } : { message: first };
}
