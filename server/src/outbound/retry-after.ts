/** When a service that is too busy wants to be asked again (RFC 9110, 10.2.3). */
import { LIMITS } from "../lib/limits.ts";

type Answer = { status: number; headers: Record<string, unknown> };

const STATUSES = new Set([429, 503]);
/** Some services answer fractions, which the RFC does not have. */
const SECONDS = /^\d+(?:\.\d+)?$/;
/** The three forms of a date that the RFC has, each without the day of the week. */
const DATES = [
  /^\d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^\d{1,2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} +\d{1,2} \d{2}:\d{2}:\d{2} \d{4}$/,
];

/**
 * The pause in ms, after an answer that came at `nowMs`; 0 if it asks for none. Of several values the longest counts. A date is compared
 * with the answer's own `Date`, if it has one: the service's clock may differ from ours. At most `LIMITS.retryAfterSeconds`.
 */
export function retryAfterMs({ status, headers }: Answer, nowMs: number): number {
  const given = headers["retry-after"];
  if (!STATUSES.has(status) || typeof given !== "string") return 0;
  const since = timeIn(headers["date"]) ?? nowMs;
  // A comma separates values, and also the day of the week from its date.
  const longest = given.split(",").reduce((most, part) => Math.max(most, msIn(part.trim(), since)), 0);
  return Math.min(longest, LIMITS.retryAfterSeconds * 1_000);
}

function msIn(part: string, since: number): number {
  if (SECONDS.test(part)) return Math.ceil(Number(part) * 1_000);
  const time = timeIn(part);
  return time === undefined ? 0 : time - since;
}

function timeIn(value: unknown): number | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.replace(/^[A-Z][a-z]{2,8},? +/, "");
  if (DATES[2]!.test(text)) return numberOr(Date.parse(`${text} GMT`));
  return DATES.some((form) => form.test(text)) ? numberOr(Date.parse(text)) : undefined;
}

const numberOr = (time: number): number | undefined => (Number.isNaN(time) ? undefined : time);
