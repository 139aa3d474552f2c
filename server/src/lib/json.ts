/**
 * The one JSON entrance: every body, header value and stored text that comes from outside is parsed here.
 * Refuses `__proto__` and `constructor.prototype` keys, nesting beyond `LIMITS.jsonNesting`, and numbers that no JSON text
 * could give back (`1e999` is read as Infinity and would be written as null).
 */
import parse from "secure-json-parse";
import { badInput } from "./errors.ts";
import { LIMITS } from "./limits.ts";

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
    throw badInput(`${what} is nested deeper than ${LIMITS.jsonNesting} levels`);
  }
  let value: Json;
  try {
    value = parse.parse(text, { protoAction: "error", constructorAction: "error" }) as Json;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw badInput(
      reason.includes("forbidden prototype")
        ? `${what} has a forbidden key (__proto__ or constructor)`
        : `${what} is not valid JSON`,
    );
  }
  if (numbers === "finite" && HUGE_NUMBER.test(text)) checkJson(value, what);
  return value;
}

/** What may be read as Infinity: an exponent of three digits, or three hundred digits in a row. */
const HUGE_NUMBER = /\d[eE]\+?\d{3}|\d{300}/;

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

/** The same check for a value that did not come as text (GraphQL literals). */
export function checkJson(value: unknown, what = "the value", depth = 0): asserts value is Json {
  if (depth > LIMITS.jsonNesting) throw badInput(`${what} is nested deeper than ${LIMITS.jsonNesting} levels`);
  if (typeof value === "number" && !Number.isFinite(value)) throw badInput(`${what} has a number that is too large`);
  if (typeof value !== "object" || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    if (key === "__proto__") throw badInput(`${what} has a forbidden key (__proto__ or constructor)`);
    checkJson(child, what, depth + 1);
  }
}
