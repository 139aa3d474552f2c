/** The periods of a sentence, each with where it begins and ends and the words that open it: `since`, `until`, `from … to`. */
import { compoundAt } from "./compound-periods.ts";
import { monthOf, monthSpan, yearOf, type Span } from "./days.ts";
import { dayNumber, isYear, withYear, type Period, type Reading } from "./periods.ts";
import type { Token } from "../words/tokens.ts";
import { monthNamed } from "../words/words.ts";

export type Mention = {
  /** Tokens, the second excluded. */
  start: number;
  end: number;
  kind: "whole" | "since" | "after" | "until" | "before";
  span?: Span | undefined;
  reason?: string | undefined;
  /** One day that stands for its surroundings: `the end of June`. */
  edge?: Period["edge"];
};

/** The longest first. */
const OPENINGS: [words: string[], kind: Mention["kind"] | "between"][] = [
  [["no", "later", "than"], "until"],
  [["up", "to"], "until"],
  [["up", "until"], "until"],
  [["prior", "to"], "before"],
  [["starting", "from"], "since"],
  [["starting", "on"], "since"],
  [["beginning", "on"], "since"],
  [["as", "of"], "since"],
  [["since"], "since"],
  [["from"], "since"],
  [["starting"], "since"],
  [["beginning"], "since"],
  [["after"], "after"],
  [["before"], "before"],
  [["until"], "until"],
  [["till"], "until"],
  [["through"], "until"],
  [["thru"], "until"],
  [["by"], "until"],
  [["to"], "until"],
  [["between"], "between"],
];
const JOINS = new Set(["to", "until", "till", "through", "thru", "-", "–", "—"]);

/** `isFree`: whether nothing else was made of the token. */
export function mentionsOf(reading: Reading, isFree: (at: number) => boolean): Mention[] {
  const { tokens } = reading;
  const mentions: Mention[] = [];
  for (let at = 0; at < tokens.length; at++) {
    if (!isFree(at)) continue;
    const mention = mentionAt(reading, at);
    if (!mention) continue;
    mentions.push(mention);
    at = mention.end - 1;
  }
  return mentions;
}

function openingAt(tokens: readonly Token[], at: number): { kind: Mention["kind"] | "between"; next: number } {
  for (const [words, kind] of OPENINGS)
    if (words.every((word, index) => tokens[at + index]?.word === word)) {
      // `the beginning of June` opens nothing.
      if (tokens[at + words.length]?.word !== "of") return { kind, next: at + words.length };
    }
  return { kind: "whole", next: at };
}

/** Behind `to`, `up to` and what else joins two periods. */
function joinAt(tokens: readonly Token[], at: number, isBetween: boolean): number | undefined {
  const word = tokens[at]?.word ?? "";
  if (isBetween && (word === "and" || word === "&")) return at + 1;
  if (word === "up" && ["to", "until"].includes(tokens[at + 1]?.word ?? "")) return at + 2;
  return JOINS.has(word) ? at + 1 : undefined;
}

function mentionAt(reading: Reading, start: number): Mention | undefined {
  const { tokens } = reading;
  const opening = openingAt(tokens, start);
  const isBetween = opening.kind === "between";
  const range = shortRange(reading, opening.next, isBetween);
  if (range) return { start, end: range.next, kind: "whole", span: placed(reading, range), reason: range.reason };
  const first = yearBefore(reading, opening.next) ?? compoundAt(reading, opening.next);
  if (!first) return undefined;
  const kind = opening.kind === "between" ? "whole" : opening.kind;
  const join = kind === "until" || kind === "before" ? undefined : joinAt(tokens, first.next, isBetween);
  if (join !== undefined) {
    const second = nowAt(reading, join) ?? compoundAt(reading, join);
    if (second) return { start, end: second.next, kind: "whole", ...joined(reading, first, second, kind === "after") };
  }
  const row = kind === "whole" && !isBetween ? rowFrom(reading, first) : undefined;
  if (row) return { start, end: row.next, kind, span: row.span };
  if (isBetween) return { start, end: first.next, kind, reason: "It is not said until when." };
  return { start, end: first.next, kind, ...placedOrNot(reading, first), edge: first.edge };
}

const LONGEST_ROW = 12;

/** `October and November`, `January, February and March`: of one kind, and one after the other without a gap. */
function rowFrom(reading: Reading, first: Period): { next: number; span: Span } | undefined {
  const { tokens } = reading;
  const periods = [first];
  while (periods.length < LONGEST_ROW) {
    const end = periods.at(-1)!.next;
    let at = end;
    if (tokens[at]?.word === ",") at++;
    if (["and", "&"].includes(tokens[at]?.word ?? "")) at++;
    const period = at === end ? undefined : compoundAt(reading, at);
    if (!period) break;
    periods.push(period);
  }
  let last: Span | undefined;
  let whole: Span | undefined;
  for (let index = periods.length - 2; index >= 0; index--) {
    const second = last ? { next: 0, span: last } : periods[index + 1]!;
    const [from, to] = ends(reading, periods[index]!, second);
    if (!from || !to || from.to + 1 !== to.from || (from.from === from.to) !== (to.from === to.to)) return undefined;
    whole = { from: from.from, to: whole?.to ?? to.to };
    last = from;
  }
  return whole && { next: periods.at(-1)!.next, span: whole };
}

