/** The headers that repeat arguments of a tool, for proxies to read (`x-mcp-header` in its schema, revision 2026-07-28). */
import { isObject, isScalar, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { headerValue } from "./message.ts";

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;

/** A value is read where its property stands in the schema; what may not be repeated is left out, and the server says so. */
export function parameterHeaders(schema: Json | undefined, values: Json | undefined): Record<string, string> {
  const headers: [string, string][] = [];
  const waiting: [schema: Json | undefined, value: Json | undefined][] = [[schema, values]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [{ properties, "x-mcp-header": name }, value] = [isObject(next[0]) ? next[0] : {}, next[1]];
    if (typeof name === "string" && TOKEN.test(name) && value !== undefined && value !== null && isScalar(value))
      headers.push([`mcp-param-${name.toLowerCase()}`, headerValue(value)]);
    if (isObject(properties) && isObject(value)) waiting.push(...pairs(properties, value));
  }
  return Object.fromEntries(headers);
}

/** Only of properties with a value: a schema may have thousands. */
const pairs = (properties: JsonObject, values: JsonObject): [Json | undefined, Json | undefined][] =>
  Object.entries(values).flatMap(([key, value]) => (Object.hasOwn(properties, key) ? [[properties[key], value]] : []));
