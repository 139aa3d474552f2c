/**
 * Where the cursor is in a definition that is being written: the text is no YAML yet, so it is read by its indentation. Nothing is known
 * of places within `{…}`, `[…]`, quotes and blocks of text.
 */

/** The keys of a mapping in the text, with what stands behind each on its line. */
export type Mapping = ReadonlyMap<string, string>;

/** A step from the root to a place: a key of a mapping, with its line and column, or an item of a list. */
export type KeyStep = { key: string; mapping: Mapping; line: number; column: number };
export type PathStep = KeyStep | { key?: undefined; mapping?: undefined };

export type Place = {
  path: readonly PathStep[];
  /** The part of a word before the cursor. */
  written: string;
  /** The column of the mapping's keys. */
  column: number;
} & (
  | { is: "key"; mapping: Mapping; /** Nothing but dashes stands before it. */ isItem: boolean }
  | { is: "value"; key: string }
);

const AT_KEY = /^( *)((?:- +)*)([\w$.-]*)$/;
const AT_VALUE = /^( *)((?:- +)*)([\w$.-]+): +([^\s"'{[|>#&*!]*)$/;

/** A line in its parts: the columns of its dashes, and its key. */
type Line = { dashes: readonly number[]; key?: { name: string; column: number; value: string }; left: number };

/** `lines`: the whole text; `before`: the line of the cursor up to it. */
export function placeAt(lines: readonly string[], at: number, before: string): Place | undefined {
  const asKey = AT_KEY.exec(before);
  const found = asKey ?? AT_VALUE.exec(before);
  if (!found) return undefined;
  const [, indent, dashes] = found as unknown as [string, string, string];
  const column = indent.length + dashes.length;
  const above = pathTo(lines, at, column, columnsOf(dashes, indent.length));
  if (!above) return undefined;
  const mapping = mappingAt(lines, at, column);
  if (asKey) return { is: "key", path: above, mapping, written: asKey[3]!, column, isItem: dashes !== "" };
  const [, , , key, written] = found as unknown as [string, string, string, string, string];
  return { is: "value", path: [...above, { key, mapping, line: at, column }], key, written, column };
}

const columnsOf = (dashes: string, from: number): number[] =>
  [...dashes.matchAll(/-/g)].map(({ index }) => from + index);

function readLine(text: string): Line | undefined {
  const left = text.length - text.trimStart().length;
  const dashes: number[] = [];
  let at = left;
  while (text[at] === "-" && (text[at + 1] ?? " ") === " ") {
    dashes.push(at);
    at++;
    while (text[at] === " ") at++;
  }
  const rest = text.slice(at);
  if (rest.startsWith("#") || (dashes.length === 0 && rest === "")) return undefined;
  const key = readKey(rest);
  return { dashes, left, ...(key && { key: { ...key, column: at } }) };
}

/** A key in quotes, or without any of the characters that begin something else. */
function readKey(text: string): { name: string; value: string } | undefined {
  const isQuoted = /^["']/.test(text);
  const end = isQuoted ? text.indexOf(text[0]!, 1) + 1 : `${text} `.indexOf(": ");
  if (end <= 0 || text[end] !== ":" || (text[end + 1] ?? " ") !== " ") return undefined;
  const name = text.slice(0, end);
  if (!isQuoted && /[\s"'{}[\],#&*!|>%@`]/.test(name)) return undefined;
  return { name: unquoted(name), value: text.slice(end + 1).trim() };
}

const unquoted = (text: string): string => (/^["']/.test(text) ? text.slice(1, -1) : text);

/** The value of a key, where it is one word. */
export const scalarOf = (value: string | undefined): string | undefined =>
  value === undefined ? undefined : unquoted(value.split(" #", 1)[0]!.trim());

/** The way to what begins at a column of a line, whose own dashes stand at `dashes`. Undefined: that is text. */
function pathTo(
  lines: readonly string[],
  at: number,
  column: number,
  dashes: readonly number[],
): readonly PathStep[] | undefined {
  const path: PathStep[] = [];
  let left = column;
  let isItem = false;
  const takeDashes = (columns: readonly number[]): void => {
    for (const one of columns.toReversed()) {
      if (one >= left) continue;
      path.unshift({});
      left = one;
      isItem = true;
    }
  };
  takeDashes(dashes);
  for (let number = at - 1; number >= 0 && (left > 0 || isItem); number--) {
    const line = readLine(lines[number]!);
    if (!line) continue;
    // A list may begin below its key, at the key's own column.
    if (line.key && (line.key.column < left || (isItem && line.key.column === left && line.dashes.length === 0))) {
      if (line.key.value !== "" && !line.key.value.startsWith("#")) return undefined;
      const { name: key, column: at } = line.key;
      path.unshift({ key, mapping: mappingAt(lines, number, at), line: number, column: at });
      left = at;
      isItem = false;
    }
    if (line.left < left) takeDashes(line.dashes);
  }
  return path;
}

/** The keys of the mapping that has a key, or gets one, at a column of a line. */
function mappingAt(lines: readonly string[], at: number, column: number): Mapping {
  const mapping = new Map<string, string>();
  /** False: the mapping ends here. A line that is less indented has its first key, if that stands behind a dash. */
  const take = (number: number): boolean => {
    const line = readLine(lines[number]!);
    if (line?.key?.column === column) mapping.set(line.key.name, line.key.value);
    return !line || line.left >= column;
  };
  const isBelow = (number: number): boolean => (readLine(lines[number]!)?.left ?? column) >= column;
  for (let number = at; number >= 0 && take(number);) number--;
  for (let number = at + 1; number < lines.length && isBelow(number); number++) take(number);
  return mapping;
}

/** The names of the items beside one, each of which is a mapping of one key: `- name:`. */
export function namesBeside(lines: readonly string[], { line: at, column }: KeyStep): readonly string[] {
  const dash = readLine(lines[at]!)?.dashes.at(-1);
  const inList = (line: Line | undefined): boolean =>
    !line || line.left > dash! || (line.left === dash && line.dashes.length > 0);
  if (dash === undefined) return [];
  let [from, to] = [at, at];
  while (from > 0 && inList(readLine(lines[from - 1]!))) from--;
  while (to + 1 < lines.length && inList(readLine(lines[to + 1]!))) to++;
  const items = lines.slice(from, to + 1).map(readLine);
  return items.flatMap((line) =>
    line?.key && line.dashes.at(-1) === dash && line.key.column === column ? [line.key.name] : [],
  );
}

/** The keys of the mapping at a path of keys from the root. */
export function keysUnder(
  lines: readonly string[],
  [key, ...rest]: readonly string[],
  from = 0,
  column = 0,
): readonly string[] {
  const at = lines.findIndex((text, number) => {
    const line = number >= from ? readLine(text) : undefined;
    return line?.key?.name === key && line?.key?.column === column;
  });
  const first = at < 0 ? -1 : lines.findIndex((text, number) => number > at && readLine(text) !== undefined);
  const next = first < 0 ? undefined : readLine(lines[first]!);
  if (!next?.key || next.left <= column) return [];
  return rest.length > 0 ? keysUnder(lines, rest, first, next.left) : [...mappingAt(lines, first, next.left).keys()];
}
