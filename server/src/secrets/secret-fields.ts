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

/** The parts of a secret that must not be shown: all of it, and each text in it. */
export const partsOf = (secret: string): string[] => [secret, ...fieldsIn(secret)];

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
