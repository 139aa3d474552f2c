/**
 * The key by which an event finds what listens to it: what the listener asks of the event's type, of its source, and of one value in its
 * data. The same text is made from the listener, once, and from the event, for each place in which listeners have such a value.
 */
import { hash } from "node:crypto";
import { ExactNumber, exactKey, plainZero } from "../json/exact-number.ts";
import { isObject, isScalar, parseStored, type Json, type JsonObject } from "../json/json.ts";
import { Fields } from "./event-filter.ts";

/** A field as filters name it, or the names to go along. */
export type KeyPath = string | readonly string[];

export type ListenerKey = { type: string; source?: string | undefined; path?: KeyPath | undefined; value?: Json };

export const hashOfKey = ({ type, source, path, value }: ListenerKey): string =>
  hash(
    "sha256",
    JSON.stringify([type, source ?? null, path ?? null, path === undefined ? null : textOf(value ?? null)]),
  );

/** Equal for values that filters take for the same. */
function textOf(value: Json): string {
  const known = plainZero(value);
  return known instanceof ExactNumber ? `n${exactKey(known)}` : JSON.stringify(known);
}

/** A longer one does not fit the index of the table `listened`. */
const MAX_PATH_CHARACTERS = 255;

/** Whether listeners may be found by a value there. */
export const isKeyPath = (path: KeyPath): boolean => writtenPath(path).length <= MAX_PATH_CHARACTERS;

/** As a column has it; empty: none. */
export const writtenPath = (path: KeyPath | undefined): string => (path === undefined ? "" : JSON.stringify(path));
export const readPath = (text: string): KeyPath | undefined =>
  text === "" ? undefined : (parseStored(text) as KeyPath);

/** The keys of an event: with and without its source, for each path. */
export function keysOfEvent(
  { type, source }: { type: string; source: string },
  data: JsonObject,
  paths: readonly (KeyPath | undefined)[],
): string[] {
  const fields = new Fields(data);
  const keys = new Set<string>();
  const add = (path: KeyPath | undefined, value?: Json): void => {
    for (const from of [source, undefined])
      keys.add(hashOfKey({ type, source: from, path, ...(value !== undefined && { value }) }));
  };
  for (const path of paths) {
    if (path === undefined) add(undefined);
    else for (const value of valuesAt(fields, data, path)) add(path, value);
  }
  return [...keys];
}

/** A filter's field matches by any element of a list; a path leads to one value. */
function valuesAt(fields: Fields, data: JsonObject, path: KeyPath): readonly Json[] {
  if (typeof path === "string") {
    const value = fields.at(path);
    if (value === undefined) return [];
    return (Array.isArray(value) ? [...new Set(value)] : [value]).filter((one) => isScalar(one));
  }
  let value: Json | undefined = data;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value !== undefined && isScalar(value) ? [value] : [];
}
