/**
 * The three ways in which a native evaluation ends without a value. Plain objects and no Errors: a stack trace
 * would cost 5 µs each, and `?` throws them away.
 */
import type { Json } from "../../lib/json.ts";

/** jq's error: caught by `?` and `try`. */
export class Raised {
  readonly value: Json;

  constructor(value: Json) {
    this.value = value;
  }
}

/** jq's `empty`: the expression has no result. */
export const EMPTY = Symbol("empty");

/** This value is beyond what is evaluated here exactly as jq would, or at once: the expression is left to jq. */
export const LEFT_TO_JQ = Symbol("left to jq");

/**
 * Steps of work that an evaluation may take here, each some 10 to 50 ns: at most about 10 ms of this thread.
 * Evaluations are synchronous, so that one counter serves them all.
 */
const STEPS = 200_000;
let stepsLeft = 0;

export const startCounting = (): void => {
  stepsLeft = STEPS;
};

/** Throws LEFT_TO_JQ when the evaluation has become long. */
export function spend(steps: number): void {
  stepsLeft -= steps;
  if (stepsLeft < 0) throw LEFT_TO_JQ;
}
