/** Dates, and dates with a time, as forms and JSON Schema write them (RFC 3339). */

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
/** The rest of a date with a time. */
const AND_TIME = /^T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** The day in UTC, as `2028-02-29`. `time`: ms. */
export const utcDate = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** `2028-02-29`; false for a day that does not exist. */
export function isCalendarDate(text: string): boolean {
  const match = DATE.exec(text);
  if (!match) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** `2028-02-29T08:30:00Z`, with seconds and an offset. */
export const isDateTime = (text: string): boolean => isCalendarDate(text.slice(0, 10)) && AND_TIME.test(text.slice(10));

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
