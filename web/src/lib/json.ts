/** JSON whose numbers keep their digits. */
import { ExactNumber, MARK, numberOf } from "./exact-number.ts";

export type Json = null | boolean | number | string | ExactNumber | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/** Matches a text that may have a number which a double can't hold; most have none. */
const SUSPECT = /\d(?:[\d.]{15}|e[-+]?\d{3})|(?:^|[\s[:,])-0/i;
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;

/** Nothing needs to be put back before the first one. */
let isMarking = false;

/** JSON text in which each such number is a text: for what is parsed elsewhere, and given to `restored` then. */
export function marked(json: string): string {
  if (!SUSPECT.test(json)) return json;
  return json.replace(TOKENS, (token) => {
    const isExact = !token.startsWith('"') && numberOf(token) instanceof ExactNumber;
    isMarking ||= isExact;
    return isExact ? `"${MARK}${token}"` : token;
  });
}

/** The value that `marked` text was parsed to, with its numbers. */
export const restored = <Value>(value: Value): Value => (isMarking ? put(value) : value);

function put<Value>(value: Value): Value {
  if (typeof value === "string")
    return (value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value) as Value;
  if (typeof value !== "object" || value === null) return value;
  for (const [key, part] of Object.entries(value)) {
    const whole: unknown = put(part);
    if (whole !== part) (value as Record<string, unknown>)[key] = whole;
  }
  return value;
}

/** The JSON of a text that `marked` or urql wrote. */
export const unmarked = (text: string): string => (text.includes(MARK) ? text.replaceAll(MARKED, "$1") : text);
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");

/** A reviver of `JSON.parse`: for small texts, as it is called for each value. */
export const withDigits = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === "number" && context?.source !== undefined ? numberOf(context.source) : value;

/** Throws SyntaxError. */
export function parseJson(json: string): Json {
  const text = marked(json);
  const value = JSON.parse(text) as Json;
  return text === json ? value : restored(value);
}

/** After a field's name: why its text is not JSON, and where if the browser tells. Undefined: it is JSON, or empty. */
export function problemInJson(text: string): string | undefined {
  try {
    if (text.trim() !== "") JSON.parse(text);
    return undefined;
  } catch (error) {
    return `is not JSON${placeAndReason((error as SyntaxError).message)}`;
  }
}

/** The same where only an object will do. */
export const problemInObject = (text: string): string | undefined =>
  problemInJson(text) ?? (objectIn(text) ? undefined : "must be a JSON object, such as {}");

/** The place and the reason in a parser's message, without the words that each browser puts around them. */
function placeAndReason(message: string): string {
  const place = /line (\d+) column (\d+)/.exec(message);
  const [reason = ""] = message
    .replace(/^JSON(?:\.parse| Parse error): /, "")
    .replace(/ is not valid JSON$/, "")
    .split(/(?: in JSON)? at (?:position|line) /);
  return `${place ? ` at line ${place[1]}, column ${place[2]}` : ""}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}

/** The object in a text area, empty if that is. Undefined: it is no JSON object. */
export function objectIn(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text.trim() || "{}");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
