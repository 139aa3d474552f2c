import { CronPattern } from "croner";
import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../lib/limits.ts";
import { shortenedTo } from "../../../lib/text.ts";

/** When a schedule matches, by the clocks of its zone. Each list has its values in order. */
export type Schedule = {
  minutes: number[];
  hours: number[];
  /** By number from 0: `days[1]` is the first of a month, `weekdays[0]` Sunday, `months[1]` January. */
  days: boolean[];
  months: boolean[];
  weekdays: boolean[];
  /** Either the day of the month or the weekday is enough; otherwise both must match. */
  eitherDay: boolean;
  /** Minute and hour have no `*`, `-` or `/`: a time of day, which comes once a day when clocks change. */
  isTimeOfDay: boolean;
};

/** Why an expression is refused: the field, and what is wrong with it. */
type ScheduleProblem = { problem: string };

/** In their order. */
const FIELDS = [
  { name: "minute", last: 59, takes: "0 to 59", names: "" },
  { name: "hour", last: 23, takes: "0 to 23", names: "" },
  { name: "day of month", last: 31, takes: "1 to 31", names: "" },
  { name: "month", last: 12, takes: "1 to 12 or JAN to DEC", names: "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec" },
  { name: "day of week", last: 7, takes: "0 to 7 or SUN to SAT", names: "sun|mon|tue|wed|thu|fri|sat" },
] as const;

const SHAPES = FIELDS.map(({ names }) => {
  const value = names ? `(?:\\d{1,2}|${names})` : String.raw`\d{1,2}`;
  const part = String.raw`(?:\*(?:/\d{1,2})?|${value}(?:-${value}(?:/\d{1,2})?)?)`;
  return new RegExp(`^${part}(?:,${part})*$`, "i");
});

const FIVE = "minute, hour, day of month, month and day of week, as in 0 8 * * 1-5";
/** The most days that a month has, in any year. */
const DAYS_IN = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Reading one takes 0.3 ms, and 50,000 triggers may be due at an instant. */
const known = new LRUCache<string, Schedule>({ max: 2_000 });

/** Reads five fields with names, lists, ranges and steps. What other programs add (`L`, `W`, `#`, `?`, `@daily`, seconds) is refused. */
export function readSchedule(text: string): Schedule | ScheduleProblem {
  const before = known.get(text);
  if (before) return before;
  if (text.length > LIMITS.scheduleCharacters) {
    return { problem: `a schedule has at most ${LIMITS.scheduleCharacters} characters` };
  }
  const fields = text.split(/[ \t]+/).filter(Boolean);
  if (fields.length !== FIELDS.length) {
    return { problem: `a schedule has five fields, ${FIVE}; this one has ${fields.length}` };
  }
  for (const [index, field] of fields.entries()) {
    const { name, takes } = FIELDS[index] as (typeof FIELDS)[number];
    if (!(SHAPES[index] as RegExp).test(field) || !isRead(field, index)) {
      return {
        problem: `the ${name} field cannot be ${JSON.stringify(shorten(field))}: it takes ${takes}, lists (1,15), ranges (1-5) and steps (*/5, 0-30/10)`,
      };
    }
  }
  const schedule = scheduleOf(fields);
  if (!comes(schedule)) return { problem: "this schedule never comes: none of its months has such a day" };
  known.set(text, schedule);
  return schedule;
}

const shorten = (field: string): string => shortenedTo(field, 40);

/** Whether croner reads the field among four that match everything; it takes steps that reach no second value. */
function isRead(field: string, index: number): boolean {
  const { last } = FIELDS[index] as (typeof FIELDS)[number];
  if (Array.from(field.matchAll(/\/(\d+)/g)).some(([, step]) => Number(step) > last)) return false;
  const others = FIELDS.map((_, at) => (at === index ? field : "*"));
  try {
    void parse(others);
    return true;
  } catch {
    return false;
  }
}

const parse = (fields: string[]): CronPattern => new CronPattern(fields.join(" "), undefined, { mode: "5-part" });

function scheduleOf(fields: string[]): Schedule {
  const [minute, hour, day, , weekday] = fields as [string, string, string, string, string];
  const pattern = parse(fields);
  return {
    minutes: numbers(pattern.minute),
    hours: numbers(pattern.hour),
    days: [false, ...pattern.day.map(Boolean)],
    months: [false, ...pattern.month.map(Boolean)],
    weekdays: pattern.dayOfWeek.map(Boolean),
    eitherDay: !day.startsWith("*") && !weekday.startsWith("*"),
    isTimeOfDay: !/[*/-]/.test(minute + hour),
  };
}

/** `[0, 1, 0, 1]` as `[1, 3]`. */
const numbers = (flags: number[]): number[] => flags.flatMap((flag, number) => (flag ? [number] : []));

/** A schedule that asks for a weekday comes sooner or later, on any day of the month that there is. */
const comes = ({ days, months, eitherDay }: Schedule): boolean =>
  eitherDay || months.some((month, number) => month && days.indexOf(true) <= (DAYS_IN[number] as number));

/** Whether the schedule matches on a day of its zone, given by a local time of it in milliseconds. */
export function matchesDay(schedule: Schedule, local: number): boolean {
  const day = new Date(local);
  if (!schedule.months[day.getUTCMonth() + 1]) return false;
  const byDate = schedule.days[day.getUTCDate()] as boolean;
  const byWeekday = schedule.weekdays[day.getUTCDay()] as boolean;
  return schedule.eitherDay ? byDate || byWeekday : byDate && byWeekday;
}
