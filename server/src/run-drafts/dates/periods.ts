/** One period or day at a place of the sentence: `last month`, `Q3 2025`, `the first week of May`, `2026-03`, `in two weeks`. */
import {
  addMonths,
  dayOf,
  isoOf,
  isoWeek,
  monthSpan,
  weekSpan,
  weekdayOf,
  yearOf,
  monthOf,
  type Span,
} from "./days.ts";
import type { Token } from "../words/tokens.ts";
import { countOf, monthNamed, ordinalOf, weekdayNamed } from "../words/words.ts";

export type Period = {
  /** The token after it. */
  next: number;
  /** If the sentence names no year, the span is in any year. Undefined: it names a day that does not exist, or more than one. */
  spanIn?: (year: number) => Span | undefined;
  span?: Span | undefined;
  /** Why it has no span. */
  reason?: string;
  /** One day that stands for its surroundings, so it only says where something begins or ends. */
  edge?: "start" | "middle" | "end";
};

/** The period read at one token. `today` is a day in the caller's zone; `ahead`: a bare weekday is the next one, not the last. */
export type Reading = {
  tokens: readonly Token[];
  today: number;
  ahead: boolean;
  /** `due before 1 May` may be over or to come: the nearer of the two, if it is near. */
  isEither?: boolean;
  /** By token: what was read there already, so that a row of periods is not read again from each of them. */
  known: Map<number, Period | undefined>;
};

const UNITS = ["day", "week", "fortnight", "month", "quarter", "year"];
export const unitOf = (word: string | undefined): string | undefined =>
  word === undefined ? undefined : UNITS.find((unit) => word === unit || word === `${unit}s`);

export function periodAt(reading: Reading, start: number): Period | undefined {
  const { tokens } = reading;
  let at = start;
  while (at < start + 3 && ["the", "of", "whole", "all"].includes(tokens[at]?.word ?? "")) at++;
  if (tokens[at] === undefined || tokens[at]!.kind === "quote") return undefined;
  return (
    writtenAt(reading, at) ??
    namedAt(reading, at) ??
    relativeAt(reading, at) ??
    countedAt(reading, at) ??
    partAt(reading, at) ??
    monthAt(reading, at)
  );
}

