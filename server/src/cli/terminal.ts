/** Where a command writes: data on stdout, everything else on stderr; colours only for people. */
import type { Environment } from "../config.ts";
import type { Json } from "../lib/json.ts";

export type Paint = (text: string) => string;

export type Terminal = {
  /** A line of data. */
  print(text: string): void;
  /** A value as one line of JSON. */
  printJson(value: unknown): void;
  /** A line that is no data. */
  say(text: string): void;
  bold: Paint;
  dim: Paint;
  green: Paint;
  red: Paint;
  yellow: Paint;
};

type Streams = { stdout: NodeJS.WriteStream; stderr: NodeJS.WriteStream; environment: Environment };

/** NO_COLOR (no-color.org) and a stdout that is no terminal switch colours off. */
export function createTerminal({ stdout, stderr, environment }: Streams): Terminal {
  const hasColours = stdout.isTTY && !environment["NO_COLOR"] && environment["TERM"] !== "dumb";
  const paint =
    (on: number, off: number): Paint =>
    (text) =>
      hasColours ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  const print = (text: string): void => void stdout.write(`${text}\n`);
  return {
    print,
    printJson: (value) => print(JSON.stringify(value)),
    say: (text) => void stderr.write(`${text}\n`),
    bold: paint(1, 22),
    dim: paint(2, 22),
    green: paint(32, 39),
    red: paint(31, 39),
    yellow: paint(33, 39),
  };
}

/** Columns as wide as their widest cell, two spaces between. */
export function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => plainText(row[column]!).length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

/** JSON over several lines. */
export const prettyJson = (value: Json): string => JSON.stringify(value, null, 2);

/** What others chose (a step's name, an answer) can't move the cursor: control characters are shown as `?`. */
export const plainText = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, "?");
