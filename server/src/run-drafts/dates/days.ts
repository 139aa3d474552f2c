/** Calendar days as numbers (days since 1970), with what a person counts in: weeks from Monday, months, quarters. */

export type Span = { from: number; to: number };

const DAY_MS = 86_400_000;

/** `month` from 1; one beyond December is in the next year. */
export const dayOf = (year: number, month: number, day: number): number => Date.UTC(year, month - 1, day) / DAY_MS;
export const isoOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);
export const yearOf = (day: number): number => new Date(day * DAY_MS).getUTCFullYear();
export const monthOf = (day: number): number => new Date(day * DAY_MS).getUTCMonth() + 1;
/** 0 is Monday. */
export const weekdayOf = (day: number): number => (((day + 3) % 7) + 7) % 7;

export const monthSpan = (year: number, month: number, months = 1): Span => ({
  from: dayOf(year, month, 1),
  to: dayOf(year, month + months, 0),
});
export const weekSpan = (day: number): Span => ({ from: day - weekdayOf(day), to: day - weekdayOf(day) + 6 });

/** The same day so many months on, or the last of a shorter month. */
export function addMonths(day: number, months: number): number {
  const [year, month] = [yearOf(day), monthOf(day) + months];
  return Math.min(dayOf(year, month, new Date(day * DAY_MS).getUTCDate()), dayOf(year, month + 1, 0));
}

/** ISO 8601: week 1 has the year's first Thursday. */
export function isoWeek(year: number, week: number): Span | undefined {
  const span = weekSpan(dayOf(year, 1, 4) + 7 * (week - 1));
  return week >= 1 && yearOf(span.from + 3) === year ? span : undefined;
}

/** The day that it is in a zone: `offset` is local time minus UTC, in ms. */
export const dayAt = (now: number, offset: number): number => Math.floor((now + offset) / DAY_MS);
