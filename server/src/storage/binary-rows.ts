/**
 * Rows as one value of PostgreSQL's binary format: an array (array_recv) of composites (record_recv). Of the array: number of
 * dimensions, whether there are nulls, element type, length, lower bound. Of each row: its length, how many columns, then of each column
 * its type, its length (-1: null) and its bytes. Node-postgres would write text, value by value.
 */
export type ColumnType = "uuid" | "text" | "int4" | "bool" | "json" | "ms" | "hex";

/** pg_type.oid. PostgreSQL takes a column of a domain as its own type, whatever is said of it. */
const OID: Record<ColumnType, number> = {
  uuid: 2950,
  text: 25,
  int4: 23,
  bool: 16,
  json: 114,
  ms: 1184, // timestamptz
  hex: 17, // bytea
};
/** `record`: PostgreSQL knows from the statement which type it is, as it has another number in each database. */
const ROW_OID = 2249;
/** Type, length and value of every type except texts and bytes. */
const FIXED_BYTES = 24;
/** Up to this length a loop over ASCII is faster than the call into the runtime. */
const SHORT_TEXT = 100;

/** 2000-01-01, in which PostgreSQL counts microseconds. */
const EPOCH_MS = 946_684_800_000;
const LOW = 2 ** 32;

const NIBBLES = new Uint8Array(128);
for (const [value, digit] of [..."0123456789abcdef"].entries()) NIBBLES[digit.charCodeAt(0)] = value;

// One buffer for all: writing is synchronous, and what is answered is a copy.
let buffer = Buffer.allocUnsafeSlow(64 * 1024);
let offset = 0;

export function binaryRows<Row extends Record<string, unknown>>(
  rows: readonly Row[],
  columns: readonly (readonly [name: keyof Row & string, type: ColumnType])[],
): Buffer {
  offset = 0;
  for (const word of [1, 0, ROW_OID, rows.length, 1]) offset = buffer.writeInt32BE(word, offset);
  for (const row of rows) {
    ensure(FIXED_BYTES);
    const start = offset;
    offset = buffer.writeInt32BE(columns.length, start + 4);
    for (const [name, type] of columns) {
      ensure(FIXED_BYTES);
      offset = buffer.writeInt32BE(OID[type], offset);
      const value = row[name];
      if (value === null || value === undefined) offset = buffer.writeInt32BE(-1, offset);
      else writeValue(value, type);
    }
    buffer.writeInt32BE(offset - start - 4, start);
  }
  return Buffer.from(buffer.subarray(0, offset));
}

/** Its length and its bytes. */
function writeValue(value: unknown, type: ColumnType): void {
  switch (type) {
    case "uuid":
      return writeUuid(value as string);
    case "int4":
      offset = buffer.writeInt32BE(4, offset);
      offset = buffer.writeInt32BE(value as number, offset);
      return;
    case "ms":
      return writeTime(value as number);
    case "bool":
      offset = buffer.writeInt32BE(1, offset);
      buffer[offset++] = value ? 1 : 0;
      return;
    case "text":
    case "json":
      return writeText(value as string);
    case "hex":
      return writeHex(value as string);
  }
}

function writeUuid(text: string): void {
  offset = buffer.writeInt32BE(16, offset);
  for (let at = 0; at < 36; at += 2) {
    if (text[at] === "-") at++;
    buffer[offset++] = (NIBBLES[text.charCodeAt(at)]! << 4) | NIBBLES[text.charCodeAt(at + 1)]!;
  }
}

/** 64 bits as two halves: a BigInt for each would be garbage. */
function writeTime(ms: number): void {
  const microseconds = Math.round((ms - EPOCH_MS) * 1000);
  const high = Math.floor(microseconds / LOW);
  offset = buffer.writeInt32BE(8, offset);
  offset = buffer.writeInt32BE(high, offset);
  offset = buffer.writeUInt32BE(microseconds - high * LOW, offset);
}

function writeText(text: string): void {
  ensure(4 + text.length * 3);
  const start = offset + 4;
  const bytes = asciiBytes(text, start) ?? buffer.write(text, start, "utf8");
  buffer.writeInt32BE(bytes, offset);
  offset = start + bytes;
}

function writeHex(text: string): void {
  const bytes = text.length / 2;
  ensure(4 + bytes);
  offset = buffer.writeInt32BE(bytes, offset);
  offset += buffer.write(text, offset, "hex");
}

function asciiBytes(text: string, start: number): number | undefined {
  if (text.length > SHORT_TEXT) return undefined;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 127) return undefined;
    buffer[start + index] = code;
  }
  return text.length;
}

function ensure(more: number): void {
  if (offset + more <= buffer.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(buffer.length * 2, offset + more));
  buffer.copy(larger, 0, 0, offset);
  buffer = larger;
}