/** `2023 to 2025`: before another one, four digits are a year. */
function yearBefore({ tokens }: Reading, at: number): Period | undefined {
  const join = isYear(tokens[at]?.word) ? (joinAt(tokens, at + 1, true) ?? 0) : 0;
  return join > 0 && isYear(tokens[join]?.word)
    ? { next: at + 1, span: monthSpan(Number(tokens[at]!.word), 1, 12) }
    : undefined;
}

const nowAt = ({ tokens, today }: Reading, at: number): Period | undefined =>
  ["now", "date"].includes(tokens[at]?.word ?? "") ? { next: at + 1, span: { from: today, to: today } } : undefined;

/** `3 - 9 May 2026`, `May 3 to 9`: the month is named once. */
function shortRange(reading: Reading, start: number, isBetween: boolean): Period | undefined {
  const { tokens } = reading;
  const skipThe = (at: number): number => (tokens[at]?.word === "the" ? at + 1 : at);
  const at = skipThe(start);
  const isMonthFirst = monthNamed(tokens[at]?.word) >= 0;
  const first = dayNumber(tokens[isMonthFirst ? at + 1 : at]?.word);
  const join = first === undefined ? undefined : joinAt(tokens, at + (isMonthFirst ? 2 : 1), isBetween);
  if (first === undefined || join === undefined) return undefined;
  const place = skipThe(join);
  const second = dayNumber(tokens[place]?.word);
  if (second === undefined) return undefined;
  const days = (year: number, month: number): Span | undefined => {
    const { from, to } = monthSpan(year, month);
    return first <= second && from + second - 1 <= to ? { from: from + first - 1, to: from + second - 1 } : undefined;
  };
  if (isMonthFirst) {
    const month = monthNamed(tokens[at]!.word) + 1;
    // `May 3 to 5 people`, `May 3 to 5 June`
    const following = tokens[place + 1];
    const isOpen = following && following.kind !== "sign" && !isYear(following.word) && !AFTER_DAY.has(following.word);
    return isOpen ? undefined : withYear(reading, place + 1, (year) => days(year, month));
  }
  const last = compoundAt(reading, place);
  const isDay = (span: Span | undefined): boolean => span === undefined || span.from === span.to;
  if (!last || last.reason !== undefined || !isDay(last.span ?? last.spanIn?.(yearOf(reading.today)))) return undefined;
  const reaching = (span: Span | undefined): Span | undefined => span && days(yearOf(span.to), monthOf(span.to));
  return last.spanIn
    ? { next: last.next, spanIn: (year) => reaching(last.spanIn!(year)) }
    : { next: last.next, span: reaching(last.span) };
}

const AFTER_DAY = new Set(["of", "in", "for", "with", "without", "as", "and", "please", "this", "last", "next"]);

/** A period without a year: the next one where it looks ahead, else the last that has begun. */
function placed({ today, ahead }: Reading, period: Period): Span | undefined {
  if (!period.spanIn) return period.span;
  const year = yearOf(today);
  // Eight years on either side: also a 29 February has one there.
  for (let distance = 0; distance <= 8; distance++) {
    const span = period.spanIn(ahead ? year + distance : year - distance);
    if (span && (ahead ? span.to >= today : span.from <= today)) return span;
  }
  return undefined;
}

const NEAR_DAYS = 92;

function placedOrNot(reading: Reading, period: Period): { span?: Span | undefined; reason?: string | undefined } {
  if (period.reason !== undefined || !period.spanIn || !reading.isEither)
    return { span: placed(reading, period), reason: period.reason };
  const year = yearOf(reading.today);
  const distance = ({ from }: Span): number => Math.abs(from - reading.today);
  const spans = [year - 1, year, year + 1].flatMap((each) => period.spanIn!(each) ?? []);
  const [span] = spans.toSorted((one, other) => distance(one) - distance(other));
  return span && distance(span) <= NEAR_DAYS ? { span } : { reason: "It is not said of which year." };
}

/** Where one lacks the year it is next to the other's; where both do, it has been or nearly. */
function ends(reading: Reading, first: Period, second: Period): [from?: Span | undefined, to?: Span | undefined] {
  const { today, ahead } = reading;
  let [from, to] = [first.span, second.span];
  const latest = monthSpan(yearOf(today), monthOf(today)).to;
  if (!to && second.spanIn) {
    if (from) to = nearest(second.spanIn, yearOf(from.from), 1, (span) => span.from >= from!.from);
    else if (ahead) to = placed(reading, second);
    else to = nearest(second.spanIn, yearOf(today), -1, (span) => span.to <= latest);
  }
  if (!from && first.spanIn && to) from = nearest(first.spanIn, yearOf(to.to), -1, (span) => span.from <= to.to);
  return [from, to];
}

/** From the first to the second. */
function joined(
  reading: Reading,
  first: Period,
  second: Period,
  isAfter: boolean,
): { span?: Span | undefined; reason?: string | undefined } {
  const reason = first.reason ?? second.reason;
  if (reason !== undefined) return { reason };
  const [from, to] = ends(reading, first, second);
  if (!from || !to) return { reason: "There is no such day." };
  const begin = isAfter ? from.to + 1 : from.from;
  return begin > to.to ? { reason: "It ends before it begins." } : { span: { from: begin, to: to.to } };
}

function nearest(
  spanIn: (year: number) => Span | undefined,
  year: number,
  step: 1 | -1,
  fits: (span: Span) => boolean,
): Span | undefined {
  for (let distance = 0; distance <= 8; distance++) {
    const span = spanIn(year + step * distance);
    if (span && fits(span)) return span;
  }
  return undefined;
}
