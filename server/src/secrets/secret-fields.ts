/** A secret that is a JSON object: the fields of a scheme (DSL, "Secret"). */
import { isObject, isScalar, parseJson, type Json, type JsonObject } from "../lib/json/json.ts";

export function objectIn(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Words of the language: a server's answer may have them for reasons of its own. */
const PLAIN = new Set(["grant", "authentication", "encoding"]);

/** The parts of a secret that must not be shown: all of it, each text in it, and what follows the host of a URL. */
export const partsOf = (secret: string): string[] => [
  secret,
  ...fieldsIn(secret),
  ...behindHost(secret).slice(0, MAX_PARTS),
];

/** Each is searched for in all that a call receives. */
const MAX_PARTS = 30;

/** A path or a value of a query is hidden from this length on, a single word of a path from the other: most are plain words. */
const LEAST_PART = 6;
const LEAST_WORD = 16;

/** A service names a path without its host, and a token without its path. */
function behindHost(text: string): string[] {
  const [, all = ""] = /^https?:\/\/[^/?#]*([^#]*)/i.exec(text) ?? [];
  const [path = "", query = ""] = all.split(/\?(.*)/s, 2);
  const words = path.split("/").filter(({ length }) => length >= LEAST_WORD);
  const values = [...new URLSearchParams(query).values()];
  return [...new Set([all, path, ...values].filter(({ length }) => length >= LEAST_PART).concat(words))];
}

/** The texts of a secret that is a JSON object. */
export function fieldsIn(secret: string): string[] {
  const fields = objectIn(secret);
  return fields ? textsIn(fields) : [];
}

/** The rest of a text if Latin-1 is read as UTF-8 or the other way round, as many a server does. */
export const remainsOf = (text: string): string[] => (/[^ -~]/.test(text) ? (text.match(/[ -~]{12,}/g) ?? []) : []);

function textsIn(value: Json): string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  if (isScalar(value)) return [];
  return Object.entries(value).flatMap(([key, child]) => (PLAIN.has(key) ? [] : textsIn(child)));
}
