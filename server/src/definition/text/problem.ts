/** A problem of a definition, and its place. */
import type { Json } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";

export type Path = readonly (string | number)[];

/** A definition with an error cannot be published; with a warning it can. */
export type Severity = "error" | "warning";

/** `path` is a JSON pointer (`/do/0/fetch/with/endpoint`, empty for the whole), `line` and `column` count from 1. */
export type Problem = { path: string; line: number; column: number; message: string; severity: Severity };

/** A problem before its line is known. `key`: it is about the key itself, not its value. It is an error if it is not said. */
export type Finding = { path: Path; at: "key" | "value"; message: string; severity?: Severity };

export const pointer = (path: Path): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

export function byPlace(one: Problem, other: Problem): number {
  return one.line - other.line || one.column - other.column || (one.path < other.path ? -1 : 1);
}

/** The value at a path, or undefined. */
export function valueAt(root: Json, path: Path): Json | undefined {
  let value: Json | undefined = root;
  for (const part of path) {
    if (Array.isArray(value)) value = value[part as number];
    else if (isObject(value) && Object.hasOwn(value, part)) value = value[part];
    else return undefined;
  }
  return value;
}

/** The author's text for use in a sentence: quoted, on one line, at most 60 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}

/** `a, b or c`. */
export const enumerate = (words: readonly string[], last: "and" | "or"): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
