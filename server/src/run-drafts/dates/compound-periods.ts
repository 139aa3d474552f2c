/** Reads periods made of others: `the end of June`, `the weekend of 14 May`, `the first two weeks of May`, `Friday, 4 December`. */
import { dayOf, monthOf, monthSpan, weekSpan, weekdayOf, yearOf, type Span } from "./days.ts";
import { dayNumber, periodAt, STEPS, unitOf, unitSpan, withYear, type Period, type Reading } from "./periods.ts";
import { countOf, monthNamed, ordinalOf, weekdayNamed } from "../words/words.ts";

const WHICH_DAYS = "It is not said which days.";

export function compoundAt(reading: Reading, start: number): Period | undefined {
  const { known } = reading;
  if (!known.has(start)) known.set(start, readAt(reading, start));
  return known.get(start);
}

function readAt(reading: Reading, start: number): Period | undefined {
  const { tokens } = reading;
  let at = start;
  while (at < start + 3 && ["the", "of", "whole", "all"].includes(tokens[at]?.word ?? "")) at++;
  if (tokens[at] === undefined || tokens[at]!.kind === "quote") return undefined;
  return (
    edgeAt(reading, at) ??
    weekendAt(reading, at) ??
    weekAroundAt(reading, at) ??
    partOfAt(reading, at) ??
    dayOfMonthAt(reading, at) ??
    weekdayAndDayAt(reading, at) ??
    periodAt(reading, start)
  );
}

/** The same with its span changed. */
function changed(period: Period, next: number, change: (span: Span) => Span | undefined): Period {
  const { span, spanIn, reason } = period;
  if (reason !== undefined) return { next, reason };
  if (spanIn) return { next, spanIn: (year) => within(spanIn(year), change) };
  const found = within(span, change);
  return found ? { next, span: found } : { next, reason: "There is no such day." };
}

const within = (span: Span | undefined, change: (span: Span) => Span | undefined): Span | undefined =>
  span && change(span);

/** The period after `of`, or `the month` alone. */
function wholeAt(reading: Reading, start: number): Period | undefined {
  const at = ["the", "this"].includes(reading.tokens[start]?.word ?? "") ? start + 1 : start;
  const unit = unitOf(reading.tokens[at]?.word);
  return unit ? { next: at + 1, span: unitSpan(unit, reading.today, 0) } : periodAt(reading, start);
}

const EDGES = new Map<string, "start" | "middle" | "end">([["start", "start"], ["beginning", "start"], ["middle", "middle"], ["mid", "middle"], ["end", "end"]]); // prettier-ignore
const ENDS_OF = new Map([["month-end", "month"], ["eom", "month"], ["quarter-end", "quarter"], ["eoq", "quarter"], ["year-end", "year"], ["eoy", "year"]]); // prettier-ignore

/** `the end of June`, `mid June`, `year-end`. */
function edgeAt(reading: Reading, at: number): Period | undefined {
  const { tokens, today } = reading;
  const { word } = tokens[at]!;
  if (["early", "late"].includes(word)) {
    const period = periodAt(reading, at + 1);
    return period && { next: period.next, reason: WHICH_DAYS };
  }
  const unit = ENDS_OF.get(word);
  if (unit) return { ...edgeOf({ next: at + 1, span: unitSpan(unit, today, 0) }, "end"), edge: "end" };
  const edge = EDGES.get(word);
  if (!edge || (word !== "mid" && tokens[at + 1]?.word !== "of")) return undefined;
  const period = wholeAt(reading, word === "mid" ? at + 1 : at + 2);
  return period && { ...edgeOf(period, edge), edge };
}

const edgeOf = (period: Period, edge: "start" | "middle" | "end"): Period =>
  changed(period, period.next, ({ from, to }) => {
    if (edge === "middle") return to - from <= 30 && to - from >= 27 ? { from: from + 14, to: from + 14 } : undefined;
    return edge === "end" ? { from: to, to } : { from, to: from };
  });

const weekendOf = (day: number): Span => ({ from: weekSpan(day).from + 5, to: weekSpan(day).to });

