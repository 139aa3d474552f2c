/**
 * The builtins that are evaluated here, exactly as in jq 1.8.2, which the differential test checks.
 * If an argument's type leads to a rare corner of jq, the whole expression is left to jq.
 */
import { ExactNumber } from "../../lib/json/exact-number.ts";
import { isNumber, isObject, isScalar, type Json } from "../../lib/json/json.ts";
import { add, finite, index, size, split } from "./operators.ts";
import { LEFT_TO_JQ, Raised, spend, throwEmpty } from "./signals.ts";
import { compare, described, isTrue, keysInOrder, sortedKeys, stepsOf, toText, typeName } from "./values.ts";

type Builtin = (input: Json, ...args: Json[]) => Json;

/** The items that `.[]` yields. */
export function items(value: Json): Json[] {
  if (Array.isArray(value)) {
    spend(value.length);
    return value;
  }
  if (isObject(value)) {
    const keys = keysInOrder(value);
    spend(stepsOf(keys.length));
    return keys.map((key) => value[key]!);
  }
  throw new Raised(`Cannot iterate over ${described(value)}`);
}

const leave = (): never => {
  throw LEFT_TO_JQ;
};

const list = (value: Json): Json[] => (Array.isArray(value) ? value : leave());

const number =
  (round: (value: number) => number): Builtin =>
  (input) => {
    if (input instanceof ExactNumber) return leave();
    if (typeof input !== "number") throw new Raised(`${described(input)} number required`);
    return finite(round(input));
  };

/** C rounds halves away from zero, JavaScript up. */
const roundHalfAway = (value: number): number => Math.sign(value) * Math.round(Math.abs(value));

const onText =
  (operation: (text: string, other: string) => Json): Builtin =>
  (input, other) => {
    if (typeof input !== "string" || typeof other !== "string") {
      throw new Raised("startswith() requires string inputs");
    }
    spend(1 + (other.length >> 5));
    return operation(input, other);
  };

const letterCase =
  (letters: RegExp, change: (letter: string) => string): Builtin =>
  (input) => {
    if (typeof input !== "string") return leave();
    spend(2 + (input.length >> 4));
    return input.replace(letters, (run) => {
      spend(3);
      return change(run);
    });
  };

export const toString = (value: Json): string => (typeof value === "string" ? value : toText(value));

function toNumber(value: Json): Json {
  if (isNumber(value)) return value;
  if (typeof value !== "string") throw new Raised(`${described(value)} cannot be parsed as a number`);
  spend(value.length >> 4);
  const parsed = Number(value);
  // jq keeps the text of other spellings ("1.50", "1e3", "nan") and of more digits.
  return Number.isFinite(parsed) && String(parsed) === value ? parsed : leave();
}

function keys(value: Json): Json {
  if (isObject(value)) return sortedKeys(value);
  if (!Array.isArray(value)) throw new Raised(`${described(value)} has no keys`);
  spend(value.length >> 1);
  return value.map((_, at) => at);
}

function has(value: Json, key: Json | undefined): Json {
  if (value === null) return false;
  if (isObject(value) && typeof key === "string") {
    spend(key.length >> 6);
    return Object.hasOwn(value, key);
  }
  if (key instanceof ExactNumber) return leave();
  if (Array.isArray(value) && typeof key === "number") return Math.trunc(key) >= 0 && Math.trunc(key) < value.length;
  throw new Raised(`Cannot check whether ${typeName(value)} has a ${typeName(key!)} key`);
}

function join(value: Json, separator: Json | undefined): Json {
  if (typeof separator !== "string") return leave();
  spend(list(value).length * 2);
  const texts = list(value).map((item) => (item === null ? "" : isScalar(item) ? toString(item) : leave()));
  spend(texts.reduce((total, text) => total + text.length + separator.length, 0) >> 7);
  return texts.join(separator);
}

function sorted(value: Json): Json[] {
  spend(list(value).length);
  return list(value).toSorted(compare);
}

/** By name and number of arguments; the arguments are values. */
export const BUILTINS: Record<string, Builtin> = {
  "not/0": (input) => !isTrue(input),
  "length/0": size,
  "type/0": typeName,
  "empty/0": throwEmpty,
  "error/0": (input) => {
    throw new Raised(input);
  },
  "error/1": (_, message) => {
    throw new Raised(message);
  },
  "tostring/0": toString,
  "tojson/0": toText,
  "tonumber/0": toNumber,
  "keys/0": keys,
  "has/1": has,
  "first/0": (input) => index(input, 0),
  "last/0": (input) => index(input, -1),
  "add/0": (input) => items(input).reduce(add, null),
  "join/1": join,
  "split/1": (input, separator) => {
    if (typeof input !== "string" || typeof separator !== "string") {
      throw new Raised("split input and separator must be strings");
    }
    return split(input, separator);
  },
  "startswith/1": onText((text, start) => text.startsWith(start)),
  "endswith/1": (input, end) => {
    if (typeof input !== "string" || typeof end !== "string") return leave();
    spend(1 + (end.length >> 5));
    return input.endsWith(end);
  },
  "ltrimstr/1": onText((text, start) => (text.startsWith(start) ? text.slice(start.length) : text)),
  "ascii_downcase/0": letterCase(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  "ascii_upcase/0": letterCase(/[a-z]+/g, (letters) => letters.toUpperCase()),
  "floor/0": number(Math.floor),
  "ceil/0": number(Math.ceil),
  "round/0": number(roundHalfAway),
  "reverse/0": (input) => {
    spend(1 + (list(input).length >> 3));
    return list(input).toReversed();
  },
  "sort/0": sorted,
  "min/0": (input) =>
    list(input).reduce<Json>((least, item, at) => (at > 0 && compare(least, item) <= 0 ? least : item), null),
  "max/0": (input) =>
    list(input).reduce<Json>((most, item, at) => (at > 0 && compare(most, item) > 0 ? most : item), null),
  "any/0": (input) => items(input).some(isTrue),
  "all/0": (input) => items(input).every(isTrue),
};
