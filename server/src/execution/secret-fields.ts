/** A secret that is a JSON object: the fields of a scheme (DSL, "Secret"). */
import { isObject, parseJson, type Json, type JsonObject } from "../lib/json.ts";

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

/** What must not be shown of a secret: all of it, and each text in it. */
export function partsOf(secret: string): string[] {
  const fields = objectIn(secret);
  return [secret, ...(fields ? textsIn(fields) : [])].flatMap(whateverBecomesOfIt);
}

/** Many a server reads Latin-1 as UTF-8 or the other way round, and repeats what it has read. */
const whateverBecomesOfIt = (text: string): string[] =>
  /[^ -~]/.test(text) ? [text, ...(text.match(/[ -~]{12,}/g) ?? [])] : [text];

function textsIn(value: Json): string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => (PLAIN.has(key) ? [] : textsIn(child)));
}
