/** Durations, timeouts, retries: long enough to make sense, short enough for a run. */
import { durationMs } from "./durations.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Found, Lint } from "./lint.ts";
import { quote } from "../text/problem.ts";
import { isWhole, oneLineRule } from "./rules-expressions.ts";

const LONGEST_MS = LIMITS.runtimeDays * 86_400_000;

export function durationRule({ path, value, means }: Found, lint: Lint): void {
  const report = (message: string): void => lint.report({ path, at: "value", message });
  if (typeof value === "string" && isWhole(value)) return oneLineRule({ path, value, means }, lint);
  const span = durationMs(value);
  if (span === undefined && typeof value === "string" && /^P[\d.]*[YM\d.]+/.test(value) && !value.includes("T")) {
    report("years and months have no fixed length; write days, such as P30D");
  } else if (span === undefined && typeof value === "string") {
    report(`${quote(value)} is not a duration; write PT1M30S for a minute and a half`);
  } else if (span !== undefined && span > LONGEST_MS) {
    report(`this is longer than ${LIMITS.runtimeDays} days, the longest a run may take`);
  }
}

export function timeoutRule({ path, value }: Found, lint: Lint): void {
  const after = (value as JsonObject)["after"];
  if (after !== undefined && durationMs(after) === 0) {
    lint.report({ path: [...path, "after"], at: "value", message: "a timeout must be longer than zero" });
  }
}

export function jitterRule({ path, value }: Found, lint: Lint): void {
  const from = spanOf(value, "from");
  const to = spanOf(value, "to");
  if (from !== undefined && to !== undefined && from > to) {
    lint.report({
      path: [...path, "from"],
      at: "value",
      message: '"from" is longer than "to"; write the shorter one first',
    });
  }
}

/** A policy with neither an end nor a pause would spin until the run is 30 days old. */
export function retryRule({ path, value }: Found, lint: Lint): void {
  const policy = value as JsonObject;
  const isEndless =
    under(policy, "limit", "attempt", "count") === undefined && under(policy, "limit", "duration") === undefined;
  const delay = policy["delay"];
  const pauses = [delay, under(policy, "backoff", "linear", "increment"), under(policy, "jitter", "to")];
  if (isEndless && !pauses.some((span) => span !== undefined && durationMs(span) !== 0)) {
    lint.report({
      path,
      at: "key",
      message: "this would retry forever without a pause; write a delay, or limit: {attempt: {count: 5}}",
    });
  }
  if (spanOf(policy, "limit", "attempt", "duration") === 0) {
    lint.report({
      path: [...path, "limit", "attempt", "duration"],
      at: "value",
      message: "a limit must be longer than zero",
    });
  }
  const most = under(policy, "backoff", "exponential", "maxDelay");
  const [delayMs, mostMs] = [delay, most].map((span) => (span === undefined ? undefined : durationMs(span)));
  if (delayMs !== undefined && mostMs !== undefined && mostMs < delayMs) {
    lint.report({
      path: [...path, "backoff", "exponential", "maxDelay"],
      at: "value",
      message: '"maxDelay" is shorter than "delay"',
    });
  }
}

const spanOf = (value: Json, ...keys: string[]): number | undefined => {
  const span = under(value, ...keys);
  return span === undefined ? undefined : durationMs(span);
};

function under(value: Json, ...keys: string[]): Json | undefined {
  return keys.reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), value);
}
