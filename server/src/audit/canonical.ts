import { isScalar, type Json } from "../lib/json/json.ts";

/** The one text that a value has in the JSON canonicalization scheme (RFC 8785): no spaces, keys in order. Long numbers keep their digits. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (isScalar(value)) return JSON.stringify(value);
  const keys = Object.keys(value).toSorted();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`).join(",")}}`;
}
