import pg from "pg";

export const TIMESTAMPTZ_OID = 1184;
const parseAny = pg.types.getTypeParser(TIMESTAMPTZ_OID, "text") as (text: string) => Date;

/** `2026-11-22 21:55:59.123456+00`, as sessions in UTC have it; the fraction may be shorter, or missing. */
const LEAST_CHARACTERS = "2026-11-22 21:55:59+00".length;
const MAX_CHARACTERS = "2026-11-22 21:55:59.123456+00".length;

/** A timestamptz as text. node-postgres' own parser took 10 ms of the 30 that a thousand runs took. */
export function parseTime(text: string): Date {
  const { length } = text;
  const isUsual =
    length >= LEAST_CHARACTERS &&
    length <= MAX_CHARACTERS &&
    text[4] === "-" &&
    text[10] === " " &&
    text.endsWith("+00");
  if (!isUsual) return parseAny(text);
  const at = (index: number): number => text.charCodeAt(index) - 48;
  const two = (index: number): number => at(index) * 10 + at(index + 1);
  let ms = 0;
  for (let index = 20, worth = 100; index < length - 3 && worth >= 1; index++, worth /= 10) ms += at(index) * worth;
  return new Date(Date.UTC(two(0) * 100 + two(2), two(5) - 1, two(8), two(11), two(14), two(17), ms));
}
