/**
 * Looks through a JSON text before it is parsed, and takes the numbers out that a double would change. `JSON.parse` with a reviver would
 * show their texts too, but takes 290 ms for 1 MiB of zeros with one such number; this takes 15 ms.
 */
import { randomBytes } from "node:crypto";
import { ExactNumber, numberOf } from "./exact-number.ts";

const QUOTE = 34;
const MINUS = 45;
const BACKSLASH = 92;
const POINT = 46;
const ZERO = 48;
const COLON = 58;
/** `e` or, with bit 32, `E`. */
const EXPONENT = 101;

/** Shorter ones without an exponent come back from a double as they were, except for -0. */
const LONG_CHARACTERS = 16;

/**
 * `nesting`: of brackets outside texts, counted before parsing because JSON.parse recurses. `numbers`: the beginning and end of each number
 * that a double might change, undefined for none.
 */
export function survey(text: string): { nesting: number; numbers?: number[] } {
  let depth = 0;
  let nesting = 0;
  let isInText = false;
  let numbers: number[] | undefined;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isInText) {
      if (code === BACKSLASH) index++;
      else if (code === QUOTE) isInText = false;
    } else if (code === QUOTE) isInText = true;
    else if (code === 123 || code === 91) {
      depth++;
      if (depth > nesting) nesting = depth;
    } else if (code === 125 || code === 93) depth--;
    else if (code === MINUS || (code >= 48 && code <= 57)) {
      const digits = endOfDigits(text, index + 1);
      const end = (text.charCodeAt(digits) | 32) === EXPONENT ? endOfDigits(text, digits + 2) : digits;
      const isZero = code === MINUS && text.charCodeAt(index + 1) === ZERO;
      if (isZero || end > digits || end - index >= LONG_CHARACTERS) (numbers ??= []).push(index, end);
      index = end - 1;
    }
  }
  return numbers ? { nesting, numbers } : { nesting };
}

/** With the point among them. */
function endOfDigits(text: string, from: number): number {
  let index = from;
  for (
    let code = text.charCodeAt(index);
    (code >= 48 && code <= 57) || code === POINT;
    code = text.charCodeAt(++index)
  );
  return index;
}

/** A quick check for texts without brackets to count: true for a text that may have such a number, also within a text or a key. */
export const mayHaveExactNumbers = (text: string): boolean => SUSPECT.test(text);

const SUSPECT = /\d(?:[\d.]{15}|[eE][+-]?\d{3})|(?:^|[\s[:,])-0/;

/** The text with a name in place of each number that a double would change; undefined if there is none. */
export class TakenNumbers {
  readonly text: string;
  readonly #mark: string;
  readonly #numbers: (ExactNumber | RangeError)[] = [];

  /** `most`: a text with more of them is refused by its parts, so the rest is left as it is. */
  static from(text: string, suspects: readonly number[], most = Infinity): TakenNumbers | undefined {
    const taken = new TakenNumbers(text, suspects, most);
    return taken.#numbers.length > 0 ? taken : undefined;
  }

  private constructor(text: string, suspects: readonly number[], most: number) {
    // Nobody can know it beforehand and send it as a text.
    this.#mark = randomBytes(8).toString("base64url");
    let named = "";
    let from = 0;
    for (let at = 0; at < suspects.length; at += 2) {
      const [start, end] = [suspects[at]!, suspects[at + 1]!];
      const number = exactNumber(text.slice(start, end));
      // A number in a key's place is a mistake, and must stay one.
      if (!number || isKey(text, end)) continue;
      named += `${text.slice(from, start)}"${this.#mark}${this.#numbers.push(number) - 1}"`;
      from = end;
      // The text is refused for this one, whatever else it has.
      if (number instanceof RangeError || this.#numbers.length > most) break;
    }
    this.text = named + text.slice(from);
  }

  /** Changes the value of the named text to what was meant. Throws UnfitNumber for a number beyond the limits. */
  putBack(value: unknown): unknown {
    const unfit = this.#numbers.findIndex((number) => number instanceof RangeError);
    if (unfit < 0) return this.#put(value);
    const place = placeOf(value, `${this.#mark}${unfit}`) ?? [];
    throw new UnfitNumber((this.#numbers[unfit] as RangeError).message, place.join("."));
  }

  #put(value: unknown): unknown {
    if (typeof value === "string") {
      return value.startsWith(this.#mark) ? this.#numbers[Number(value.slice(this.#mark.length))] : value;
    }
    if (typeof value !== "object" || value === null) return value;
    const parts = value as Record<string, unknown>;
    // A list of half a million numbers has nothing to put back.
    const putAt = (key: string | number, part: unknown): void => {
      if (typeof part === "string" || typeof part === "object") parts[key] = this.#put(part);
    };
    if (Array.isArray(value)) value.forEach((part, index) => putAt(index, part));
    else for (const key in parts) putAt(key, parts[key]);
    return value;
  }
}

/** `message` ends the sentence "… has", `place` is the number's path. */
export class UnfitNumber extends Error {
  readonly place: string;

  constructor(message: string, place: string) {
    super(message);
    this.place = place;
  }
}

function exactNumber(source: string): ExactNumber | RangeError | undefined {
  try {
    const number = numberOf(source);
    return number instanceof ExactNumber ? number : undefined;
  } catch (error) {
    if (error instanceof RangeError) return error;
    throw error;
  }
}

/** Whether a colon follows. */
function isKey(text: string, end: number): boolean {
  let index = end;
  while (text.charCodeAt(index) <= 32) index++;
  return text.charCodeAt(index) === COLON;
}

function placeOf(value: unknown, sought: string): string[] | undefined {
  if (value === sought) return [];
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, part] of Object.entries(value)) {
    const place = placeOf(part, sought);
    if (place) return [key, ...place];
  }
  return undefined;
}
