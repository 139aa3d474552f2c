/**
 * The three ways in which a native evaluation ends without a value. Plain objects instead of Errors: a stack trace costs
 * 5 µs, and `?` discards it.
 */
import type { Json } from "../../lib/json/json.ts";

/** The cost of a throw in steps: 1 to 3 µs, paid for each item of a list with a `?` on each. */
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

/** This value can't be handled here exactly as in jq, or fast enough: the expression is left to jq. */
export const LEFT_TO_JQ = Symbol("left to jq");

/**
 * Steps of work that the expressions of one template may take here, some 10 to 50 ns each: at most about 10 ms of this
 * thread, plus the one operation that exceeds it (on a value of 1 MiB at most 30 ms). Operations are charged for what they
 * touch and make, which costs.test.ts checks. Evaluations are synchronous, so one counter serves them all.
 */
export const STEPS = 200_000;
let most = STEPS;
let left = 0;

export const startCounting = (steps = STEPS): void => {
  most = left = steps;
};

/** Since counting started. */
export const stepsSpent = (): number => most - left;

/** Throws LEFT_TO_JQ if the evaluation has become long. */
export function spend(steps: number): void {
  left -= steps;
  if (left < 0) throw LEFT_TO_JQ;
}
