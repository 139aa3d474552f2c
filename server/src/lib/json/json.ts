/**
 * The only JSON entrance: `parseJson` takes every body, header value and text that comes from outside, `parseStored` what this program
 * wrote. Numbers that a double would change become `ExactNumber`s. Refuses `__proto__` and `constructor.prototype` keys, nesting beyond
 * `LIMITS.jsonNesting`, texts slow to read, and numbers beyond the limits of an `ExactNumber`.
 */
import { badInput, shortened, type Refusal } from "../errors.ts";
import { ExactNumber } from "./exact-number.ts";
import { jsonSteps } from "./json-steps.ts";
import { mayHaveExactNumbers, survey, TakenNumbers, UnfitNumber } from "./survey.ts";
import { LIMITS } from "../limits.ts";

export type Json = null | boolean | number | string | ExactNumber | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/** A number, true, false, null or a text. */
export const isScalar = (value: Json): value is Exclude<Json, Json[] | JsonObject> =>
  typeof value !== "object" || value === null || value instanceof ExactNumber;

/** Whether it is a JSON number, of either type. */
export const isNumber = (value: unknown): value is number | ExactNumber =>
  typeof value === "number" || value instanceof ExactNumber;

/** Throws BAD_USER_INPUT, naming what is wrong. `what` names the text in the message, e.g. "the request body". */
export function parseJson(text: string, what = "the JSON text"): Json {
  const { nesting, numbers } = survey(text);
  if (nesting > LIMITS.jsonNesting) {
    throw badInput("invalid_input", `${what} is nested deeper than ${LIMITS.jsonNesting} levels`);
  }
  const taken = numbers && TakenNumbers.from(text, numbers, LIMITS.jsonSteps);
  const plain = taken?.text ?? text;
  if (plain.length > CHEAP_CHARACTERS && jsonSteps(plain, LIMITS.jsonSteps) > LIMITS.jsonSteps) {
    throw badInput(
      "invalid_input",
      `${what} has more than ${LIMITS.jsonSteps} parts (texts, lists and objects; a key that no object before had there counts eight times): send fewer at a time`,
    );
  }
  let value: Json;
  try {
    // Some clients write a byte order mark, which JSON.parse does not accept.
    value = JSON.parse(plain.charCodeAt(0) === BYTE_ORDER_MARK ? plain.slice(1) : plain) as Json;
  } catch {
    throw badInput("invalid_input", `${what} is not valid JSON`);
  }
  if (SUSPICIOUS.test(text)) checkKeys(value, what);
  return taken ? putBack(taken, value, what) : value;
}

/** Parses text that this program wrote, such as a row's: refuses nothing. */
export function parseStored(text: string): Json {
  const numbers = mayHaveExactNumbers(text) ? survey(text).numbers : undefined;
  const taken = numbers && TakenNumbers.from(text, numbers);
  return (taken ? taken.putBack(JSON.parse(taken.text)) : JSON.parse(text)) as Json;
}

const BYTE_ORDER_MARK = 0xfeff;

/** This many characters take at most 15 ms to read, whatever they are. */
const CHEAP_CHARACTERS = 64 * 1024;

/** Matches the texts that must be walked: those with a possibly forbidden key, perhaps in escapes. */
const SUSPICIOUS = /(?:__proto__|constructor)"|\\u00[4-7]/;

function putBack(taken: TakenNumbers, value: Json, what: string): Json {
  try {
    return taken.putBack(value) as Json;
  } catch (error) {
    if (!(error instanceof UnfitNumber)) throw error;
    throw tooLong(what, error);
  }
}

const tooLong = (what: string, { message, place: path }: UnfitNumber): Refusal =>
  badInput("invalid_input", `${what} has ${message}${path && ` at ${shortened(path)}`}`, [
    { path, code: "out_of_range", message: "has more digits than can be kept" },
  ]);

/** Refuses the keys that would change what objects are. */
function checkKeys(value: Json, what: string): void {
  if (Array.isArray(value)) {
    // A list may have half a million numbers.
    for (const item of value) if (typeof item === "object") checkKeys(item, what);
  } else if (isObject(value)) {
    for (const key in value) {
      const child = value[key]!;
      if (isForbidden(key, child)) throw forbiddenKey(what);
      checkKeys(child, what);
    }
  }
}

export const isForbidden = (key: string, child: Json): boolean =>
  key === "__proto__" || (key === "constructor" && isObject(child) && Object.hasOwn(child, "prototype"));

export const forbiddenKey = (what: string): Refusal =>
  badInput("invalid_input", `${what} has a forbidden key (__proto__ or constructor)`);
