/**
 * Dates in the input of a cron trigger that are counted from the day on which it is due, by its zone's clocks. A text that is
 * one of these names as a whole becomes a date; weeks begin on Monday (ISO 8601), and `.end` is the last day itself.
 */
import type { FieldProblem } from "../../../lib/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../lib/json/json.ts";

type Day = { year: number; /** From 0; may be out of range, as `Date.UTC` takes it. */ month: number; day: number };
type Ends = { start: Day; end: Day };

/** The period that the day is in, moved by so many. */
const PERIODS: Record<string, (day: Day, by: number) => Ends> = {
  week: ({ year, month, day }, by) => {
    const sinceMonday = (new Date(Date.UTC(year, month, day)).getUTCDay() + 6) % 7;
    const monday = day - sinceMonday + 7 * by;
    return { start: { year, month, day: monday }, end: { year, month, day: monday + 6 } };
  },
  month: ({ year, month }, by) => months(year, month + by, 1),
  quarter: ({ year, month }, by) => months(year, month - (month % 3) + 3 * by, 3),
  year: ({ year }, by) => months(year + by, 0, 12),
};

const months = (year: number, month: number, count: number): Ends => ({
  start: { year, month, day: 1 },
  end: { year, month: month + count, day: 0 },
});

const DAYS: Record<string, number> = { yesterday: -1, today: 0, tomorrow: 1 };
const WHICH: Record<string, number> = { last: -1, this: 0, next: 1 };

/** Every name, with what it makes of a day. */
const NAMES: ReadonlyMap<string, (today: Day) => Day> = new Map([
  ...Object.entries(DAYS).map(
    ([name, by]) => [`@${name}`, (today: Day) => ({ ...today, day: today.day + by })] as const,
  ),
  ...Object.entries(PERIODS).flatMap(([period, ends]) =>
    Object.entries(WHICH).flatMap(([which, by]) =>
      (["start", "end"] as const).map(
        (end) => [`@${which}-${period}.${end}`, (today: Day) => ends(today, by)[end]] as const,
      ),
    ),
  ),
]);

/** In the order of the documentation. */
export const RELATIVE_DATES: readonly string[] = [...NAMES.keys()];

/** A text that was meant to be a name of ours. Anything else with an `@` is text, as in `@anna`. */
const MEANT = /^@(?:yesterday|today|tomorrow|now|(?:last|this|next)-)/i;

/** Adds a problem for each text that looks like a relative date and is none. `path`: where the value is, in dots. */
export function checkRelativeDates(value: Json, path: string, add: (problem: FieldProblem) => void): void {
  if (typeof value === "string") {
    if (!MEANT.test(value) || NAMES.has(value)) return;
    const message = `is no relative date: there are @yesterday, @today, @tomorrow, and @last-, @this- or @next- with week, month, quarter or year and .start or .end, as in @last-week.start; begin the text with @@ if it is meant as it is`;
    add({ path, code: "not_a_choice", message });
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkRelativeDates(item, `${path}.${index}`, add);
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) checkRelativeDates(item, `${path}.${key}`, add);
  }
}

/** The input with every relative date as `2026-11-23`. `local`: milliseconds on the zone's clocks. `@@` at the start of a text is one `@`. */
export function resolveRelativeDates(input: JsonObject, local: number): JsonObject {
  const date = new Date(local);
  const today = { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() };
  return resolved(input, today) as JsonObject;
}

function resolved(value: Json, today: Day): Json {
  if (typeof value === "string") {
    if (value.startsWith("@@")) return value.slice(1);
    const name = NAMES.get(value);
    if (!name) return value;
    const { year, month, day } = name(today);
    return new Date(Date.UTC(year, month, day)).toISOString().slice(0, "2026-11-23".length);
  }
  if (Array.isArray(value)) return value.map((item) => resolved(item, today));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, today)]));
}
