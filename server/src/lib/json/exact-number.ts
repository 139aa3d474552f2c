/**
 * A number that a double would change, kept as its decimal text: 9007199254740993, 0.1000000000000000055511151231257827, 1e400, -0.
 * It is written with all its digits, as jq 1.8 spells it (1e400 as 1E+400). Every other number is a JavaScript number.
 */
import { LIMITS } from "../limits.ts";

export class ExactNumber {
  /** A JSON number. */
  readonly text: string;

  /** See `numberOf`, which is the only maker. */
  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  /** Without it, a plain comparison (`a < b`) would compare texts. */
  valueOf(): number {
    return Number(this.text);
  }

  toJSON(): unknown {
    return (JSON as unknown as RawJson).rawJSON(this.text);
  }
}

/** Every Node that runs this has it (V8 11.4); TypeScript's es2024 does not yet. */
type RawJson = { rawJSON(text: string): unknown };

/** JSON's grammar: sign, whole part, fraction, exponent. */
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Fifteen significant digits of normal size come back from a double as they were. */
const SURE_CHARACTERS = 15;
const LEAST_NORMAL = 2 ** -1022;

/**
 * The number that a JSON number's text stands for: a double wherever one gives back the same decimal. Undefined if the text is
 * no JSON number. Throws RangeError, which ends the sentence "… has", for a number beyond the limits.
 */
export function numberOf(source: string): number | ExactNumber | undefined {
  const value = Number(source);
  if (String(value) === source) return value;
  if (source.length <= SURE_CHARACTERS && Math.abs(value) >= LEAST_NORMAL && value - value === 0) {
    return NUMBER.test(source) ? value : undefined;
  }
  const decimal = decimalOf(source);
  if (!decimal) return undefined;
  if (Number.isFinite(value) && isSame(decimal, decimalOf(String(value))!)) return value;
  return new ExactNumber(decimal.digits === "" ? "-0" : spelled(source));
}

/** The same for text that a person or a program wrote: drops leading zeros. Undefined for a number beyond the limits. */
export function numberIn(written: string): number | ExactNumber | undefined {
  try {
    return numberOf(written.replace(/^(-?)0+(?=\d)/, "$1"));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** ±0.digits × 10^size, without zeros at either end; zero has no digits. */
type Decimal = { isNegative: boolean; digits: string; size: number };

function decimalOf(text: string): Decimal | undefined {
  const match = NUMBER.exec(text);
  if (!match) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const all = whole + fraction;
  let from = 0;
  let to = all.length;
  while (all.charCodeAt(from) === 48) from++;
  while (to > from && all.charCodeAt(to - 1) === 48) to--;
  const digits = all.slice(from, to);
  const size = digits === "" ? 0 : Number(exponent) + whole.length - from;
  return { isNegative: sign === "-", digits, size };
}

const isSame = (one: Decimal, other: Decimal): boolean =>
  one.isNegative === other.isNegative && one.digits === other.digits && one.size === other.size;

/**
 * The text that jq 1.8 writes (decNumber's to-scientific-string): an exponent only where the digits do not say it. A copy: a part of a
 * text would keep the whole text in memory.
 */
function spelled(source: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = NUMBER.exec(source)!;
  const digits = (whole + fraction).replace(/^0+(?=.)/, "");
  if (digits.length > LIMITS.numberDigits) throw new RangeError(`a number of more than ${LIMITS.numberDigits} digits`);
  const scale = Number(exponent) - fraction.length;
  const adjusted = scale + digits.length - 1;
  if (Math.abs(adjusted) > LIMITS.numberExponent) throw new RangeError(`a number beyond 1e±${LIMITS.numberExponent}`);
  return Buffer.from(sign + written(digits, scale, adjusted), "latin1").toString("latin1");
}

function written(digits: string, scale: number, adjusted: number): string {
  if (scale > 0 || adjusted < -6) {
    const mantissa = digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`;
    return `${mantissa}E${adjusted < 0 ? "-" : "+"}${Math.abs(adjusted)}`;
  }
  if (scale === 0) return digits;
  const point = digits.length + scale;
  return point > 0 ? `${digits.slice(0, point)}.${digits.slice(point)}` : `0.${"0".repeat(-point)}${digits}`;
}

/** Below zero, zero or above, by the decimals that are written: exact, and linear in their digits. */
export function compareNumbers(left: number | ExactNumber, right: number | ExactNumber): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [one, other] = [decimalOf(String(left))!, decimalOf(String(right))!];
  const signs = signOf(one) - signOf(other);
  if (signs !== 0 || one.digits === "") return signs;
  const larger = one.size - other.size || (one.digits === other.digits ? 0 : one.digits < other.digits ? -1 : 1);
  return larger * signOf(one);
}

const signOf = ({ isNegative, digits }: Decimal): number => (digits === "" ? 0 : isNegative ? -1 : 1);

/** `-0` as `0`, which it equals; anything else as it is. */
export const plainZero = <Value>(value: Value): Value | 0 =>
  value instanceof ExactNumber && value.text === "-0" ? 0 : value;

/** One text for each number, however it is spelled; no double has the same. */
export function exactKey({ text }: ExactNumber): string {
  const { isNegative, digits, size } = decimalOf(text)!;
  return `${isNegative ? "-" : ""}${digits || "0"}e${size}`;
}

/** No fraction; 1E+400 and 5.0 have none. */
export function isWhole(value: number | ExactNumber): boolean {
  if (typeof value === "number") return Number.isInteger(value);
  const { digits, size } = decimalOf(value.text)!;
  return size >= digits.length;
}

/** `value / of` has no remainder, by the decimals that are written: 0.3 is a multiple of 0.1. `of` is not zero. */
export function isMultiple(value: number | ExactNumber, of: number | ExactNumber): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return (value as number) % (of as number) === 0;
  const [one, other] = [decimalOf(String(value))!, decimalOf(String(of))!];
  if (one.digits === "") return true;
  const shift = one.size - one.digits.length - (other.size - other.digits.length);
  // The digits do not end in a zero.
  if (shift < 0) return false;
  const divisor = BigInt(other.digits);
  return (BigInt(one.digits) * powerOfTen(shift, divisor)) % divisor === 0n;
}

function powerOfTen(exponent: number, modulus: bigint): bigint {
  let [power, square] = [1n, 10n % modulus];
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = (power * square) % modulus;
    square = (square * square) % modulus;
  }
  return power;
}