/** `last weekend`, `over the weekend`, `the weekend of 14 November`. */
function weekendAt(reading: Reading, start: number): Period | undefined {
  const { tokens, today, ahead } = reading;
  const step = STEPS.get(tokens[start]!.word);
  const at = step === undefined ? start : start + 1;
  if (tokens[at]?.word !== "weekend") return undefined;
  if (step === undefined && tokens[at + 1]?.word === "of") {
    const day = compoundAt(reading, at + 2);
    return day && changed(day, day.next, ({ from, to }) => (from === to ? weekendOf(from) : undefined));
  }
  const next = at + 1;
  // Before Saturday, some mean the one that comes and some the one after it.
  if (tokens[start]!.word === "next") return { next, reason: WHICH_DAYS };
  const [begun, coming] = weekdayOf(today) >= 5 ? [weekendOf(today), weekendOf(today)] : [weekendOf(today - 7), weekendOf(today)]; // prettier-ignore
  if (step === undefined) return { next, span: ahead ? coming : begun };
  return { next, span: step < 0 ? weekendOf(today - 7) : coming };
}

/** `the week of 9 November`, `the week ending 15 November`. */
function weekAroundAt(reading: Reading, at: number): Period | undefined {
  const word = reading.tokens[at + 1]?.word ?? "";
  if (reading.tokens[at]!.word !== "week") return undefined;
  if (!["of", "starting", "beginning", "commencing", "ending"].includes(word)) return undefined;
  const day = compoundAt(reading, at + (reading.tokens[at + 2]?.word === "on" ? 3 : 2));
  if (!day) return undefined;
  return changed(day, day.next, ({ from, to }) => {
    if (from !== to) return undefined;
    if (word === "of") return weekSpan(from);
    return word === "ending" ? { from: from - 6, to: from } : { from, to: from + 6 };
  });
}

/** `the first two weeks of May`, `the last day of this month`, `the first Monday of May`, `the second half of May`. */
function partOfAt(reading: Reading, at: number): Period | undefined {
  const { tokens } = reading;
  const word = (offset: number): string => tokens[at + offset]?.word ?? "";
  const ordinal = word(0) === "last" ? -1 : ordinalOf(word(0));
  if (ordinal === undefined) return undefined;
  const count = countOf(word(1));
  const unit = unitOf(word(count === undefined ? 1 : 2));
  const of = at + (count === undefined ? 2 : 3);
  const isOpen = count === undefined && ordinal >= 0 && weekdayNamed(word(1)) >= 0 && !["of", "in"].includes(word(2));
  if (isOpen) return { next: at + 2, reason: "It is not said of which month." };
  if (tokens[of]?.word !== "of" && !(tokens[of]?.word === "in" && count === undefined)) return undefined;
  const weekday = count === undefined ? weekdayNamed(word(1)) : -1;
  const isHalf = count === undefined && word(1) === "half";
  const isWeekend = count === undefined && word(1) === "weekend";
  const days = unit === "day" ? 1 : unit === "week" && count !== undefined ? 7 : 0;
  if (days === 0 && weekday < 0 && !isHalf && !isWeekend) return undefined;
  const whole = wholeAt(reading, of + 1);
  if (!whole) return undefined;
  return changed(whole, whole.next, (span) => {
    if (isHalf) return halfOf(span, ordinal);
    if (isWeekend) return weekdayIn(span, 5, ordinal, 1);
    if (weekday >= 0) return weekdayIn(span, weekday, ordinal, 0);
    if (count !== undefined && ordinal > 0) return undefined;
    const length = days * (count ?? 1);
    const from = ordinal < 0 ? span.to - length + 1 : span.from + length * (count === undefined ? ordinal : 0);
    return length >= 1 && from >= span.from && from + length - 1 <= span.to
      ? { from, to: from + length - 1 }
      : undefined;
  });
}

/** A month's halves part after the 15th, a year's after June; people disagree about others. */
function halfOf({ from, to }: Span, ordinal: number): Span | undefined {
  const half = ordinal < 0 ? 1 : ordinal;
  if (half > 1) return undefined;
  if (to - from >= 364) return monthSpan(yearOf(from), half * 6 + 1, 6);
  if (to - from < 27 || to - from > 30) return undefined;
  return half === 0 ? { from, to: from + 14 } : { from: from + 15, to };
}

