/**
 * The only JSON entrance: parses every body, header value and stored text that comes from outside.
 * Refuses `__proto__` and `constructor.prototype` keys, nesting beyond `LIMITS.jsonNesting`, texts slow to read, and
 * numbers that JSON can't give back (`1e999` is read as Infinity and would be written as null).
 */
import { badInput } from "../errors.ts";
import { jsonSteps } from "./json-steps.ts";
import { LIMITS } from "../limits.ts";

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Throws BAD_USER_INPUT, naming what is wrong. `what` names the text in the message, e.g. "the request body". Numbers beyond
 * a double are refused, or with `any` read as Infinity.
 */
export function parseJson(text: string, what = "the JSON text", numbers: "finite" | "any" = "finite"): Json {
  if (nestingOf(text) > LIMITS.jsonNesting) {
    throw badInput("invalid_input", `${what} is nested deeper than ${LIMITS.jsonNesting} levels`);
  }
  if (text.length > CHEAP_CHARACTERS && jsonSteps(text, LIMITS.jsonSteps) > LIMITS.jsonSteps) {
    throw badInput(
      "invalid_input",
      `${what} has more than ${LIMITS.jsonSteps} parts (texts, lists and objects; a key that no object before had there counts eight times): send fewer at a time`,
    );
  }
  let value: Json;
  try {
    // Some clients write a byte order mark, which JSON.parse does not accept.
    value = JSON.parse(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text) as Json;
  } catch {
    throw badInput("invalid_input", `${what} is not valid JSON`);
  }
  if (SUSPICIOUS.test(text)) checkJson(value, what, numbers);
  return value;
}

const BYTE_ORDER_MARK = 0xfeff;

/** This many characters take at most 15 ms to read, whatever they are. */
const CHEAP_CHARACTERS = 64 * 1024;

/**
 * Matches the texts that must be walked: those with a possibly forbidden key, perhaps in escapes, or a number that may be
 * read as Infinity (an exponent of three digits, or two hundred digits in a row with one of two). Starts only at the first
 * digit of a row: from every digit, 1 MiB would take a second.
 */
const SUSPICIOUS = /(?:__proto__|constructor)"|\\u00[4-7]|\d[eE]\+?\d{3}|(?<!\d)\d{200}/;

/** Nesting of brackets outside strings, counted before parsing: JSON.parse recurses. */
function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 92) index++;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 123 || code === 91) {
      depth++;
      if (depth > deepest) deepest = depth;
    } else if (code === 125 || code === 93) depth--;
  }
  return deepest;
}

/** Also for a value that did not come as text (GraphQL literals). */
export function checkJson(
  value: unknown,
  what = "the value",
  numbers: "finite" | "any" = "finite",
  depth = 0,
): asserts value is Json {
  if (depth > LIMITS.jsonNesting)
    throw badInput("invalid_input", `${what} is nested deeper than ${LIMITS.jsonNesting} levels`);
  if (typeof value === "number" && numbers === "finite" && !Number.isFinite(value))
    throw badInput("invalid_input", `${what} has a number that is too large`);
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) {
      // A list may have half a million numbers.
      if (typeof item === "object" || !Number.isFinite(item)) checkJson(item, what, numbers, depth + 1);
    }
    return;
  }
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key];
    if (key === "__proto__" || (key === "constructor" && isObject(child) && Object.hasOwn(child, "prototype")))
      throw badInput("invalid_input", `${what} has a forbidden key (__proto__ or constructor)`);
    checkJson(child, what, numbers, depth + 1);
  }
}
