/** Building blocks of the closures: evaluating to at most one value or to many, and converting between the two. */
import { isScalar, type Json } from "../../lib/json/json.ts";
import { items } from "./builtins.ts";
import { add } from "./operators.ts";
import { EMPTY, spend, THROWN, throwEmpty } from "./signals.ts";
import { isTrue } from "./values.ts";

/** Without the `$`. */
export type Variables = Record<string, Json>;

/** A local variable (`as $x`) in front of the others. */
export type Scope = { variables: Variables; local: Json; outer: Scope | undefined };
/** Throws EMPTY for no result, Raised for an error, LEFT_TO_JQ if jq has to evaluate it. */
export type Evaluate = (input: Json, scope: Scope) => Json;
export type Stream = (input: Json, scope: Scope, emit: (value: Json) => void) => void;

/** `otherwise` in place of no result. */
export function orElse<Other>(evaluate: Evaluate, input: Json, scope: Scope, otherwise: Other): Json | Other {
  try {
    return evaluate(input, scope);
  } catch (error) {
    if (error === EMPTY) return otherwise;
    throw error;
  }
}

export const both =
  (left: Stream, right: Stream): Stream =>
  (input, scope, emit) => {
    left(input, scope, emit);
    right(input, scope, emit);
  };

export const chained =
  (left: Stream, right: Stream): Stream =>
  (input, scope, emit) =>
    left(input, scope, (value) => right(value, scope, emit));

export const iterated =
  (target: Stream, optional: boolean): Stream =>
  (input, scope, emit) =>
    target(input, scope, (value) => {
      if (optional && isScalar(value)) return;
      for (const item of items(value)) emit(item);
    });

/** An error after passing the value on is not this expression's fault, hence outside the try. */
export function atMostOne(evaluate: Evaluate, steps: number): Stream {
  return (input, scope, emit) => {
    spend(steps);
    const value = orElse(evaluate, input, scope, undefined);
    if (value !== undefined) emit(value);
  };
}

export const collected =
  (source: Stream): Evaluate =>
  (input, scope) => {
    const result: Json[] = [];
    source(input, scope, (value) => result.push(value));
    return result;
  };

export const mapped =
  (each: Stream): Evaluate =>
  (input, scope) => {
    const result: Json[] = [];
    for (const item of items(input)) each(item, scope, (value) => result.push(value));
    return result;
  };

export const selected =
  (test: Evaluate): Evaluate =>
  (input, scope) => {
    if (isTrue(test(input, scope))) return input;
    return throwEmpty();
  };

/** `select` on a stream: skipping a value costs no throw. */
export const picked =
  (test: Evaluate, steps: number): Stream =>
  (input, scope, emit) => {
    spend(steps);
    if (isTrue(orElse(test, input, scope, false))) emit(input);
  };

export const summed =
  (source: Stream): Evaluate =>
  (input, scope) => {
    let sum: Json = null;
    source(input, scope, (value) => (sum = add(sum, value)));
    return sum;
  };

const FOUND = Symbol("found");

export function firstOf(source: Stream): Evaluate {
  return (input, scope) => {
    let found: Json | undefined;
    try {
      source(input, scope, (value) => {
        found = value;
        spend(THROWN);
        throw FOUND;
      });
    } catch (error) {
      if (error !== FOUND) throw error;
    }
    if (found === undefined) throwEmpty();
    return found;
  };
}
