/** Shared by the commands that list: how many, a table that fits, and a line if there are more. */
import { Option, type Command } from "commander";
import { OperatorError } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { CommandLine } from "./command-line.ts";
import { tableOf } from "./terminal.ts";

export type Page<Item> = { nodes: Item[]; pageInfo: { hasNextPage: boolean } };
export const MORE = "pageInfo { hasNextPage }";

/** The last cell of a row is cut to what is left of the line, so it is the least needed. */
export type Table<Item> = {
  head: string[];
  row: (item: Item) => string[];
  /** The sentence for an empty list. */
  none: string;
  /** The form of an item with --json: by default all of it. */
  json?: (item: Item) => unknown;
};

const DEFAULT_FIRST = 50;

export const addFirst = (command: Command): Command =>
  command.addOption(
    new Option("--first <count>", `how many at most, up to ${LIMITS.pageSize}`)
      .argParser(countOf)
      .default(DEFAULT_FIRST),
  );

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= LIMITS.pageSize) return count;
  throw new OperatorError(`--first must be a whole number from 1 to ${LIMITS.pageSize}`);
}

/** With `json` the items as one line of JSON. */
export function printItems<Item>(
  { terminal }: CommandLine,
  items: readonly Item[],
  { head, row, none, json: jsonOf }: Table<Item>,
  json: true | undefined,
): void {
  if (json) return terminal.printJson(jsonOf ? items.map(jsonOf) : items);
  if (items.length === 0) return terminal.say(none);
  for (const text of tableOf([head, ...items.map(row)], terminal.columns)) terminal.print(text);
}

export function printPage<Item>(
  line: CommandLine,
  { nodes, pageInfo }: Page<Item>,
  table: Table<Item>,
  options: { json?: true; first: number },
): void {
  printItems(line, nodes, table, options.json);
  if (!pageInfo.hasNextPage) return;
  const more = options.first < LIMITS.pageSize ? `: --first shows up to ${LIMITS.pageSize}` : "";
  line.terminal.say(`only the newest ${options.first} are shown${more}`);
}

/** `2026-11-22 20:27`, in UTC. */
export const minuteOf = (time: string | null): string => time?.slice(0, 16).replace("T", " ") ?? "never";
