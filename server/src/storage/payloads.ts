/** JSON of any size in a row: a small value comes with it, of a large one only its size. */
import { JsonText, type Payload } from "../lib/json/json-text.ts";
import type { Row } from "./database.ts";

/** A payload of at most this many bytes comes with its row; a larger one is read on demand. */
const SMALL_BYTES = 1_000;

/** Its size, which PostgreSQL knows without reading a large value, and the value itself if small. */
export const payloadColumn = (column: string, expression = column): string =>
  `octet_length((${expression})::text) as ${column}_bytes,
   case when octet_length((${expression})::text) <= ${SMALL_BYTES} then (${expression})::text end as ${column}_text`;

export function payloadFromRow(row: Row, column: string): Payload | null {
  const text = row[`${column}_text`] as string | null;
  if (text !== null) return JsonText.ofText(text);
  const bytes = row[`${column}_bytes`] as number | null;
  return bytes === null ? null : { bytes };
}
