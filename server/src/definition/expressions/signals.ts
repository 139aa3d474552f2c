/**
 * The three ways in which a native evaluation ends without a value. Plain objects and no Errors: a stack trace
 * would cost 5 µs each, and `?` throws them away.
 */
import type { Json } from "../../lib/json.ts";

/** What throwing costs, in steps: 1 to 3 µs, which a list with a `?` on each item pays for each. */
export const THROWN = 50;

/** jq's error: caught by `?` and `try`. */
export class Raised {
  readonly value: Json;

  constructor(value: Json) {
    spend(THROWN);
    this.value = value;
  }
}

/** jq's `empty`: the expression has no result. */
export const EMPTY = Symbol("empty");

export function throwEmpty(): never {
  spend(THROWN);
  throw EMPTY;
}

/** This value is beyond what is evaluated here exactly as jq would, or at once: the expression is left to jq. */
export const LEFT_TO_JQ = Symbol("left to jq");

/**
 * Steps of work that the expressions of one template may take here, each some 10 to 50 ns: at most about 10 ms of this
 * thread, and the one operation that goes over (on a value of 1 MiB at most 30 ms). What an operation touches and what it
 * makes is charged, held by costs.test.ts. Evaluations are synchronous, so that one counter serves them all.
 */
export const STEPS = 200_000;
let most = STEPS;
let left = 0;

export const startCounting = (steps = STEPS): void => {
  most = left = steps;
};

/** Since counting was started. */
export const stepsSpent = (): number => most - left;

/** Throws LEFT_TO_JQ when the evaluation has become long. */
export function spend(steps: number): void {
  left -= steps;
  if (left < 0) throw LEFT_TO_JQ;
}
