export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Of a text area: empty is an empty object; undefined: it is none. */
export function objectIn(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text.trim() || "{}") as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
