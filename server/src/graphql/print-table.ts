const row = (...cells: string[]): string => `| ${cells.join(" | ")} |`;

/** A table in Markdown. */
export const table = (head: string[], rows: string[][]): string =>
  [row(...head), `|${head.map(() => "---").join("|")}|`, ...rows.map((cells) => row(...cells))].join("\n");
