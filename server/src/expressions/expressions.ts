/**
 * Evaluates templates: in this process where possible (about 1 µs), the rest with jq in a worker thread (about 1 ms), as
 * one program per template. An expression has one result; none means null, more than one is an error.
 */
import type { OrganizationId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { ExpressionError, type ExpressionProblem } from "./parsing/expression-error.ts";
import { JqFailure, JqPool } from "./jq/jq-pool.ts";
import { checkProgramOf, jobOf, messageOfError, problemOf, resultsOf, type Pen } from "./jq/jq-program.ts";
import type { Variables } from "./native/streams.ts";
import { MainThread } from "./native/main-thread.ts";
import { EMPTY, LEFT_TO_JQ, Raised, startCounting, stepsSpent } from "./native/signals.ts";
import { compileExpression, type CompiledExpression, type Template } from "./template.ts";
import { weigh, weighed } from "../lib/json/weigh.ts";

export type { Variables } from "./native/streams.ts";

export type Expressions = {
  /**
   * The template's JSON with each expression's result in its place: at once if all of it is native and others have had
   * their share of this thread, else a promise.
   * The result may share parts with the template and the data: none of them is ever changed.
   * Throws or rejects with ExpressionError for an author's mistake, which would recur; any other error means that
   * jq could not be started or was stopped with the process. Organizations take turns at jq.
   * `made` is told at once about how much memory a result takes that is not a part of the data.
   */
  evaluate(
    template: Template,
    data: Json,
    variables: Variables,
    organizationId: OrganizationId,
    made?: (heldBytes: number) => void,
  ): Json | Promise<Json>;
  /** The problem of an expression (with or without `${ }`; `offset` counts in the text without), for the linter. */
  check(text: string, organizationId: OrganizationId): Promise<ExpressionProblem | undefined>;
} & AsyncDisposable;

/** Starts no jq before the first expression that needs it. */
export function createExpressions({ log }: { log: Log }): Expressions {
  const pool = new JqPool(log);
  const thread = new MainThread();
  const evaluateNow = (
    template: Template,
    data: Json,
    variables: Variables,
    organizationId: OrganizationId,
    made: ((heldBytes: number) => void) | undefined,
  ): Json | Promise<Json> => {
    const results: Json[] = [];
    const forJq = evaluateNative(template, data, variables, results);
    thread.charge(stepsSpent());
    if (forJq.length === 0) return assembled(thread, template, results, made);
    return evaluateByJq({ pool, thread, organizationId }, forJq, data, variables).then((values) => {
      for (const [at, expression] of forJq.entries()) results[template.expressions.indexOf(expression)] = values[at]!;
      return thread.run(organizationId, () => assembled(thread, template, results, made));
    });
  };
  return {
    evaluate(template, data, variables, organizationId, made) {
      if (thread.isFree) return evaluateNow(template, data, variables, organizationId, made);
      return thread.run(organizationId, () => evaluateNow(template, data, variables, organizationId, made));
    },
    async check(text, organizationId) {
      const expression = compileExpression(text).expressions[0]!;
      if (expression.problem || expression.native) return expression.problem;
      return checkByJq(pool, expression, organizationId);
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

async function checkByJq(
  pool: JqPool,
  expression: CompiledExpression,
  organizationId: OrganizationId,
): Promise<ExpressionProblem | undefined> {
  const job = { program: checkProgramOf(expression), input: () => "null" };
  try {
    return problemOf(await pool.run(job, organizationId), expression.text);
  } catch (error) {
    // Compiling alone can take too long: jq computes constants.
    if (error instanceof JqFailure) return { message: error.message, offset: 0 };
    throw error;
  }
}

/** Writing, reading or weighing JSON: 4 to 50 ms for 1 MiB. */
const STEPS_PER_CHARACTER = 1 / 4;

/** Fills in the native results, and returns the rest. */
function evaluateNative(template: Template, data: Json, variables: Variables, results: Json[]): CompiledExpression[] {
  const forJq: CompiledExpression[] = [];
  startCounting();
  for (let at = 0; at < template.expressions.length; at++) {
    const expression = template.expressions[at]!;
    refuseBroken(expression, variables);
    const value = expression.native ? nativeValue(expression, data, variables) : undefined;
    if (value === undefined) forJq.push(expression);
    else results[at] = value;
  }
  return forJq;
}

function refuseBroken({ text, problem, variables: names }: CompiledExpression, variables: Variables): void {
  if (problem) throw new ExpressionError(problem.message, text);
  for (const name of names) {
    if (!Object.hasOwn(variables, name)) throw new ExpressionError(`$${name} is not defined`, text);
  }
}

/** Undefined if jq has to evaluate it after all. */
function nativeValue(expression: CompiledExpression, data: Json, variables: Variables): Json | undefined {
  try {
    return expression.native!(data, variables);
  } catch (error) {
    if (error === EMPTY) return null;
    if (error === LEFT_TO_JQ || isTooMuch(error)) return undefined;
    if (error instanceof Raised) throw raised(error.value, expression.text);
    throw error;
  }
}

/** A stack overflow from nesting, or a text over the maximum length. */
const isTooMuch = (error: unknown): boolean => error instanceof RangeError;

function raised(error: Json, text: string): ExpressionError {
  const excess = weigh(error, LIMITS.outputBytes, LIMITS.jsonNesting);
  return new ExpressionError(excess ? `the error is ${excess}` : messageOfError(error), text);
}

type Means = { pool: JqPool; thread: MainThread; organizationId: OrganizationId };

/** Charges writing for jq and reading from it too, in pieces between which others get this thread. */
async function evaluateByJq(
  { pool, thread, organizationId }: Means,
  expressions: readonly CompiledExpression[],
  data: Json,
  variables: Variables,
): Promise<Json[]> {
  const texts = (): string => expressions.map(({ text }) => text).join("\n");
  const pen: Pen = {
    write: (value) =>
      thread.run(organizationId, () => {
        const json = JSON.stringify(value);
        thread.charge(json.length * STEPS_PER_CHARACTER);
        return json;
      }),
    isLarge: (value) =>
      thread.run(organizationId, () => {
        const { bytes, excess } = weighed(value, 2 * LIMITS.outputBytes, Infinity);
        thread.charge(bytes * STEPS_PER_CHARACTER);
        return excess !== undefined;
      }),
  };
  try {
    const reply = await pool.run(jobOf(expressions, data, variables, pen), organizationId);
    return await thread.run(organizationId, () => {
      thread.charge(reply.stdout.length * STEPS_PER_CHARACTER);
      return resultsOf(reply, expressions);
    });
  } catch (error) {
    if (error instanceof JqFailure) throw new ExpressionError(error.message, texts());
    if (isTooMuch(error)) throw new ExpressionError("its data is nested too deep for jq", texts());
    throw error;
  }
}

/** A plain path refers to existing data; anything else could have grown. */
function assembled(
  thread: MainThread,
  template: Template,
  results: Json[],
  made: ((heldBytes: number) => void) | undefined,
): Json {
  const value = template.assemble(results);
  const [first] = template.expressions;
  if (!first || (first.isPath && first.path.length === 0)) return value;
  const { bytes, heldBytes, excess } = weighed(value, LIMITS.outputBytes, LIMITS.jsonNesting);
  thread.charge(bytes * STEPS_PER_CHARACTER);
  made?.(heldBytes);
  if (excess) throw new ExpressionError(`the result is ${excess}`, first.text);
  return value;
}
