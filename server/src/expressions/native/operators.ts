/** jq's `+ - * / %`, negation, indexing and slicing on single values. Each throws Raised in jq's own words. */
import { ExactNumber } from "../../lib/json/exact-number.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LEFT_TO_JQ, Raised, spend } from "./signals.ts";
import type { ArithmeticOperator } from "../parsing/syntax.ts";
import { characters, described, equal, keysOf, stepsOf, typeName } from "./values.ts";

type Operation = (left: Json, right: Json) => Json;

/** Infinity, NaN and -0 do not exist here: jq decides what happens to them. */
export function finite(value: number): number {
  if (!Number.isFinite(value) || Object.is(value, -0)) throw LEFT_TO_JQ;
  return value;
}

const cannot = (left: Json, right: Json, what: string): never => {
  throw new Raised(`${described(left)} and ${described(right)} cannot be ${what}`);
};

/** jq rounds a number with more digits in its own way when it computes with it. */
function leaveExact(...values: Json[]): void {
  if (values.some((value) => value instanceof ExactNumber)) throw LEFT_TO_JQ;
}

export const add: Operation = (left, right) => {
  if (typeof left === "number" && typeof right === "number") return finite(left + right);
  if (left === null) return right;
  if (right === null) return left;
  leaveExact(left, right);
  if (typeof left === "string" && typeof right === "string") {
    spend(1 + ((left.length + right.length) >> 7));
    return left + right;
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    spend(1 + ((left.length + right.length) >> 2));
    return left.concat(right);
  }
  return isObject(left) && isObject(right) ? merged(left, right) : cannot(left, right, "added");
};

/** Writing a key costs more than reading it. */
const COPIED = 3;

function merged(left: JsonObject, right: JsonObject): JsonObject {
  // Before it is made: a hash table of 100,000 keys takes 100 ms.
  spend(COPIED * stepsOf(keysOf(left).length + keysOf(right).length));
  return { ...left, ...right };
}

const subtract: Operation = (left, right) => {
  if (typeof left === "number" && typeof right === "number") return finite(left - right);
  leaveExact(left, right);
  if (!Array.isArray(left) || !Array.isArray(right)) return cannot(left, right, "subtracted");
  spend(left.length >> 2);
  return left.filter((item) => !right.some((other) => equal(item, other)));
};

const multiply: Operation = (left, right) => {
  if (typeof left === "number" && typeof right === "number") return finite(left * right);
  if (typeof left === "string" && typeof right === "number") return repeated(left, right);
  if (typeof left === "number" && typeof right === "string") return repeated(right, left);
  leaveExact(left, right);
  return isObject(left) && isObject(right) ? mergedDeep(left, right) : cannot(left, right, "multiplied");
};

function repeated(text: string, times: number): Json {
  if (times < 0) return null;
  const count = Math.trunc(times);
  // More than 32 bits if the result is too long for any string.
  spend(1 + Math.floor((text.length * count) / 128));
  if (text.length * count > 0xfffff) throw LEFT_TO_JQ;
  return text.repeat(count);
}

function mergedDeep(left: JsonObject, right: JsonObject): JsonObject {
  const result = merged(left, right);
  for (const key of keysOf(right)) {
    if (!Object.hasOwn(left, key)) continue;
    const [before, after] = [left[key]!, right[key]!];
    if (isObject(before) && isObject(after)) result[key] = mergedDeep(before, after);
  }
  return result;
}

const divide: Operation = (left, right) => {
  if (typeof left === "number" && typeof right === "number") {
    return right === 0 ? cannot(left, right, "divided because the divisor is zero") : finite(left / right);
  }
  leaveExact(left, right);
  return typeof left === "string" && typeof right === "string" ? split(left, right) : cannot(left, right, "divided");
};

export function split(text: string, separator: string): Json {
  if (text === "") return [];
  if (separator === "") {
    spend(1 + text.length);
    return [...text];
  }
  // The text searched for may almost match at every position.
  spend(1 + Math.floor((text.length * separator.length) / 32));
  const pieces = text.split(separator);
  spend(pieces.length);
  return pieces;
}

/** Both are cut to 64-bit integers first. */
const remainder: Operation = (left, right) => {
  leaveExact(left, right);
  if (typeof left !== "number" || typeof right !== "number") return cannot(left, right, "divided (remainder)");
  const [dividend, divisor] = [Math.trunc(left), Math.trunc(right)];
  if (divisor === 0) return cannot(left, right, "divided (remainder) because the divisor is zero");
  if (!Number.isSafeInteger(dividend) || !Number.isSafeInteger(divisor)) throw LEFT_TO_JQ;
  return (dividend % divisor) + 0;
};

export const ARITHMETIC: Record<ArithmeticOperator, Operation> = {
  "+": add,
  "-": subtract,
  "*": multiply,
  "/": divide,
  "%": remainder,
};

export function negate(value: Json): Json {
  leaveExact(value);
  if (typeof value !== "number") throw new Raised(`${described(value)} cannot be negated`);
  return finite(-value);
}

/** `.[key]`: undefined if a value of this type has no such key. */
function tryIndex(target: Json, key: Json): Json | undefined {
  if (typeof key === "string") {
    if (isObject(target)) return Object.hasOwn(target, key) ? target[key]! : null;
    return target === null ? null : undefined;
  }
  if (typeof key === "number") {
    if (Array.isArray(target)) {
      const at = Math.trunc(key);
      return target[at < 0 ? at + target.length : at] ?? null;
    }
    return target === null ? null : undefined;
  }
  // Slices and searches written as keys, and long numbers.
  if (typeof key === "object" && key !== null) throw LEFT_TO_JQ;
  return undefined;
}

export function index(target: Json, key: Json): Json {
  const value = tryIndex(target, key);
  if (value === undefined) throw new Raised(`Cannot index ${typeName(target)} with ${described(key)}`);
  return value;
}

export function slice(target: Json, from: Json, to: Json): Json {
  spend(6);
  leaveExact(from, to);
  if (target === null) {
    if (isBound(from) && isBound(to)) return null;
    throw LEFT_TO_JQ;
  }
  if (typeof target !== "string" && !Array.isArray(target)) {
    throw new Raised(`Cannot index ${typeName(target)} with ${described({ start: from, end: to })}`);
  }
  if (!isBound(from) || !isBound(to)) throw new Raised("Array/string slice indices must be integers");
  const points = typeof target === "string" ? pointsOf(target) : target;
  const [start, end] = [
    bound(from ?? 0, points.length, Math.floor),
    bound(to ?? points.length, points.length, Math.ceil),
  ];
  const part = points.slice(start, Math.max(start, end));
  if (typeof part === "string") return part;
  spend(part.length >> 3);
  return typeof target === "string" ? part.join("") : part;
}

/** The text in code points, to be cut: the text itself if each is one unit. */
function pointsOf(text: string): string | string[] {
  spend(text.length >> 5);
  if (!/[\ud800-\udfff]/.test(text)) return text;
  spend(text.length);
  return [...text];
}

const isBound = (value: Json): value is number | null => value === null || typeof value === "number";

function bound(value: number, length: number, round: (value: number) => number): number {
  const fromStart = value < 0 ? value + length : value;
  return round(Math.min(Math.max(fromStart, 0), length));
}

/** `length` */
export function size(value: Json): number {
  if (value === null) return 0;
  if (typeof value === "number") return Math.abs(value);
  leaveExact(value);
  if (typeof value === "string") return characters(value);
  if (Array.isArray(value)) return value.length;
  if (isObject(value)) return keysOf(value).length;
  throw new Raised(`${described(value)} has no length`);
}