const ISO = /^(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?$/;
const MONTH_YEAR = /^(\d{1,2})\/(\d{4})$/;
const DAY_MONTH_YEAR = /^(\d{1,2})-(\p{L}{3,9})-(\d{4})$/u;
const SLASHED = /^(\d{1,2})[/.](\d{1,2})[/.](\d{4})$/;

/** `2026-03-31`, `2026-03`, `03/2026`, `31-Mar-2026`, `31.12.2026`, `03/04/2026` (which is two days). */
function writtenAt({ tokens }: Reading, at: number): Period | undefined {
  const { word } = tokens[at]!;
  const next = at + 1;
  const iso = ISO.exec(word);
  if (iso) {
    const [year, month] = [Number(iso[1]), Number(iso[2])];
    if (!isYear(iso[1])) return { next, reason: "There is no such year." };
    if (month < 1 || month > 12) return { next, reason: "There is no such month." };
    return iso[3] === undefined ? { next, span: monthSpan(year, month) } : dayPeriod(next, year, month, Number(iso[3]));
  }
  const month = MONTH_YEAR.exec(word);
  if (month && Number(month[1]) >= 1 && Number(month[1]) <= 12 && isYear(month[2]))
    return { next, span: monthSpan(Number(month[2]), Number(month[1])) };
  const named = DAY_MONTH_YEAR.exec(word);
  if (named && monthNamed(named[2]) >= 0)
    return dayPeriod(next, Number(named[3]), monthNamed(named[2]) + 1, Number(named[1]));
  const slashed = SLASHED.exec(word);
  if (!slashed) return undefined;
  const [first, second, year] = [Number(slashed[1]), Number(slashed[2]), Number(slashed[3])];
  if (word.includes(".")) return dayPeriod(next, year, second, first);
  if (first <= 12 && second <= 12 && first !== second)
    return { next, reason: "Day and month cannot be told apart; write it as 2026-03-31." };
  return first > 12 ? dayPeriod(next, year, second, first) : dayPeriod(next, year, first, second);
}

function dayPeriod(next: number, year: number, month: number, day: number): Period {
  const span = daySpan(year, month, day);
  return span ? { next, span } : { next, reason: "There is no such day." };
}

function daySpan(year: number, month: number, day: number): Span | undefined {
  const found = dayOf(year, month, day);
  return month >= 1 && month <= 12 && monthOf(found) === month && yearOf(found) === year && day >= 1
    ? { from: found, to: found }
    : undefined;
}

const DAYS_FROM_TODAY = new Map([["today", 0], ["tonight", 0], ["yesterday", -1], ["tomorrow", 1]]); // prettier-ignore

/** `today`, `the day before yesterday`, `on Friday`, `year to date`. */
function namedAt({ tokens, today, ahead }: Reading, at: number): Period | undefined {
  const word = (offset: number): string => tokens[at + offset]?.word ?? "";
  const distance = DAYS_FROM_TODAY.get(word(0));
  if (distance !== undefined) return { next: at + 1, span: { from: today + distance, to: today + distance } };
  if (word(0) === "day" && (word(1) === "before" || word(1) === "after")) {
    const other = DAYS_FROM_TODAY.get(word(2));
    const day = today + (other ?? 0) + (word(1) === "before" ? -1 : 1);
    if (other !== undefined) return { next: at + 3, span: { from: day, to: day } };
  }
  const unit = unitOf(word(0));
  if (unit && word(1) === "to" && word(2) === "date") {
    const span = unitSpan(unit, today, 0);
    return { next: at + 3, span: { from: span.from, to: today } };
  }
  if (unit && unit !== "fortnight" && unit !== "day") {
    if (word(1) === "before" && word(2) === "last") return { next: at + 3, span: unitSpan(unit, today, -2) };
    if (word(1) === "after" && word(2) === "next") return { next: at + 3, span: unitSpan(unit, today, 2) };
  }
  const weekday = weekdayNamed(word(0));
  if (weekday < 0) return undefined;
  const back = (weekdayOf(today) - weekday + 7) % 7;
  const day = ahead ? today + ((weekday - weekdayOf(today) + 7) % 7 || 7) : today - back;
  return { next: at + 1, span: { from: day, to: day } };
}

export const STEPS = new Map([["last", -1], ["previous", -1], ["past", -1], ["this", 0], ["current", 0], ["next", 1], ["coming", 1]]); // prettier-ignore

/** `last month`, `this year so far`, `next Monday`, `the past 7 days`, `last May`. */
function relativeAt(reading: Reading, at: number): Period | undefined {
  const { tokens, today } = reading;
  const step = STEPS.get(tokens[at]!.word);
  const word = tokens[at + 1]?.word;
  if (step === undefined || word === undefined) return undefined;
  const unit = unitOf(word);
  if (unit) {
    if (unit === "fortnight" || (tokens[at]!.word === "past" && unit !== "day"))
      return {
        next: at + 2,
        reason: `It could be ${unit === "fortnight" ? "two weeks" : `the ${unit}`} up to today or before this one.`,
      };
    const span = unitSpan(unit, today, step);
    if (step === -1 && ["week", "day"].includes(unit) && tokens[at + 2]?.word === "of") return undefined;
    const isSoFar = step === 0 && tokens[at + 2]?.word === "so" && tokens[at + 3]?.word === "far";
    return isSoFar ? { next: at + 4, span: { from: span.from, to: today } } : { next: at + 2, span };
  }
  const count = countOf(word);
  const counted = unitOf(tokens[at + 2]?.word);
  // `the last 7 days of May` are no days of now.
  if (count !== undefined && counted && tokens[at + 3]?.word === "of") return undefined;
  if (count !== undefined && counted && Number.isInteger(count) && count > 0 && count <= 1000 && step !== 0)
    return {
      next: at + 3,
      span:
        step < 0
          ? { from: moved(today, counted, -count) + 1, to: today }
          : { from: today, to: moved(today, counted, count) - 1 },
    };
  const weekday = weekdayNamed(word);
  if (weekday >= 0) {
    if (tokens[at]!.word === "next" && weekday > weekdayOf(today))
      return { next: at + 2, reason: "It could be this week's or the one of next week." };
    const back = (weekdayOf(today) - weekday + 7) % 7;
    const day = step < 0 ? today - (back || 7) : step > 0 ? today + (7 - back) : today - weekdayOf(today) + weekday;
    return { next: at + 2, span: { from: day, to: day } };
  }
  const month = monthNamed(word) + 1;
  if (month === 0) return undefined;
  const year = yearOf(today) + (step < 0 && month >= monthOf(today) ? -1 : step > 0 && month <= monthOf(today) ? 1 : 0);
  return { next: at + 2, span: monthSpan(year, month) };
}

export function unitSpan(unit: string, today: number, step: number): Span {
  const [year, month] = [yearOf(today), monthOf(today)];
  if (unit === "day") return { from: today + step, to: today + step };
  if (unit === "week") return weekSpan(today + 7 * step);
  if (unit === "month") return monthSpan(year, month + step);
  if (unit === "quarter") return monthSpan(year, month - ((month - 1) % 3) + 3 * step, 3);
  return monthSpan(year + step, 1, 12);
}

function moved(day: number, unit: string, count: number): number {
  if (unit === "day") return day + count;
  if (unit === "week") return day + 7 * count;
  if (unit === "fortnight") return day + 14 * count;
  return addMonths(day, count * (unit === "month" ? 1 : unit === "quarter" ? 3 : 12));
}

/** `in two weeks`, `3 days ago`, `two weeks from now`. */
function countedAt({ tokens, today }: Reading, start: number): Period | undefined {
  const hasIn = tokens[start]!.word === "in";
  const at = hasIn ? start + 1 : start;
  const written = tokens[at]?.word;
  const count = written === "a" || written === "an" ? 1 : countOf(written);
  const unit = unitOf(tokens[at + 1]?.word);
  if (count === undefined || !unit || !Number.isInteger(count) || count < 0 || count > 1000) return undefined;
  const after = tokens[at + 2]?.word;
  const isAgo = after === "ago";
  if (!isAgo && !hasIn && !(after === "from" && ["now", "today"].includes(tokens[at + 3]?.word ?? "")))
    return undefined;
  const day = moved(today, unit, isAgo ? -count : count);
  return { next: at + (isAgo ? 3 : hasIn ? 2 : 4), span: { from: day, to: day } };
}

/** A year as people write it; nothing else that has four digits is one. */
export const isYear = (word: string | undefined): boolean => /^(19|20)\d\d$/.test(word ?? "");
const yearAt = ({ tokens }: Reading, at: number): number | undefined =>
  isYear(tokens[at]?.word) ? Number(tokens[at]!.word) : undefined;

/** With the year behind it, perhaps after `of` or a comma; otherwise in a year that is open. */
export function withYear(reading: Reading, next: number, spanIn: (year: number) => Span | undefined): Period {
  const { tokens } = reading;
  const isJoined = ["of", ",", "in"].includes(tokens[next]?.word ?? "");
  const year = yearAt(reading, next) ?? (isJoined ? yearAt(reading, next + 1) : undefined);
  if (year !== undefined) {
    const span = spanIn(year);
    return {
      next: next + (yearAt(reading, next) === undefined ? 2 : 1),
      ...(span ? { span } : { reason: "There is no such day." }),
    };
  }
  if (isJoined && tokens[next + 1]?.word === "the" && tokens[next + 2]?.word === "year")
    return { next: next + 3, span: spanIn(yearOf(reading.today)) };
  const relative = isJoined ? STEPS.get(tokens[next + 1]?.word ?? "") : STEPS.get(tokens[next]?.word ?? "");
  const place = isJoined ? next + 2 : next + 1;
  if (relative !== undefined && tokens[place]?.word === "year")
    return { next: place + 1, span: spanIn(yearOf(reading.today) + relative) };
  return { next, spanIn };
}

/** `Q3`, `2025 Q4`, `the second quarter of 2025`, `H1`, `first week of May`, `week 12 of 2026`, `in 2024`. */
function partAt(reading: Reading, at: number): Period | undefined {
  const { tokens } = reading;
  const word = tokens[at]!.word;
  const following = tokens[at + 1]?.word ?? "";
  const part =
    /^([qh])([1-4])$/.exec(word) ?? /^([qh])([1-4])$/.exec(yearAt(reading, at) === undefined ? "" : following);
  if (part && !(part[1] === "h" && Number(part[2]) > 2)) {
    const months = part[1] === "q" ? 3 : 6;
    const spanIn = (year: number): Span => monthSpan(year, months * (Number(part[2]) - 1) + 1, months);
    const before = yearAt(reading, at);
    return before === undefined ? withYear(reading, at + 1, spanIn) : { next: at + 2, span: spanIn(before) };
  }
  const ordinal = word === "last" ? -1 : (ordinalOf(word) ?? -2);
  // `the first and second quarter`: not the second alone.
  const isRow =
    ["and", "or", "to", "&"].includes(tokens[at - 1]?.word ?? "") && ordinalOf(tokens[at - 2]?.word) !== undefined;
  if (isRow && ["quarter", "half", "week"].includes(following))
    return { next: at + 2, reason: "It is more than one period." };
  if ((ordinal >= 0 || word === "last") && (following === "quarter" || following === "half")) {
    const months = following === "quarter" ? 3 : 6;
    if (ordinal < 12 / months && ordinal >= 0)
      return withYear(reading, at + 2, (year) => monthSpan(year, months * ordinal + 1, months));
  }
  if ((ordinal >= 0 || word === "last") && following === "week" && tokens[at + 2]?.word === "of")
    return weekOfMonth(reading, at + 3, ordinal);
  if (word === "week" && tokens[at + 1]?.kind === "number") {
    const week = Number(following);
    return withYear(reading, at + 2, (year) => isoWeek(year, week));
  }
  const year = yearAt(reading, at);
  const before = tokens[at - 1]?.word ?? "";
  if (
    year !== undefined &&
    [
      "in",
      "of",
      "for",
      "during",
      "year",
      "since",
      "from",
      "until",
      "till",
      "to",
      "through",
      "thru",
      "and",
      "between",
      "-",
      "–",
    ].includes(before)
  )
    return { next: at + 1, span: monthSpan(year, 1, 12) };
  return undefined;
}

/** The first seven days are the first week; the last seven the last. */
function weekOfMonth(reading: Reading, at: number, ordinal: number): Period | undefined {
  const month = monthNamed(reading.tokens[at]?.word) + 1;
  if (month === 0 || ordinal > 3) return undefined;
  return withYear(reading, at + 1, (year) => {
    const { from, to } = monthSpan(year, month);
    return ordinal < 0 ? { from: to - 6, to } : { from: from + 7 * ordinal, to: from + 7 * ordinal + 6 };
  });
}

export const dayNumber = (word: string | undefined): number | undefined => {
  const match = /^(\d{1,2})(st|nd|rd|th)?$/.exec(word ?? "");
  return match && Number(match[1]) >= 1 && Number(match[1]) <= 31 ? Number(match[1]) : undefined;
};

/** `May`, `march 2025`, `May 3rd`, `3 May 2026`, `the 1st of September`. `may` alone, in small letters, is a verb. */
function monthAt(reading: Reading, at: number): Period | undefined {
  const { tokens } = reading;
  const first = dayNumber(tokens[at]!.word);
  if (first !== undefined) {
    const place = tokens[at + 1]?.word === "of" ? at + 2 : at + 1;
    const month = monthNamed(tokens[place]?.word) + 1;
    return month === 0 ? undefined : withYear(reading, place + 1, (year) => daySpan(year, month, first));
  }
  const month = monthNamed(tokens[at]!.word) + 1;
  if (month === 0) return undefined;
  const day = dayNumber(tokens[at + 1]?.word);
  if (day !== undefined) return withYear(reading, at + 2, (year) => daySpan(year, month, day));
  const isVerb = ["may", "mar", "march", "sun", "sat"].includes(tokens[at]!.text);
  const period = withYear(reading, at + 1, (year) => monthSpan(year, month));
  return isVerb && period.spanIn && !["in", "of", "last", "since", "for"].includes(tokens[at - 1]?.word ?? "")
    ? undefined
    : period;
}

export const told = ({ from, to }: Span): string => (from === to ? isoOf(from) : `${isoOf(from)} to ${isoOf(to)}`);
