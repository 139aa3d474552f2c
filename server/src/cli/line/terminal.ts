/** Where a command writes: data on stdout, everything else on stderr; colours only for people. */
import type { Environment } from "../../config.ts";
import type { Json } from "../../lib/json/json.ts";

export type Paint = (text: string) => string;

export type Terminal = {
  /** How wide a line of a table may be: at least 80, whatever the window. */
  readonly columns: number;
  /** A line of data. */
  print(text: string): void;
  /** A value as one line of JSON. */
  printJson(value: unknown): void;
  /** A line that is not data. */
  say(text: string): void;
  /** Shows lines below all that was printed, in place of those that it showed before. Undefined: no line can be taken back here. */
  readonly show: ((lines: readonly string[]) => void) | undefined;
  /** How many columns such a line may take. */
  readonly shownColumns: number;
  bold: Paint;
  dim: Paint;
  green: Paint;
  red: Paint;
  yellow: Paint;
};

export type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number; writableLength: number };

type Streams = { stdout: Output; stderr: Output; environment: Environment };

const NARROWEST = 80;

/** NO_COLOR (no-color.org) and a stdout that is not a terminal switch colours off. */
export function createTerminal({ stdout, stderr, environment }: Streams): Terminal {
  const isScreen = stdout.isTTY === true && environment["TERM"] !== "dumb";
  const hasColours = isScreen && !environment["NO_COLOR"];
  const paint =
    (on: number, off: number): Paint =>
    (text) =>
      hasColours ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  let shown: readonly string[] = [];
  /** The cursor is below what is shown; it goes up to where that begins. */
  const taken = (): string => (shown.length === 0 ? "" : `\u001b[${shown.length}A\u001b[J`);
  const drawn = (): string => shown.map((line) => `${line}\n`).join("");
  const print = (text: string): void => void stdout.write(`${taken()}${text}\n${drawn()}`);
  const say = (text: string): void => {
    if (shown.length > 0) stdout.write(taken());
    stderr.write(`${text}\n`);
    if (shown.length > 0) stdout.write(drawn());
  };
  const show = (lines: readonly string[]): void => {
    const before = taken();
    shown = lines;
    if (before + drawn() !== "") stdout.write(before + drawn());
  };
  return {
    columns: Math.max(NARROWEST, stdout.isTTY ? (stdout.columns ?? 0) : 0),
    print,
    printJson: (value) => print(plainJson(value)),
    say,
    show: isScreen ? show : undefined,
    // A line that fills the last column may take another line. The window may have changed.
    get shownColumns() {
      return (stdout.columns ?? NARROWEST) - 1;
    },
    bold: paint(1, 22),
    dim: paint(2, 22),
    green: paint(32, 39),
    red: paint(31, 39),
    yellow: paint(33, 39),
  };
}

/** Columns as wide as their widest cell, two spaces between. With `width` the last column is cut to what is left of it. */
export function tableOf(rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => plainText(row[column]!).length)));
  const left = width - widths.slice(0, -1).reduce((sum, one) => sum + one + 2, 0);
  return rows.map((row) =>
    row
      .map((cell, column) => (column < row.length - 1 ? cell.padEnd(widths[column]!) : cutText(cell, left)))
      .join("  ")
      .trimEnd(),
  );
}

export const cutText = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1)).replace(/[\ud800-\udbff]$/, "")}…`;

/** JSON in one line. */
export const plainJson = (value: unknown): string => withEscapes(JSON.stringify(value));

/** JSON over several lines. */
export const prettyJson = (value: Json): string => withEscapes(JSON.stringify(value, null, 2));

/**
 * Characters that begin a terminal's commands (U+009B does, like ESC and `[`), turn a line around, or are invisible. The two that join
 * letters and emoji stay, and so does a new line.
 */
const INVISIBLE = /[[\p{Cc}--\n]\u2028\u2029[\p{Cf}--[\u200c\u200d]]]/gv;

/** The same JSON without characters that move the cursor, or hide what is there. */
const withEscapes = (json: string): string =>
  json.replaceAll(INVISIBLE, (sign) =>
    Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );

/** Texts that others chose (a step's name, an answer) can't move the cursor, turn a line around or hide anything: such characters are shown as `?`. */
export const plainText = (text: string): string => text.replaceAll("\n", "?").replaceAll(INVISIBLE, "?");

/** Shows characters that nobody sees by their numbers, in a text that a model reads: also those that join others. */
export const showInvisible = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu,
    (sign) => `\\u{${sign.codePointAt(0)!.toString(16)}}`,
  );
