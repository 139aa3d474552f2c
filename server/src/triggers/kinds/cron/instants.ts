import { matchesDay, type Schedule } from "./schedule.ts";
import { stretches, type Zone } from "../../../lib/zone.ts";

/**
 * When a schedule comes. Where clocks change, a time of day comes once a day: in a gap at the first instant after it, in an
 * overlap at its first occurrence. Anything with `*`, `-` or `/` in minute or hour comes at each real minute whose local
 * time matches, in both passes of an overlap, and once at the first instant after a gap that swallowed a match.
 * Instants are milliseconds since 1970 in UTC, local times the same on the zone's clocks.
 */

/** An instant at which a schedule comes; `isShifted` where a gap of the local time moved it there. */
type Coming = { at: number; isShifted: boolean };

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
/** No zone was ever further from UTC, and none ever turned its clocks further. */
const FURTHEST = 26 * HOUR;
/** How long a schedule may stay away: from one 29 February on a given weekday to the next, over a century without one. */
const LONGEST_WAIT_DAYS = 41 * 366;
/** The last instant that a DateTime can say. */
const LAST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** A stretch with one offset, from `start` (inclusive) to `end` (exclusive), after one with the offset `before`. */
type Pass = { start: number; end: number; offset: number; before: number };

/** The first time that the schedule comes after an instant, which does not count itself; undefined: none before the year 10000. */
export function nextComing(schedule: Schedule, zone: Zone, after: number): Coming | undefined {
  // From the day before: where clocks are turned back over midnight, its times come again.
  const first = startOfDay(after + zone.offsetAt(after)) - DAY;
  for (let day = first; day < first + LONGEST_WAIT_DAYS * DAY; day += DAY) {
    if (!matchesDay(schedule, day)) continue;
    for (const pass of passes(zone, Math.max(after, day - FURTHEST), day + DAY + FURTHEST)) {
      const coming = firstIn(schedule, pass, after);
      if (coming) return coming.at <= LAST ? coming : undefined;
    }
  }
  return undefined;
}

/** How often the schedule came after one instant and up to another, which counts itself, and when it did last. */
export function comingsBetween(
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

/** The stretches that reach into a time, each with the offset before it as far as that matters here. */
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

function firstIn(schedule: Schedule, pass: Pass, after: number): Coming | undefined {
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

/** Whether the clocks skipped a match, and the time that they skipped to is no match itself. */
function endsGap(schedule: Schedule, { start, offset, before }: Pass): boolean {
  if (before >= offset || firstLocal(schedule, start + offset, start + offset + 1) !== undefined) return false;
  return firstLocal(schedule, start + before, start + offset) !== undefined;
}

/** The first local time of a pass that can match: a time of day does not come again where clocks were turned back. */
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