function weekdayIn({ from, to }: Span, weekday: number, ordinal: number, more: number): Span | undefined {
  const first = from + ((weekday - weekdayOf(from) + 7) % 7);
  const day = ordinal < 0 ? to - ((weekdayOf(to) - weekday + 7) % 7) : first + 7 * ordinal;
  return day <= to && day >= from ? { from: day, to: day + more } : undefined;
}

/** The words that may follow a day that has no month: anything else might be what it counts. */
const BEHIND_DAY = new Set([
  "to",
  "until",
  "till",
  "through",
  "thru",
  "and",
  "or",
  "for",
  "in",
  "with",
  "as",
  "please",
]);
const BEFORE_DAY = new Set(["the", "on", "since", "until", "till", "by", "before", "from", "to", "through"]);

/** `the 15th of last month`, `the first of May`, `on the 15th`. */
function dayOfMonthAt(reading: Reading, at: number): Period | undefined {
  const { tokens, today, ahead } = reading;
  const { word, kind } = tokens[at]!;
  const isWritten = /^\d{1,2}(st|nd|rd|th)$/.test(word);
  const ordinal = ordinalOf(word);
  const day = isWritten ? dayNumber(word) : ordinal === undefined ? undefined : ordinal + 1;
  if (day === undefined || kind === "number") return undefined;
  const following = tokens[at + 1];
  if (following?.word === "of" || following?.word === "in") {
    const month = monthNamed(tokens[at + 2]?.word) + 1;
    if (month > 0) return withYear(reading, at + 3, (year) => dayIn(monthSpan(year, month), day));
    const isMonth = [at + 2, at + 3].some((place) => unitOf(tokens[place]?.word) === "month");
    const whole = isMonth ? wholeAt(reading, at + 2) : undefined;
    if (whole) return changed(whole, whole.next, (span) => dayIn(span, day));
  }
  if (!isWritten || !BEFORE_DAY.has(tokens[at - 1]?.word ?? "")) return undefined;
  if (following && following.kind !== "sign" && !BEHIND_DAY.has(following.word)) return undefined;
  // Twelve months on either side have each day.
  for (let distance = 0; distance <= 12; distance++) {
    const [year, month] = [yearOf(today), monthOf(today) + (ahead ? distance : -distance)];
    const span = dayIn({ from: dayOf(year, month, 1), to: dayOf(year, month + 1, 0) }, day);
    if (span && (ahead ? span.from >= today : span.from <= today)) return { next: at + 1, span };
  }
  return undefined;
}

const dayIn = ({ from, to }: Span, day: number): Span | undefined =>
  from + day - 1 <= to ? { from: from + day - 1, to: from + day - 1 } : undefined;

/** `Friday, 4 December`: the day is what counts, and both must say the same. `Monday of last week`. */
function weekdayAndDayAt(reading: Reading, at: number): Period | undefined {
  const { tokens } = reading;
  const weekday = weekdayNamed(tokens[at]!.word);
  if (weekday < 0) return undefined;
  const following = tokens[at + 1]?.word ?? "";
  const inWeek = following === "of" ? at + 2 : at + 1;
  const step = STEPS.get(tokens[inWeek]?.word ?? "");
  if (step !== undefined && tokens[inWeek + 1]?.word === "week") {
    const { from } = unitSpan("week", reading.today, step);
    return { next: inWeek + 2, span: { from: from + weekday, to: from + weekday } };
  }
  const place = ["the", ","].includes(following) ? at + 2 : at + 1;
  const isDay = dayNumber(tokens[place]?.word) !== undefined || monthNamed(tokens[place]?.word) >= 0 || /^\d{4}-/.test(tokens[place]?.word ?? ""); // prettier-ignore
  const day = isDay ? (dayOfMonthAt(reading, place) ?? periodAt(reading, place)) : undefined;
  if (!day || (day.span && day.span.from !== day.span.to)) return undefined;
  return changed(day, day.next, (span) => {
    const isNear = Math.abs(yearOf(span.from) - yearOf(reading.today)) <= 1 || day.span !== undefined;
    return isNear && span.from === span.to && weekdayOf(span.from) === weekday ? span : undefined;
  });
}
