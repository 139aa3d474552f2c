/** The table that the bench prints: what was measured, against what, and whether the aim is met. */

export type Figure = {
  figure: string;
  unit: string;
  ours: number;
  floor?: number;
  /** On `ratio` where there is a floor, else on `ours`. */
  aim?: { most: number } | { least: number };
};

export type Row = Record<(typeof COLUMNS)[number], string>;
const COLUMNS = ["figure", "ours", "floor", "ratio", "aim", "met"] as const;

const ratioOf = ({ ours, floor }: Figure): number | undefined => (floor === undefined ? undefined : ours / floor);

/** Undefined without an aim. */
function isMet(figure: Figure): boolean | undefined {
  const value = ratioOf(figure) ?? figure.ours;
  if (!figure.aim) return undefined;
  return "most" in figure.aim ? value <= figure.aim.most : value >= figure.aim.least;
}

function rowOf(figure: Figure): Row {
  const { unit, aim, ours, floor } = figure;
  const ratio = ratioOf(figure);
  const met = isMet(figure);
  const bound = aim && ("most" in aim ? `≤ ${aim.most}` : `≥ ${aim.least}`);
  return {
    figure: figure.figure,
    ours: `${short(ours)} ${unit}`,
    floor: floor === undefined ? "" : `${short(floor)} ${unit}`,
    ratio: ratio === undefined ? "" : ratio.toFixed(2),
    aim: bound === undefined ? "" : ratio === undefined ? `${bound} ${unit}` : bound,
    met: met === undefined ? "" : met ? "yes" : "no",
  };
}

/** Three digits that mean something. */
export function short(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

/** As Markdown, aligned so that it also reads on a terminal. */
export function tableOf(figures: readonly Figure[]): string {
  return markdown(COLUMNS, figures.map(rowOf));
}

export function markdown<Column extends string>(
  columns: readonly Column[],
  rows: readonly Record<Column, string>[],
): string {
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column].length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, index) => cell.padEnd(widths[index]!)).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [line(columns), rule, ...rows.map((row) => line(columns.map((column) => row[column])))].join("\n");
}
