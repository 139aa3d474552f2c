/** jq's view of JSON values: order, equality, and their text. */
import { compareNumbers, ExactNumber } from "../../lib/json/exact-number.ts";
import { isNumber, isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { codePointsIn } from "../../lib/text.ts";
import { LEFT_TO_JQ, spend } from "./signals.ts";

export const isTrue = (value: Json): boolean => value !== null && value !== false;

export function typeName(value: Json): string {
  if (value === null) return "null";
  if (value instanceof ExactNumber) return "number";
  return Array.isArray(value) ? "array" : typeof value;
}

/** null < false < true < numbers < strings < arrays < objects. */
function rank(value: Json): number {
  if (value === null) return 0;
  if (typeof value === "boolean") return value ? 2 : 1;
  if (isNumber(value)) return 3;
  if (typeof value === "string") return 4;
  return Array.isArray(value) ? 5 : 6;
}

export function compare(left: Json, right: Json): number {
  spend(2);
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return compareText(left, right);
  if (Array.isArray(left) && Array.isArray(right)) return compareLists(left, right);
  if (isObject(left) && isObject(right)) return compareObjects(left, right);
  return isNumber(left) && isNumber(right) ? compareExact(left, right) : rank(left) - rank(right);
}

/** Two doubles this near may be the same to jq, which rounds a number with more digits than 17 to those first. */
const NEAR = 2 ** -50;

/**
 * jq compares two numbers as read by their digits, but a computed one as a double. A double here does not show which it is:
 * where that matters, jq decides.
 */
function compareExact(left: number | ExactNumber, right: number | ExactNumber): number {
  spend(10 + ((String(left).length + String(right).length) >> 4));
  if (left instanceof ExactNumber && right instanceof ExactNumber) return compareNumbers(left, right);
  const [one, other] = [Number(left), Number(right)];
  if (!(Math.abs(one - other) > Math.abs(other) * NEAR) || !Number.isFinite(one - other)) throw LEFT_TO_JQ;
  return one - other;
}

function compareLists(left: Json[], right: Json[]): number {
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index++) {
    const order = compare(left[index]!, right[index]!);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareObjects(left: JsonObject, right: JsonObject): number {
  const keys = sortedKeys(left);
  const order = compareLists(keys, sortedKeys(right));
  if (order !== 0) return order;
  for (const key of keys) {
    const inner = compare(left[key]!, right[key]!);
    if (inner !== 0) return inner;
  }
  return 0;
}

/** V8 compares two pieces of texts with machine instructions: this many units in the time of some ten one by one. */
const PIECE = 64;

/** By code point, as UTF-8 bytes compare; JavaScript compares UTF-16 units, where a surrogate is below U+E000. */
function compareText(left: string, right: string): number {
  if (left.length === right.length) spend(left.length >> 9);
  if (left === right) return 0;
  const shared = Math.min(left.length, right.length);
  let at = 0;
  while (at + PIECE <= shared && left.slice(at, at + PIECE) === right.slice(at, at + PIECE)) at += PIECE;
  // They differ at the end of one of them at the latest.
  while (left.charCodeAt(at) === right.charCodeAt(at)) at++;
  spend(2 + (at >> 3));
  if (at === shared) return left.length - right.length;
  return scalarRank(left.charCodeAt(at)) - scalarRank(right.charCodeAt(at));
}

const scalarRank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

export const equal = (left: Json, right: Json): boolean => compare(left, right) === 0;

/** An object with more keys is a hash table, where each key costs about ten times as much. */
const KEYS_IN_PLACE = 128;
const HASHED = 12;

/** The cost of touching each key of an object. */
export const stepsOf = (keys: number): number => (keys > KEYS_IN_PLACE ? keys * HASHED : keys);

export function keysOf(object: JsonObject): string[] {
  const keys = Object.keys(object);
  spend(4 + stepsOf(keys.length));
  return keys;
}

export function sortedKeys(object: JsonObject): string[] {
  const keys = keysOf(object);
  // Each is compared with about log2 of them.
  spend(keys.length * (32 - Math.clz32(keys.length)));
  return keys.toSorted(compareText);
}

/**
 * Keys in jq's order, that of insertion. JavaScript always puts keys like "7" first, so such an object is left to jq (which
 * reads our JSON, and sees JavaScript's order in it).
 */
export function keysInOrder(object: JsonObject): string[] {
  const keys = keysOf(object);
  if (keys.length > 1 && /^(?:0|[1-9]\d{0,9})$/.test(keys[0]!)) throw LEFT_TO_JQ;
  return keys;
}

/** Number of code points. */
export function characters(text: string): number {
  spend(text.length >> 3);
  return codePointsIn(text);
}

/** The value as jq writes it, without blanks. */
export function toText(value: Json): string {
  spend(3);
  if (typeof value === "number") return numberText(value);
  if (typeof value === "string") return quoted(value);
  if (value instanceof ExactNumber) return exactText(value);
  if (Array.isArray(value)) return `[${value.map(toText).join(",")}]`;
  if (isObject(value)) {
    const entries = keysInOrder(value).map((key) => `${quoted(key)}:${toText(value[key]!)}`);
    return `{${entries.join(",")}}`;
  }
  return String(value);
}

const DELETE = "\u007f";
const DELETE_ESCAPED = String.raw`\u007f`;

function quoted(text: string): string {
  spend(2 + (text.length >> 4));
  const json = JSON.stringify(text);
  // Escaping costs more.
  spend(json.length > text.length + 2 ? json.length >> 2 : 0);
  return json.includes(DELETE) ? json.replaceAll(DELETE, DELETE_ESCAPED) : json;
}

/**
 * jq writes a number that it read unchanged, and a computed one by its own rule; both agree with JavaScript only in this
 * range.
 */
function numberText(value: number): string {
  const size = Math.abs(value);
  if (value !== 0 && !(size >= 1e-4 && size < 1e16)) throw LEFT_TO_JQ;
  // Finding a fraction's shortest spelling takes time.
  spend(Number.isInteger(value) ? 1 : 20);
  return String(value);
}

function exactText({ text }: ExactNumber): string {
  spend(text.length >> 4);
  return text;
}

const SHOWN_BYTES = 29;
/** No more of a text is looked at. */
const SHOWN_CHARACTERS = 64;

/** `string ("abc")`, cut as in jq's messages: at most 29 bytes of JSON, the closing bracket or quote kept. */
export function described(value: Json): string {
  const text = toText(typeof value === "string" ? value.slice(0, SHOWN_CHARACTERS) : value);
  return `${typeName(value)} (${cut(text)})`;
}

function cut(text: string): string {
  if (Buffer.byteLength(text) <= SHOWN_BYTES) return text;
  // Only texts, lists, objects and numbers of many digits get this long.
  const close = text.at(-1)!.replace(/\d/, "");
  const room = SHOWN_BYTES - 3 - close.length;
  let kept = "";
  let bytes = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > room) break;
    kept += character;
  }
  return `${kept}...${close}`;
}
