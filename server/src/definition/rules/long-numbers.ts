/** Warns the author of numbers with more digits than a computation keeps, about 17. */
import { ExactNumber } from "../../lib/json/exact-number.ts";
import { isObject, type Json } from "../../lib/json/json.ts";
import type { Steps } from "../../fairness/slices.ts";
import type { Finding, Path } from "../text/problem.ts";

const ADVICE =
  "this number has more digits than a computation keeps: it stays as it is written until an expression computes with it; put it in quotes if it is an id";

/** Findings in the order of the text. Forms are left out: their limits are compared by all digits. */
export function* longNumbersIn(value: Json, path: Path = []): Steps<Finding[]> {
  if (value instanceof ExactNumber)
    return value.text === "-0" ? [] : [{ path, at: "value", message: ADVICE, severity: "warning" }];
  const findings: Finding[] = [];
  const entries: [string | number, Json][] = Array.isArray(value)
    ? value.map((item, index) => [index, item])
    : isObject(value)
      ? Object.entries(value).filter(([key]) => key !== "schema")
      : [];
  for (const [key, child] of entries) {
    if (typeof child === "object" && child !== null) findings.push(...(yield* longNumbersIn(child, [...path, key])));
  }
  if (path.length === 3) yield;
  return findings;
}
