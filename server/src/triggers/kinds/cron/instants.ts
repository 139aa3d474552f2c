import { matchesDay, type Schedule } from "./schedule.ts";
import { stretches, type Zone } from "../../../lib/zone.ts";

/**
 * The instants of a schedule. Where clocks change, a time of day has one instant a day: the first after a gap that skips it, the first
 * of the two in an overlap. A schedule with `*`, `-` or `/` in minute or hour has an instant at each real minute whose local time
 * matches, so in both passes of an overlap, and one at the end of a gap that skipped a match. Instants are milliseconds since 1970 in
 * UTC; local times are the same count on the zone's clocks.
 */

/** An instant of a schedule. `isShifted`: a gap in the local time moved it. */
type Instant = { at: number; isShifted: boolean };

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
/** No zone was ever further from UTC, or turned its clocks by more. */
const FURTHEST = 26 * HOUR;
/** The longest time between two instants: from one 29 February on a given weekday to the next, across a century year that is no leap year. */
const LONGEST_WAIT_DAYS = 41 * 366;
/** The last instant that a DateTime can express. */
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** A stretch with one offset, from `start` (inclusive) to `end` (exclusive), after one with the offset `before`. */
type Pass = { start: number; end: number; offset: number; before: number };

/** The first instant of the schedule after `after`. Undefined: there is none before the year 10000. */
export function nextInstant(schedule: Schedule, zone: Zone, after: number): Instant | undefined {
  // From the day before: its times occur again where clocks are turned back over midnight.
  const first = startOfDay(after + zone.offsetAt(after)) - DAY;
  for (let day = first; day < first + LONGEST_WAIT_DAYS * DAY; day += DAY) {
    if (!matchesDay(schedule, day)) continue;
    for (const pass of passes(zone, Math.max(after, day - FURTHEST), day + DAY + FURTHEST)) {
      const instant = firstIn(schedule, pass, after);
      if (instant) return instant.at <= LAST ? instant : undefined;
    }
  }
  return undefined;
}

/** How many instants the schedule has after `after` up to and including `until`, and the last of them. */
export function instantsBetween(
  schedule: Schedule,
  zone: Zone,
  after: number,
  until: number,
): { count: number; latest: number | undefined } {
  let count = 0;
  let latest: number | undefined;
  for (const pass of passes(zone, after, until + 1)) {
    const found = countIn(schedule, pass, after);
    count += found.count;
    latest = found.latest ?? latest;
  }
  return { count, latest };
}

const startOfDay = (local: number): number => Math.floor(local / DAY) * DAY;

/** The stretches that overlap a span of time. If no earlier one was read, `before` is the stretch's own offset. */
function passes(zone: Zone, from: number, to: number): Pass[] {
  let before: number | undefined;
  return stretches(zone, from - FURTHEST, to)
    .map(({ start, end, offset }) => {
      const pass = { start, end, offset, before: before ?? offset };
      before = offset;
      return pass;
    })
    .filter(({ end }) => end > from);
}

function firstIn(schedule: Schedule, pass: Pass, after: number): Instant | undefined {
  if (after < pass.start && endsGap(schedule, pass)) return { at: pass.start, isShifted: true };
  const local = firstLocal(schedule, firstOwn(schedule, pass, after), pass.end + pass.offset);
  return local === undefined ? undefined : { at: local - pass.offset, isShifted: false };
}

function countIn(schedule: Schedule, pass: Pass, after: number): { count: number; latest: number | undefined } {
  const shifted = after < pass.start && endsGap(schedule, pass);
  const own = countLocal(schedule, firstOwn(schedule, pass, after), pass.end + pass.offset);
  return {
    count: own.count + (shifted ? 1 : 0),
    latest: own.latest === undefined ? (shifted ? pass.start : undefined) : own.latest - pass.offset,
  };
}

/** Whether the clocks skipped a match at this pass's start, and its first local time is no match itself. */
function endsGap(schedule: Schedule, { start, offset, before }: Pass): boolean {
  if (before >= offset || firstLocal(schedule, start + offset, start + offset + 1) !== undefined) return false;
  return firstLocal(schedule, start + before, start + offset) !== undefined;
}

/** The first local time of a pass that can match: a time of day does not occur again where clocks were turned back. */
const firstOwn = ({ isTimeOfDay }: Schedule, { start, offset, before }: Pass, after: number): number =>
  Math.max(start + (isTimeOfDay ? Math.max(offset, before) : offset), after + 1 + offset);

/** The first local minute from `from` (inclusive) to `to` (exclusive) that matches. */
function firstLocal(schedule: Schedule, from: number, to: number): number | undefined {
  const least = Math.ceil(from / MINUTE) * MINUTE;
  for (let day = startOfDay(least); day < to; day += DAY) {
    if (!matchesDay(schedule, day)) continue;
    const minute = firstMinute(schedule, (least - day) / MINUTE);
    if (minute === undefined) continue;
    const local = day + minute * MINUTE;
    return local < to ? local : undefined;
  }
  return undefined;
}

/** The first minute of the day, from 0, that matches and is not before `least`. */
function firstMinute({ hours, minutes }: Schedule, least: number): number | undefined {
  for (const hour of hours) {
    if (hour * 60 + 59 < least) continue;
    const minute = minutes.find((each) => hour * 60 + each >= least);
    if (minute !== undefined) return hour * 60 + minute;
  }
  return undefined;
}

/** How many local minutes from `from` (inclusive) to `to` (exclusive) match, and the last of them. */
function countLocal(schedule: Schedule, from: number, to: number): { count: number; latest: number | undefined } {
  let count = 0;
  let latest: number | undefined;
  for (let day = startOfDay(from); day < to; day += DAY) {
    if (!matchesDay(schedule, day)) continue;
    const found = countMinutes(schedule, (from - day) / MINUTE, (to - day) / MINUTE);
    count += found.count;
    if (found.last !== undefined) latest = day + found.last * MINUTE;
  }
  return { count, latest };
}

/** How many minutes of a day from `from` (inclusive) to `to` (exclusive) match, and the last of them. */
function countMinutes(
  { hours, minutes }: Schedule,
  from: number,
  to: number,
): { count: number; last: number | undefined } {
  let count = 0;
  let last: number | undefined;
  for (const hour of hours) {
    const isWhole = hour * 60 >= from && hour * 60 + 60 <= to;
    const within = isWhole ? minutes : minutes.filter((each) => hour * 60 + each >= from && hour * 60 + each < to);
    count += within.length;
    const latest = within.at(-1);
    if (latest !== undefined) last = hour * 60 + latest;
  }
  return { count, last };
}
